import type { IncomingMessage } from 'node:http'
import { Overrides } from '../message/overrides.ts'
import { filledWhenRead, watchedHeaders } from './watched-collections.ts'
import { watchedSocket } from './watched-socket.ts'

/**
 * Runs code that may read inputs of a request: for doors that cache something else than whole responses.
 * @returns the result; and what was read: names of fields, `*` for all fields at once, and names of members of the socket
 *   with the prefix `socket.`
 */
export async function recordReads<T>(
  request: Pick<IncomingMessage, 'headers' | 'socket'> & { readonly rawHeaders?: string[] },
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly reads: ReadonlySet<string> }> {
  const reads = new Set<string>()
  const onField = (name: string): void => void reads.add(name)
  const onMember = (name: string): void => void reads.add(`socket.${name}`)
  const overrides = new Overrides(request)
  const onAll = (): void => onField('*')
  const { rawHeaders } = request
  overrides.value('headers', watchedHeaders(request.headers, { onField, onAll }))
  if (rawHeaders !== undefined)
    overrides.value(
      'rawHeaders',
      filledWhenRead([], () => rawHeaders, onAll),
    )
  // Node.js makes it when it is first read; injected requests and those of HTTP/2 do not have it.
  const distinct = (): object => Reflect.get(Object.getPrototypeOf(request) as object, 'headersDistinct', request)
  if ('headersDistinct' in request) overrides.value('headersDistinct', filledWhenRead({}, distinct, onAll))
  overrides.value(
    'socket',
    watchedSocket(request.socket, onMember, () => undefined),
  )
  try {
    return { result: await work(), reads }
  } finally {
    overrides.undo()
  }
}

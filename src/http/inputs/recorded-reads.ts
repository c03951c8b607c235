import type { IncomingMessage } from 'node:http'
import { Overrides } from '../message/overrides.ts'
import { watchedHeaders } from './watched-collections.ts'
import { watchedSocket } from './watched-socket.ts'

/**
 * Runs code that may read inputs of a request: for doors that cache something else than whole responses.
 * @returns the result; and what was read: names of fields, `*` for all fields at once, and names of members of the socket
 *   with the prefix `socket.`
 */
export async function recordReads<T>(
  request: Pick<IncomingMessage, 'headers' | 'socket'>,
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly reads: ReadonlySet<string> }> {
  const reads = new Set<string>()
  const onField = (name: string): void => void reads.add(name)
  const onMember = (name: string): void => void reads.add(`socket.${name}`)
  const overrides = new Overrides(request)
  overrides.value('headers', watchedHeaders(request.headers, { onField, onAll: () => onField('*') }))
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

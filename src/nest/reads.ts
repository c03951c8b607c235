import type { IncomingMessage } from 'node:http'
import { watchedHeaders } from '../http/inputs/watched-collections.ts'
import { watchedSocket } from '../http/inputs/watched-socket.ts'
import { Overrides } from '../http/message/overrides.ts'

/** A request of Express or Fastify, as far as the interceptor uses it. */
export interface NestRequest extends Pick<IncomingMessage, 'headers' | 'socket'> {
  readonly method: string
  readonly url: string
  readonly originalUrl?: string
  /** The request of node:http, in Fastify. */
  readonly raw?: Pick<IncomingMessage, 'headers' | 'socket'>
}

/**
 * Runs code that may read inputs of a request.
 * @returns the result; and what was read: names of fields, `*` for all fields at once, and names of members of the socket
 */
export async function recordReads<T>(
  request: NestRequest,
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly reads: ReadonlySet<string> }> {
  const reads = new Set<string>()
  const onRead = (name: string): void => void reads.add(name)
  const message = request.raw ?? request
  const overrides = new Overrides(message)
  overrides.value('headers', watchedHeaders(message.headers, { onField: onRead, onAll: () => onRead('*') }))
  overrides.value(
    'socket',
    watchedSocket(
      message.socket,
      (name) => onRead(`socket.${name}`),
      () => undefined,
    ),
  )
  try {
    return { result: await work(), reads }
  } finally {
    overrides.undo()
  }
}

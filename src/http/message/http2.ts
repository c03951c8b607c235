import { timers } from '../../core/time/clock.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { withheld } from './departure.ts'
import { Overrides } from './overrides.ts'

/**
 * The pseudo-header fields of a request, which HTTP/2 has in place of a request line (RFC 9113 section 8.3.1, RFC 8441
 * section 4).
 */
const pseudoFields: ReadonlySet<string> = new Set(':method :path :authority :scheme :protocol'.split(' '))

/** INTERNAL_ERROR (RFC 9113 section 7): the answer is incomplete. */
const internalError = 0x2

/** The used members of a stream of node:http2. */
interface Stream {
  readonly closed: boolean
  readonly destroyed: boolean
  /** Whether the request has no body. */
  readonly endAfterHeaders?: boolean
  close(code: number): void
}

/** Whether a request came over HTTP/2, as a message of the compatibility API of node:http2. */
export function isHttp2({ httpVersionMajor }: IncomingMessage): boolean {
  return httpVersionMajor === 2
}

/**
 * Whether a name is that of a pseudo-header field (RFC 9113 section 8.3). Other names that begin with a colon are
 * inputs of a handler besides fields; see `Inputs`.
 */
export function isPseudoField(name: string): boolean {
  return pseudoFields.has(name)
}

/** The fields that hold the method and the target of a request; none in HTTP/1. */
export function lineFields(request: IncomingMessage): readonly string[] {
  return isHttp2(request) ? [':method', ':path'] : []
}

/** The field that holds the host of a request. In HTTP/2 `host` is an ordinary field. */
export function hostField(request: IncomingMessage): string {
  return isHttp2(request) ? ':authority' : 'host'
}

/** The stream of an HTTP/2 response, even if handlers see a replaced one; `null` for HTTP/1. */
export function streamOf(response: ServerResponse): Stream | null {
  if (!('createPushResponse' in response)) return null
  return Reflect.get(Object.getPrototypeOf(response) as object, 'stream', response) as Stream
}

/** Whether a request has a body. With HTTP/2 no field tells so (RFC 9113 section 8.1). */
export function hasBody(request: IncomingMessage, response: ServerResponse): boolean {
  const { headers } = request
  if (Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined) return true
  return isHttp2(request) && streamOf(response)?.endAfterHeaders === false
}

/** Whether a response can no longer be sent: it was destroyed, or its stream is closed. */
export function hasEnded(response: ServerResponse): boolean {
  return response.destroyed || streamOf(response)?.closed === true
}

/** Ends an incomplete answer, so that the client can tell that it is incomplete. */
export function cutOff(response: ServerResponse, error?: Error): void {
  const stream = streamOf(response)
  if (stream === null) response.destroy(error)
  // `destroy` would end the stream as if the answer were complete. The close is deferred, because node:http2 never
  // returns from it if the client has just closed another stream of the same connection.
  else timers.setImmediate(() => stream.close(internalError))
}

/** Properties of a connection that node:http2 forgets when the connection ends. */
const lasting = 'encrypted remoteAddress remoteFamily remotePort localAddress localFamily localPort'.split(' ')

/**
 * Makes the addresses of a connection outlast it, for the request and the response. node:http2 forgets all of them,
 * node:http an address that was never read.
 */
export function rememberConnection(request: IncomingMessage, response: ServerResponse): void {
  if (!isHttp2(request)) return void request.socket?.remoteAddress
  const socket = request.socket as object
  const known = lasting.filter((name) => Reflect.get(socket, name) !== undefined)
  const properties = known.map((name) => [name, { value: Reflect.get(socket, name) as unknown, writable: true }])
  const remembered: unknown = Object.create(socket, Object.fromEntries(properties) as PropertyDescriptorMap)
  for (const message of [request, response]) new Overrides(message).value('socket', remembered)
}

/** Members of a stream that libraries use to write an answer; none of them differs between clients. */
const ofWriting: ReadonlySet<string | symbol> = new Set(
  'closed destroyed aborted close destroy on once off removeListener writable writableEnded headersSent'.split(' '),
)

/**
 * Wraps a stream and reports its reads, except of members that only serve writing.
 * @param onRead called with the name of each member that may tell clients apart, or that sends past the response
 */
export function watchedStream(stream: object, onRead: (name: string) => void): object {
  return new Proxy(stream, {
    get(target, name) {
      if (!ofWriting.has(name)) onRead(String(name))
      const shown = withheld(target, String(name))
      if (shown !== undefined) return shown.value
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}

import type { IncomingMessage, ServerResponse } from 'node:http'
import { Overrides } from './overrides.ts'

/** RFC 9113 section 8.3.1 and RFC 8441 section 4: what is said of a request in place of its first line. */
const pseudoFields: ReadonlySet<string> = new Set(':method :path :authority :scheme :protocol'.split(' '))

/** Of a response: that its handler has ended it. A client may end it with any code. */
const destroyed: unique symbol = Symbol.for('herdless.destroyed') as never

/** RFC 9113 section 7: the answer is not whole. */
const internalError = 0x2

/** What is used of a stream of node:http2. */
interface Stream {
  readonly closed: boolean
  close(code: number): void
}

/** Whether a request came by HTTP/2, and is one of the compatibility API of node:http2. */
export function isHttp2({ httpVersionMajor }: IncomingMessage): boolean {
  return httpVersionMajor === 2
}

/** Whether a name is that of a pseudo-header field (RFC 9113 section 8.3), and not of something that is no field. */
export function isPseudoField(name: string): boolean {
  return pseudoFields.has(name)
}

/** The names of the fields that are the method and the target of a request. */
export function lineFields(request: IncomingMessage): readonly string[] {
  return isHttp2(request) ? [':method', ':path'] : []
}

/** The name of the field that is the host of a request; in HTTP/2 `host` is a field like others. */
export function hostField(request: IncomingMessage): string {
  return isHttp2(request) ? ':authority' : 'host'
}

/** The stream of a response of HTTP/2, whatever it shows to handlers; `null` for one of HTTP/1. */
export function streamOf(response: ServerResponse): Stream | null {
  if (!('createPushResponse' in response)) return null
  return Reflect.get(Object.getPrototypeOf(response) as object, 'stream', response) as Stream
}

/** Whether nobody is there any more to be answered. */
export function hasEnded(response: ServerResponse): boolean {
  return response.destroyed || streamOf(response)?.closed === true
}

/** Ends an answer that is not whole, so that its client hears of that. */
export function cutOff(response: ServerResponse, error?: Error): void {
  const stream = streamOf(response)
  if (stream === null) response.destroy(error)
  // By itself it would say that this is the end of the answer. Later, for where another stream of the same connection has just
  // been closed by its client, node:http2 would never return.
  else setImmediate(() => stream.close(internalError))
}

/** Whether it was the client that ended the exchange, and not the handler. */
export function hasClientLeft(response: ServerResponse): boolean {
  if (streamOf(response) !== null) return Reflect.get(response, destroyed) !== true
  const { socket } = response.req
  return socket.readableEnded || socket.errored !== null
}

/** What a connection is known by for as long as it is asked. */
const lasting = 'encrypted remoteAddress remoteFamily remotePort localAddress localFamily localPort'.split(' ')

/**
 * Has a request know its connection when that has ended, too, and a response by whom it was: node:http2 forgets that, and
 * node:http the address that it was not asked for.
 */
export function rememberConnection(request: IncomingMessage, response: ServerResponse): void {
  if (!isHttp2(request)) return void request.socket?.remoteAddress
  const socket = request.socket as object
  const known = lasting.filter((name) => Reflect.get(socket, name) !== undefined)
  const properties = known.map((name) => [name, { value: Reflect.get(socket, name) as unknown, writable: true }])
  const remembered: unknown = Object.create(socket, Object.fromEntries(properties) as PropertyDescriptorMap)
  for (const message of [request, response]) new Overrides(message).value('socket', remembered)
  const destroy = new Overrides(response).method('destroy', (...args) => {
    Reflect.set(response, destroyed, true)
    return destroy(args)
  })
}

/** What streams are asked for by those who write to them; nothing of it differs between clients. */
const ofWriting: ReadonlySet<string | symbol> = new Set(
  'closed destroyed aborted close destroy on once off removeListener writable writableEnded headersSent'.split(' '),
)

/** A stream that tells what a handler reads of its client, or sends by itself. */
export function watchedStream(stream: object, onRead: (name: string) => void): object {
  return new Proxy(stream, {
    get(target, name) {
      if (!ofWriting.has(name)) onRead(String(name))
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}

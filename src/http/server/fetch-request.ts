import { IncomingMessage } from 'node:http'
import { Duplex } from 'node:stream'

/** The connection of a `Request`, which is open until its client goes away or its answer is cut off. */
class Connection extends Duplex {
  readonly encrypted: boolean

  constructor(encrypted: boolean) {
    super({ read: () => undefined, write: (_chunk, _encoding, done) => done() })
    this.encrypted = encrypted
  }
}

const messages = new WeakMap<Request, IncomingMessage>()
const origins = new WeakMap<IncomingMessage, { readonly request: Request; readonly connection: Connection }>()

/** The request of node:http that the cache sees in place of a `Request`; always the same one. */
export function incomingOf(request: Request): IncomingMessage {
  const before = messages.get(request)
  if (before !== undefined) return before
  const { protocol, host, pathname, search } = new URL(request.url)
  const incoming = new IncomingMessage(undefined as never)
  const headers = Object.create(null) as Record<string, string>
  for (const [name, value] of request.headers) headers[name] = value
  headers['host'] ??= host
  incoming.method = request.method
  incoming.url = pathname + search
  incoming.httpVersion = '1.1'
  incoming.httpVersionMajor = incoming.httpVersionMinor = 1
  incoming.headers = headers
  incoming.rawHeaders = Object.entries(headers).flat()
  const connection = new Connection(protocol === 'https:')
  incoming.socket = connection as never
  messages.set(request, incoming)
  origins.set(incoming, { request, connection })
  return incoming
}

/** The `Request` that a request of node:http was made of, and its connection itself, even if handlers see a watched one. */
export function originOf(incoming: IncomingMessage): { readonly request: Request; readonly connection: Duplex } {
  return origins.get(incoming) as { request: Request; connection: Connection }
}

/** The host in the URL of a request, if it is another than the one that its field names, which makes the key. */
export function hostsOf(request: Request): readonly string[] {
  const { host } = new URL(request.url)
  return host === incomingOf(request).headers.host ? [] : [`host ${host}`]
}

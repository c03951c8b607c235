import type { IncomingMessage } from 'node:http'
import { isPseudoField } from '../http/message/http2.ts'

/**
 * Wraps a request of Hono so that fields are read from the request of node:http, one by one, when they are accessed:
 * reads are recorded, and hidden fields stay hidden. Hono itself copies all fields on the first access and keeps the
 * copy.
 * @param sent the names of the fields of the client
 */
export function seenThrough(raw: Request, incoming: IncomingMessage, sent: ReadonlySet<string>): Request {
  // Only GET and HEAD are watched, and a request with a body must not be wrapped: a body can be read only once.
  if (raw.method !== 'GET' && raw.method !== 'HEAD') return raw
  if (isReplaced(raw)) {
    // Its fields may be those of the middleware, so all of them count as read.
    const shown = new Headers(allOf(incoming))
    const own = [...raw.headers].filter(([name]) => !sent.has(name) || shown.has(name))
    return new Request(new Request(urlSeen(raw, incoming), raw), { headers: own })
  }
  const headers = headersOf(incoming)
  const parts = raw as unknown as Record<symbol, unknown>
  const copies = new Set<string | symbol>(Object.getOwnPropertySymbols(raw).filter((name) => isCopy(parts[name])))
  return new Proxy(raw, {
    get(target, name, receiver) {
      if (name === 'headers') return headers
      if (name === 'url') return urlSeen(target, incoming)
      return copies.has(name) ? undefined : (Reflect.get(target, name, receiver) as unknown)
    },
  })
}

/** The URL of a request with the query that the request of node:http has now: ignored parameters are hidden. */
function urlSeen({ url }: Request, incoming: IncomingMessage): string {
  const [own, seen] = [url.indexOf('?'), incoming.url?.indexOf('?') ?? -1]
  if (own === -1 || incoming.url === undefined || url.length - own <= incoming.url.length - seen) return url
  return seen === -1 ? url.slice(0, own) : url.slice(0, own) + incoming.url.slice(seen)
}

/** Whether earlier middleware has put a request of its own in the place of that of @hono/node-server. */
export function isReplaced(raw: Request): boolean {
  return Object.getPrototypeOf(raw) === raw.constructor.prototype
}

/** The fields of a request. `get` and `has` read one field; every other access reads all of them. */
function headersOf(incoming: IncomingMessage): Headers {
  let changed: Headers | undefined
  return new Proxy(new Headers(), {
    get(_, name) {
      if (changed === undefined && name === 'get') return (field: string) => fieldOf(incoming, field)
      if (changed === undefined && name === 'has') return (field: string) => fieldOf(incoming, field) !== null
      const all = changed ?? allOf(incoming)
      if (name === 'append' || name === 'delete' || name === 'set') changed = all
      const member: unknown = Reflect.get(all, name)
      return typeof member === 'function' ? (member.bind(all) as unknown) : member
    },
  })
}

function fieldOf({ headers }: IncomingMessage, field: string): string | null {
  const name = field.toLowerCase()
  if (!Object.hasOwn(headers, name)) return null
  const value = headers[name]
  return Array.isArray(value) ? value.join(', ') : (value ?? null)
}

function allOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers()
  rawHeaders.forEach((name, index) => {
    if (index % 2 === 0 && !isPseudoField(name)) headers.append(name, rawHeaders[index + 1] ?? '')
  })
  return headers
}

function isCopy(part: unknown): boolean {
  return part instanceof Request || part instanceof Headers
}

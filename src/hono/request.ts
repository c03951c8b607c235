import type { IncomingMessage } from 'node:http'
import { allOf, shownHeaders, urlSeen } from '../http/server/fetch-shown.ts'

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
    return new Request(new Request(urlSeen(raw.url, incoming), raw), { headers: own })
  }
  const headers = shownHeaders(incoming)
  const parts = raw as unknown as Record<symbol, unknown>
  const copies = new Set<string | symbol>(Object.getOwnPropertySymbols(raw).filter((name) => isCopy(parts[name])))
  return new Proxy(raw, {
    get(target, name, receiver) {
      if (name === 'headers') return headers
      if (name === 'url') return urlSeen(target.url, incoming)
      return copies.has(name) ? undefined : (Reflect.get(target, name, receiver) as unknown)
    },
  })
}

/** Whether earlier middleware has put a request of its own in the place of that of @hono/node-server. */
export function isReplaced(raw: Request): boolean {
  return Object.getPrototypeOf(raw) === raw.constructor.prototype
}

function isCopy(part: unknown): boolean {
  return part instanceof Request || part instanceof Headers
}

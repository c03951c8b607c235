import type { IncomingMessage } from 'node:http'
import { isPseudoField } from '../message/http2.ts'

/** The members of a `Request`, by the standard: its own code reads its state in them, which is no copy of the request. */
const ofRequest =
  'arrayBuffer blob body bodyUsed bytes cache credentials destination duplex formData integrity isHistoryNavigation ' +
  'isReloadNavigation json keepalive method mode redirect referrer referrerPolicy text'

/** Those of them that are replaced. */
const replaced = 'headers url method signal clone'

const standard: ReadonlySet<string> = new Set(['constructor', ...`${ofRequest} ${replaced}`.split(' ')])

/** Whether a property of a `Request` is one that every request has; symbols are those of the runtime. */
export function isOfRequest(key: PropertyKey): boolean {
  return typeof key === 'symbol' || standard.has(String(key))
}

const wellKnown: ReadonlySet<symbol> = new Set([Symbol.toStringTag, Symbol.for('nodejs.util.inspect.custom')])

/**
 * Makes a `Request` show what the request of node:http shows, whose reads are recorded, and from which fields are
 * hidden. Code that makes a copy of the request reads its state, which is hidden in each runtime in a way of its own,
 * and counts as a read of all fields:
 *
 * - Node.js 20, Deno and @hono/node-server keep it under symbols, which are replaced by accessors.
 * - Node.js from 22 on keeps it in private fields, but asks the signal of the original whether it is aborted.
 * - Bun takes the replaced `headers`.
 * @param signal the one that the handler is shown
 */
export function showThrough(request: Request, incoming: IncomingMessage, signal: AbortSignal): void {
  const { url, method, headers: kept, signal: real } = request
  const headers = shownHeaders(incoming)
  const onCopy = (): void => void allOf(incoming)
  watchState(request, onCopy)
  watchMore(request, onCopy)
  accessor(request, 'headers', () => headers)
  accessor(request, 'url', () => urlSeen(url, incoming))
  accessor(request, 'method', () => method)
  accessor(request, 'signal', () => signal)
  accessor(request, 'clone', () => () => new Request(urlSeen(url, incoming), { method, headers, signal }))
  // Also the methods of the headers object that earlier code has kept.
  const methods = [...Object.getOwnPropertyNames(Headers.prototype), Symbol.iterator] as const
  for (const name of methods) if (name !== 'constructor') accessor(kept, name, () => Reflect.get(headers, name))
  accessor(real, 'aborted', () => {
    onCopy()
    return Reflect.get(AbortSignal.prototype, 'aborted', real)
  })
}

/** Records reads of the state that a request keeps under symbols, except by its own members. */
function watchState(request: Request, onRead: () => void): void {
  const names = ofRequest.split(' ').filter((name) => name in request)
  let isOwn = false
  const unheard = <T>(work: () => T): T => {
    const before = isOwn
    isOwn = true
    try {
      return work()
    } finally {
      isOwn = before
    }
  }
  const kind = Object.getPrototypeOf(request) as object
  let isKept = false
  for (let each: object = request; each !== Object.prototype; each = Object.getPrototypeOf(each) as object) {
    for (const symbol of Object.getOwnPropertySymbols(each)) {
      if (wellKnown.has(symbol)) continue
      isKept = true
      let isSet = Object.hasOwn(request, symbol)
      let value: unknown = isSet ? Reflect.get(request, symbol) : undefined
      Object.defineProperty(request, symbol, {
        configurable: true,
        get: () => {
          if (!isOwn) onRead()
          return isSet ? value : unheard(() => Reflect.get(kind, symbol, request) as unknown)
        },
        set: (next: unknown) => {
          value = next
          isSet = true
        },
      })
    }
  }
  if (!isKept) return
  for (const name of names) {
    accessor(request, name, () => {
      const member: unknown = unheard(() => Reflect.get(kind, name, request))
      if (typeof member !== 'function') return member
      return (...args: unknown[]) => unheard(() => Reflect.apply(member, request, args) as unknown)
    })
  }
}

/**
 * Records reads of members that a runtime adds to its requests: `cookies` of Bun, `cf` of Cloudflare. They are made of the
 * fields, or tell of the connection.
 */
function watchMore(request: Request, onRead: () => void): void {
  const kind = Object.getPrototypeOf(request) as object
  for (let each = kind; each !== Object.prototype; each = Object.getPrototypeOf(each) as object) {
    for (const name of Object.getOwnPropertyNames(each)) {
      if (isOfRequest(name) || Object.hasOwn(request, name)) continue
      const get = (): unknown => {
        onRead()
        return Reflect.get(kind, name, request)
      }
      const set = (value: unknown): void => void Object.defineProperty(request, name, { configurable: true, value })
      Object.defineProperty(request, name, { configurable: true, get, set })
    }
  }
}

function accessor(object: object, name: PropertyKey, get: () => unknown): void {
  Object.defineProperty(object, name, { configurable: true, get })
}

/** A URL with the query that the request of node:http has now: ignored parameters are hidden. */
export function urlSeen(url: string, incoming: IncomingMessage): string {
  const [own, seen] = [url.indexOf('?'), incoming.url?.indexOf('?') ?? -1]
  if (own === -1 || incoming.url === undefined || url.length - own <= incoming.url.length - seen) return url
  return seen === -1 ? url.slice(0, own) : url.slice(0, own) + incoming.url.slice(seen)
}

/** The fields of a request of node:http. `get` and `has` read one field; every other access reads all of them. */
export function shownHeaders(incoming: IncomingMessage): Headers {
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
  const name = String(field).toLowerCase()
  if (!Object.hasOwn(headers, name)) return null
  const value = headers[name]
  return Array.isArray(value) ? value.join(', ') : (value ?? null)
}

/** All fields, as they were sent. */
export function allOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers()
  rawHeaders.forEach((name, index) => {
    if (index % 2 === 0 && !isPseudoField(name)) headers.append(name, rawHeaders[index + 1] ?? '')
  })
  return headers
}

import type { IncomingMessage } from 'node:http'
import { isPseudoField } from '../http/message/http2.ts'

/**
 * A request of Hono whose fields are read from that of node:http, one by one, when they are asked for: what is read is seen, and
 * what is hidden is not there. By itself Hono copies all fields when the first is asked for, and keeps the copy.
 */
export function seenThrough(raw: Request, incoming: IncomingMessage): Request {
  // No others are watched; and a body can be read once only.
  if (raw.method !== 'GET' && raw.method !== 'HEAD') return raw
  const headers = headersOf(incoming)
  // One that @hono/node-server did not make has a copy of the fields inside.
  if (Object.getPrototypeOf(raw) === raw.constructor.prototype) return new Request(raw, { headers: [...headers] })
  const parts = raw as unknown as Record<symbol, unknown>
  const copies = new Set<string | symbol>(Object.getOwnPropertySymbols(raw).filter((name) => isCopy(parts[name])))
  return new Proxy(raw, {
    get(target, name, receiver) {
      if (name === 'headers') return headers
      return copies.has(name) ? undefined : (Reflect.get(target, name, receiver) as unknown)
    },
  })
}

/** Fields that are looked up by their names where that is possible; otherwise all are read. */
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

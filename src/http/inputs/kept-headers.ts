import type { IncomingHttpHeaders } from 'node:http'
import type { Fields } from '../policy/fields.ts'

/**
 * Watches the original fields object of a request, of which an earlier middleware may have kept a reference: reads are
 * recorded, even of absent fields.
 * @param values a copy of the fields
 * @returns a function that restores the object
 */
export function watchedWhereKept(
  headers: IncomingHttpHeaders,
  values: Fields,
  onRead: (name: string) => void,
): () => void {
  const assigned = new Set<string>()
  for (const name of Object.keys(values)) {
    const get = (): unknown => {
      onRead(name)
      return values[name]
    }
    const set = (value: unknown): void => {
      assigned.add(name)
      define(headers, name, value)
    }
    Object.defineProperty(headers, name, { configurable: true, enumerable: true, get, set })
  }
  const prototype: unknown = Object.getPrototypeOf(headers)
  Object.setPrototypeOf(headers, prototypeThatTells(onRead))
  return () => {
    Object.setPrototypeOf(headers, prototype as object | null)
    for (const name of Object.keys(headers)) {
      if (Object.hasOwn(values, name) && !assigned.has(name)) define(headers, name, values[name])
    }
  }
}

/** A prototype that records reads of absent properties: a lookup reaches it only if the object has no such property. */
function prototypeThatTells(onRead: (name: string) => void): object {
  const tell = (name: PropertyKey): void => {
    if (typeof name === 'string' && !(name in Object.prototype)) onRead(name)
  }
  return new Proxy(Object.prototype, {
    get: (target, name) => (tell(name), Reflect.get(target, name) as unknown),
    has: (target, name) => (tell(name), Reflect.has(target, name)),
  })
}

function define(headers: IncomingHttpHeaders, name: string, value: unknown): void {
  Object.defineProperty(headers, name, { configurable: true, enumerable: true, writable: true, value })
}

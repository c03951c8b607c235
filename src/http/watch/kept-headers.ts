import type { IncomingHttpHeaders } from 'node:http'

/**
 * Watches the fields of a request as they came, which an earlier middleware may have kept: what is read of them is heard, whether
 * it is there or not.
 * @returns what ends that
 */
export function watchedWhereKept(headers: IncomingHttpHeaders, onRead: (name: string) => void): () => void {
  const values = { ...headers }
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

/** It is asked for what an object has not itself. */
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

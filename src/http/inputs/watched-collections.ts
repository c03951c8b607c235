import type { Fields } from '../policy/fields.ts'
import { inspect } from 'node:util'

/** Callbacks for the reads of a collection of fields. */
export interface FieldReads {
  /** Called with the name of a field, in lower case. */
  readonly onField: (name: string) => void
  /** Called when all fields are looked at at once. */
  readonly onAll: () => void
}

/** Wraps the fields of a request, by name, and reports which of them are read. */
export function watchedHeaders(headers: Fields, reads: FieldReads): Fields {
  return new Proxy<Fields>(inspected(headers, reads), new HeadersHandler(headers, reads))
}

/**
 * The target of the proxy. `util.inspect` looks through a proxy at its target, which is therefore empty and returns the
 * fields through a method that reports the read.
 */
function inspected(headers: Fields, { onAll }: FieldReads): Fields {
  const behind = { [inspect.custom]: () => (onAll(), headers) }
  return behind as object as Fields
}

/** One object for all traps, and not a closure for each, because every miss makes one. */
class HeadersHandler implements ProxyHandler<Fields> {
  readonly #headers: Fields
  readonly #reads: FieldReads

  constructor(headers: Fields, reads: FieldReads) {
    this.#headers = headers
    this.#reads = reads
  }

  get(_: object, name: PropertyKey): unknown {
    this.#see(name)
    return Reflect.get(this.#headers, name) as unknown
  }

  has(_: object, name: PropertyKey): boolean {
    this.#see(name)
    return Reflect.has(this.#headers, name)
  }

  getOwnPropertyDescriptor(_: object, name: PropertyKey): PropertyDescriptor | undefined {
    this.#see(name)
    return Reflect.getOwnPropertyDescriptor(this.#headers, name)
  }

  ownKeys(): (string | symbol)[] {
    this.#reads.onAll()
    return Reflect.ownKeys(this.#headers)
  }

  set(_: object, name: PropertyKey, value: unknown): boolean {
    return Reflect.set(this.#headers, name, value)
  }

  defineProperty(_: object, name: PropertyKey, descriptor: PropertyDescriptor): boolean {
    return Reflect.defineProperty(this.#headers, name, { ...descriptor, configurable: true })
  }

  deleteProperty(_: object, name: PropertyKey): boolean {
    return Reflect.deleteProperty(this.#headers, name)
  }

  #see(name: PropertyKey): void {
    if (typeof name === 'string') this.#reads.onField(name.toLowerCase())
  }
}

/**
 * Makes a collection of all fields that is filled when it is first read. It takes the place of a value: an accessor
 * there would make the request slow.
 * @param onRead called on every read
 */
export function filledWhenRead<T extends object>(empty: T, make: () => T, onRead: () => void): T {
  return new Proxy(empty, new FillingHandler(empty, make, onRead))
}

class FillingHandler<T extends object> implements ProxyHandler<T> {
  readonly #target: T
  readonly #make: () => T
  readonly #onRead: () => void
  #isFilled = false

  constructor(target: T, make: () => T, onRead: () => void) {
    this.#target = target
    this.#make = make
    this.#onRead = onRead
    Object.defineProperty(target, inspect.custom, { configurable: true, value: () => this.#read() })
  }

  get(_: T, name: PropertyKey): unknown {
    return Reflect.get(this.#read(), name) as unknown
  }

  has(_: T, name: PropertyKey): boolean {
    return Reflect.has(this.#read(), name)
  }

  getOwnPropertyDescriptor(_: T, name: PropertyKey): PropertyDescriptor | undefined {
    return Reflect.getOwnPropertyDescriptor(this.#read(), name)
  }

  ownKeys(): (string | symbol)[] {
    return Reflect.ownKeys(this.#read())
  }

  set(_: T, name: PropertyKey, value: unknown): boolean {
    return Reflect.set(this.#read(), name, value)
  }

  defineProperty(_: T, name: PropertyKey, descriptor: PropertyDescriptor): boolean {
    return Reflect.defineProperty(this.#read(), name, descriptor)
  }

  deleteProperty(_: T, name: PropertyKey): boolean {
    return Reflect.deleteProperty(this.#read(), name)
  }

  #read(): T {
    this.#onRead()
    if (this.#isFilled) return this.#target
    this.#isFilled = true
    Reflect.deleteProperty(this.#target, inspect.custom)
    return Object.assign(this.#target, this.#make())
  }
}

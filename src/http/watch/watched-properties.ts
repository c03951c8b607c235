interface Accessor {
  readonly get: (this: object) => unknown
  readonly set: ((this: object, value: unknown) => void) | undefined
}

/** Properties of an object whose values are as they were, and whose reads are heard. */
export class WatchedProperties {
  readonly #object: object
  readonly #onRead: (name: PropertyKey) => void
  readonly #watched = new Map<PropertyKey, { readonly before: PropertyDescriptor; readonly get: () => unknown }>()

  /** @param onRead told the name of a property each time that it is read; at once for one that cannot be watched */
  constructor(object: object, names: Iterable<PropertyKey>, onRead: (name: PropertyKey) => void) {
    this.#object = object
    this.#onRead = onRead
    for (const name of names) this.#watch(name)
  }

  /** The object is as it was, but for what was assigned to it meanwhile. */
  release(): void {
    for (const [name, { before, get }] of this.#watched) {
      if (Object.getOwnPropertyDescriptor(this.#object, name)?.get === get) this.#define(name, before)
    }
    this.#watched.clear()
  }

  #watch(name: PropertyKey): void {
    const before = Object.getOwnPropertyDescriptor(this.#object, name)
    if (before === undefined) return
    if (before.configurable !== true) return this.#onRead(name)
    const { get: getter, set: setter } = before as Accessor
    const isAccessor = getter !== undefined
    const get = (): unknown => {
      this.#onRead(name)
      return isAccessor ? Reflect.apply(getter, this.#object, []) : (before.value as unknown)
    }
    // From then on it is what the handler has made of it.
    const assign = (value: unknown): void => this.#define(name, { ...before, value })
    const set = before.writable === true ? assign : setter
    const watched = { configurable: true, enumerable: before.enumerable === true, get }
    this.#define(name, set === undefined ? watched : { ...watched, set })
    this.#watched.set(name, { before, get })
  }

  #define(name: PropertyKey, descriptor: PropertyDescriptor): void {
    Object.defineProperty(this.#object, name, descriptor)
  }
}

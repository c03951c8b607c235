interface Accessor {
  readonly get: (this: object) => unknown
  readonly set: ((this: object, value: unknown) => void) | undefined
}

/** Records the reads of properties of an object, without changing their values. */
export class WatchedProperties {
  readonly #object: object
  readonly #onRead: (name: PropertyKey) => void
  readonly #watched = new Map<PropertyKey, { readonly before: PropertyDescriptor; readonly get: () => unknown }>()

  /**
   * @param onRead called with the name of a property on every read; immediately for a property that cannot be redefined
   */
  constructor(object: object, names: Iterable<PropertyKey>, onRead: (name: PropertyKey) => void) {
    this.#object = object
    this.#onRead = onRead
    for (const name of names) this.#watch(name)
  }

  /** Restores the object, except for properties that were assigned meanwhile. */
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
    // An assigned value comes from the handler and is no longer an input.
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

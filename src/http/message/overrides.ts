/** Properties of an object that are others for a while. */
export class Overrides {
  readonly #target: object
  readonly #before = new Map<PropertyKey, PropertyDescriptor | undefined>()

  constructor(target: object) {
    this.#target = target
  }

  set(name: PropertyKey, descriptor: PropertyDescriptor): void {
    if (!this.#before.has(name)) this.#before.set(name, Object.getOwnPropertyDescriptor(this.#target, name))
    Object.defineProperty(this.#target, name, { configurable: true, enumerable: false, ...descriptor })
  }

  /** Replaces a method; returns what calls the one that was there. */
  method(name: string, method: (...args: never[]) => unknown): (args: readonly unknown[]) => unknown {
    const before = Reflect.get(this.#target, name) as (...args: never[]) => unknown
    this.value(name, method)
    return (args) => Reflect.apply(before, this.#target, args)
  }

  /** A property that may be assigned to. */
  value(name: PropertyKey, value: unknown): void {
    this.set(name, { value, writable: true })
  }

  /** Has all that `work` sets, or else nothing of it, where it throws. */
  allOrNone<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      this.undo()
      throw error
    }
  }

  /** The object is as it was. */
  undo(): void {
    for (const [name, before] of this.#before) {
      if (before === undefined) Reflect.deleteProperty(this.#target, name)
      else Object.defineProperty(this.#target, name, before)
    }
    this.#before.clear()
  }
}

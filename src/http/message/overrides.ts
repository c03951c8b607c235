/*
 * Room: message. The messages of node:http and node:http2, and how a cache changes them: properties that are replaced
 * for a while, heads that are completed at the last moment, connections whose end is withheld. It knows nothing of
 * stored responses.
 *
 * Reading order: overrides.ts (how a property is replaced and restored), response-arguments.ts (the arguments of
 * writeHead, write and end), http2.ts (all differences between HTTP/1 and HTTP/2), departure.ts (a client that goes
 * away), late-head.ts (the head of an answer), cache-status.ts and cache-info.ts (how the cache tells clients and
 * handlers about itself).
 */

/** Temporary replacements of the properties of an object. */
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

  /**
   * Replaces a method.
   * @returns a function that calls the original method with an array of arguments
   */
  method(name: string, method: (...args: never[]) => unknown): (args: readonly unknown[]) => unknown {
    const before = Reflect.get(this.#target, name) as (...args: never[]) => unknown
    this.value(name, method)
    return (args) => Reflect.apply(before, this.#target, args)
  }

  /** Replaces a property with a writable value. */
  value(name: PropertyKey, value: unknown): void {
    this.set(name, { value, writable: true })
  }

  /**
   * Runs `work`, and undoes every replacement if it throws.
   * @throws the error of `work`
   */
  allOrNone<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      this.undo()
      throw error
    }
  }

  /** Restores the original properties. */
  undo(): void {
    for (const [name, before] of this.#before) {
      if (before === undefined) Reflect.deleteProperty(this.#target, name)
      else Object.defineProperty(this.#target, name, before)
    }
    this.#before.clear()
  }
}

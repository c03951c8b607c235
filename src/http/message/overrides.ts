/*
 * Room: message. The messages of node:http and node:http2, and how a cache changes them: properties that are replaced
 * for a while, heads that are completed at the last moment, connections whose end is withheld. It knows nothing of
 * stored responses.
 *
 * Reading order: overrides.ts (how a property is replaced and restored), response-arguments.ts (the arguments of
 * writeHead, write and end), http2.ts (all differences between HTTP/1 and HTTP/2), departure.ts (a client that goes
 * away), held-end.ts (an answer whose end waits), late-head.ts (the head of an answer), cache-status.ts and
 * cache-info.ts (how the cache tells clients and handlers about itself).
 */

/** A replaced property and its original descriptor; `undefined` if the object had no such property of its own. */
interface Replaced {
  readonly name: PropertyKey
  readonly before: PropertyDescriptor | undefined
}

/** Temporary replacements of the properties of an object. */
export class Overrides {
  readonly #target: Record<PropertyKey, unknown>
  readonly #replaced: Replaced[] = []

  constructor(target: object) {
    this.#target = target as Record<PropertyKey, unknown>
  }

  /** Whether the object has a property. */
  has(name: PropertyKey): boolean {
    return name in this.#target
  }

  set(name: PropertyKey, descriptor: PropertyDescriptor): void {
    this.#remember(name)
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
    this.#remember(name)
    Object.defineProperty(this.#target, name, { configurable: true, enumerable: false, writable: true, value })
  }

  /**
   * Replaces the value of a property and, if the object has it itself, keeps its attributes: to change them would make
   * the object slow.
   */
  assign(name: PropertyKey, value: unknown): void {
    if (Object.getOwnPropertyDescriptor(this.#target, name)?.writable !== true) return this.value(name, value)
    this.#remember(name)
    this.#target[name] = value
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
    // In reverse, and with `delete`: an object from which the property added last is deleted stays fast.
    for (const { name, before } of this.#replaced.splice(0).reverse()) {
      if (before === undefined) delete this.#target[name]
      else this.#restore(name, before)
    }
  }

  #restore(name: PropertyKey, before: PropertyDescriptor): void {
    const { writable, enumerable } = Object.getOwnPropertyDescriptor(this.#target, name) ?? {}
    const isAssigned = writable === true && before.writable === true && enumerable === before.enumerable
    // See `assign`.
    if (isAssigned) this.#target[name] = before.value
    else Object.defineProperty(this.#target, name, before)
  }

  #remember(name: PropertyKey): void {
    if (this.#replaced.some((each) => each.name === name)) return
    this.#replaced.push({ name, before: Object.getOwnPropertyDescriptor(this.#target, name) })
  }
}

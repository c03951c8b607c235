import type { Outcomes } from './surroundings.ts'

/** The watch of an object, as a property of the object itself. */
const watch: unique symbol = Symbol.for('herdless.outcomes') as never

type Watched = Record<PropertyKey, unknown> & { [watch]?: WatchedOutcomes }

/** Callbacks for the reads of computed properties. */
export interface OutcomesHeard {
  /** Called with the name of an input, with a leading colon. */
  readonly onRead: (name: string) => void
  /** Runs the getter of the framework; what it reads of the connection is part of the property. */
  readonly muted: (work: () => unknown) => unknown
}

/**
 * One accessor for each name and all requests: an accessor of its own for each request would make every request slow.
 */
const accessors = new Map<string, PropertyDescriptor>()

/** Records the reads of properties that a framework computes from a request and its connection. */
export class WatchedOutcomes {
  readonly #object: Watched
  readonly #outcomes: Outcomes
  readonly #heard: OutcomesHeard
  readonly #kind: object
  readonly #replaced: string[] = []

  constructor(outcomes: Outcomes, heard: OutcomesHeard) {
    this.#object = outcomes.object as Watched
    this.#outcomes = outcomes
    this.#heard = heard
    this.#kind = Object.getPrototypeOf(outcomes.object) as object
    Object.defineProperty(this.#object, watch, { configurable: true, value: this })
    for (const name of outcomes.properties.keys()) {
      // Replaced by earlier middleware, so it is watched as a property.
      if (Object.hasOwn(this.#object, name)) continue
      Object.defineProperty(this.#object, name, accessorOf(name))
      this.#replaced.push(name)
    }
  }

  /** The value of a property, as the framework computes it. */
  read(name: string): unknown {
    const { name: part, properties } = this.#outcomes
    const kind = Object.getPrototypeOf(this.#object) as object
    // In a mounted app of Express the trust settings of that app apply.
    if (kind !== this.#kind) this.#heard.onRead(`:${part}.${name} of another app`)
    else if (properties.get(name) === true) this.#heard.onRead(`:${part}.${name}`)
    return this.#heard.muted(() => computed(this.#object, name))
  }

  /** Restores the object, except for properties that were assigned meanwhile. */
  release(): void {
    // In reverse, and with `delete`: see `Overrides`.
    for (const name of this.#replaced.toReversed()) {
      if (Object.getOwnPropertyDescriptor(this.#object, name)?.get === accessorOf(name).get) delete this.#object[name]
    }
    delete this.#object[watch]
  }
}

/** The value of a property by the getter of the framework. */
function computed(object: object, name: string): unknown {
  return Reflect.get(Object.getPrototypeOf(object) as object, name, object)
}

function accessorOf(name: string): PropertyDescriptor {
  let accessor = accessors.get(name)
  if (accessor === undefined) {
    accessor = {
      configurable: true,
      enumerable: true,
      get(this: Watched) {
        const watched = this[watch]
        return watched === undefined ? computed(this, name) : watched.read(name)
      },
      set(this: Watched, value: unknown) {
        Object.defineProperty(this, name, { configurable: true, enumerable: true, writable: true, value })
      },
    }
    accessors.set(name, accessor)
  }
  return accessor
}

import type { Outcomes } from './surroundings.ts'

/** The watch of an object, as a property of the object itself. */
const watch: unique symbol = Symbol.for('herdless.outcomes') as never

type Watched = Record<PropertyKey, unknown> & { [watch]?: WatchedOutcomes | undefined }

/** Callbacks for the reads of computed properties. */
export interface OutcomesHeard {
  /** Called with the name of an input, with a leading colon. */
  readonly onRead: (name: string) => void
  /** Runs the getter of the framework; what it reads of the connection is part of the property. */
  readonly muted: (work: () => unknown) => unknown
}

/** The prototypes whose computed properties look for a watch. */
const watchable = new WeakSet<object>()

/**
 * Records the reads of properties that a framework computes from a request and its connection. Its prototype has
 * accessors for them, which look for a watch of the request: accessors on each request would cost more than the rest of
 * the watch.
 */
export class WatchedOutcomes {
  readonly #object: Watched
  readonly #outcomes: Outcomes
  readonly #heard: OutcomesHeard
  readonly #kind: object
  /** The watch of a cache before this one. */
  readonly #outer: WatchedOutcomes | undefined

  constructor(outcomes: Outcomes, heard: OutcomesHeard) {
    this.#object = outcomes.object as Watched
    this.#outcomes = outcomes
    this.#heard = heard
    this.#kind = Object.getPrototypeOf(outcomes.object) as object
    this.#outer = this.#object[watch]
    makeWatchable(this.#kind, outcomes.properties.keys())
    Object.defineProperty(this.#object, watch, { configurable: true, writable: true, value: this })
  }

  /** The value of a property, as the framework computes it. */
  read(name: string, compute: () => unknown): unknown {
    const { name: part, properties } = this.#outcomes
    // In a mounted app of Express the trust settings of that app apply. Its prototype inherits from that of the first.
    if (Object.getPrototypeOf(this.#object) !== this.#kind) this.#heard.onRead(`:${part}.${name} of another app`)
    else if (properties.get(name) === true) this.#heard.onRead(`:${part}.${name}`)
    return this.#heard.muted(() => (this.#outer === undefined ? compute() : this.#outer.read(name, compute)))
  }

  /** Ends the watch. */
  release(): void {
    if (this.#object[watch] === this) this.#object[watch] = this.#outer
  }
}

/** Gives a prototype accessors that look for a watch of the object, unless it has them, or may not be changed. */
function makeWatchable(kind: object, names: Iterable<string>): void {
  if (watchable.has(kind)) return
  watchable.add(kind)
  for (const name of names) {
    const before = descriptorOf(kind, name)
    if (before?.get === undefined) continue
    const compute = (object: object): unknown => before.get?.call(object)
    Reflect.defineProperty(kind, name, {
      ...before,
      get(this: Watched) {
        const watched = this[watch]
        return watched === undefined ? compute(this) : watched.read(name, () => compute(this))
      },
    })
  }
}

function descriptorOf(object: object | null, name: string): PropertyDescriptor | undefined {
  if (object === null) return undefined
  return (
    Object.getOwnPropertyDescriptor(object, name) ?? descriptorOf(Object.getPrototypeOf(object) as object | null, name)
  )
}

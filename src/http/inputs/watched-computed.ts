import type { Computed } from './surroundings.ts'

/** Callbacks for the reads of computed properties. */
export interface ComputedHeard {
  /** Called with the name of an input, with a leading colon. */
  readonly onRead: (name: string) => void
  /** Runs the getter of the framework; what it reads of the connection is part of the property. */
  readonly muted: (work: () => unknown) => unknown
}

/** A prototype in front of that of a framework, and the watches of the objects that have it for now. */
interface Layer {
  readonly prototype: object
  readonly watches: WeakMap<object, WatchedComputed>
}

/** By prototype of a framework. */
const layers = new WeakMap<object, Layer>()

/**
 * Records the reads of properties that a framework computes from a request and its connection. While the handler fills,
 * the request has a prototype with accessors for them, which inherits from its own and is made once: accessors on each
 * request would cost more than the rest of the watch.
 *
 * A mounted app of Express gives the request a prototype of its own, with its own settings of trust: what its getters
 * read of the request is recorded then.
 */
export class WatchedComputed {
  readonly #computed: Computed
  readonly #heard: ComputedHeard
  readonly #kind: object
  readonly #layer: Layer

  constructor(computed: Computed, heard: ComputedHeard) {
    const { object, properties } = computed
    this.#computed = computed
    this.#heard = heard
    this.#kind = Object.getPrototypeOf(object) as object
    this.#layer = layers.get(this.#kind) ?? layerOn(this.#kind, properties.keys())
    this.#layer.watches.set(object, this)
    Object.setPrototypeOf(object, this.#layer.prototype)
  }

  /** The value of a property, as the framework computes it. */
  read(name: string, compute: () => unknown): unknown {
    const { name: part, properties } = this.#computed
    if (properties.get(name) === true) this.#heard.onRead(`:${part}.${name}`)
    return this.#heard.muted(compute)
  }

  /** Ends the watch. */
  release(): void {
    const { object } = this.#computed
    this.#layer.watches.delete(object)
    if (Object.getPrototypeOf(object) === this.#layer.prototype) Object.setPrototypeOf(object, this.#kind)
  }
}

function layerOn(kind: object, names: Iterable<string>): Layer {
  const prototype = Object.create(kind) as object
  const watches = new WeakMap<object, WatchedComputed>()
  for (const name of names) {
    const before = descriptorOf(kind, name)
    if (before?.get === undefined) continue
    Object.defineProperty(prototype, name, {
      ...before,
      get(this: object): unknown {
        const compute = (): unknown => before.get?.call(this)
        const watch = watches.get(this)
        return watch === undefined ? compute() : watch.read(name, compute)
      },
    })
  }
  const layer = { prototype, watches }
  layers.set(kind, layer)
  return layer
}

function descriptorOf(object: object | null, name: string): PropertyDescriptor | undefined {
  if (object === null) return undefined
  return (
    Object.getOwnPropertyDescriptor(object, name) ?? descriptorOf(Object.getPrototypeOf(object) as object | null, name)
  )
}

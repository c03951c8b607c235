import type { Urgency } from '../contract/permits.ts'
import type { CacheError } from '../errors.ts'
import type { Permit } from './permit.ts'

/** A load that waits for its permit. */
export class QueuedLoad {
  /** Its permit, or why it will have none. */
  readonly ended: Promise<Permit | CacheError>
  readonly batch: object | null
  urgency: Urgency
  /** When the last of its callers has no time left, by the clock; infinite if nobody waits. */
  until: number
  /** The loads that share its permit. */
  loads = 1
  isOver = false
  readonly #queue: LoadQueue
  readonly #end: (end: Permit | CacheError) => void

  constructor(line: LoadQueue, wanted: Pick<QueuedLoad, 'batch' | 'urgency' | 'until'>) {
    this.#queue = line
    this.batch = wanted.batch
    this.urgency = wanted.urgency
    this.until = wanted.until
    let end!: (end: Permit | CacheError) => void
    this.ended = new Promise((resolve) => (end = resolve))
    this.#end = end
  }

  /** A caller waits for it from now on. */
  joined(until: number): void {
    this.until = this.until === Number.POSITIVE_INFINITY && this.urgency > 0 ? until : Math.max(this.until, until)
    if (this.urgency > 0) this.#queue.promote(this)
  }

  /** One of its loads is of no use any more. */
  leave(): void {
    this.loads--
    if (this.loads === 0 && !this.isOver) this.#queue.remove(this)
  }

  end(end: Permit | CacheError): void {
    this.#queue.remove(this)
    this.#end(end)
  }
}

/** The loads of this process that wait for permits of one source, the most urgent first. */
export class LoadQueue {
  readonly #byUrgency: readonly Set<QueuedLoad>[] = [new Set(), new Set(), new Set()]

  get length(): number {
    return this.#byUrgency.reduce((sum, places) => sum + places.size, 0)
  }

  /** How urgent the most urgent of them is, and how many are. */
  get front(): { readonly urgency: Urgency; readonly length: number } {
    const urgency = this.#byUrgency.findIndex(({ size }) => size > 0)
    return urgency === -1
      ? { urgency: 0, length: 0 }
      : { urgency: urgency as Urgency, length: this.#byUrgency[urgency]?.size ?? 0 }
  }

  /** How many of them come before a new one. */
  before(urgency: Urgency): number {
    return this.#byUrgency.slice(0, urgency + 1).reduce((sum, places) => sum + places.size, 0)
  }

  add(place: QueuedLoad): void {
    this.#byUrgency[place.urgency]?.add(place)
  }

  /** Takes the first out. */
  shift(): QueuedLoad | undefined {
    for (const places of this.#byUrgency) for (const place of places) return place
    return undefined
  }

  /** One that is less urgent than a new one: it must go if there is no room for both. */
  lessUrgent(urgency: Urgency): QueuedLoad | undefined {
    for (const places of this.#byUrgency.slice(urgency + 1).toReversed()) for (const place of places) return place
    return undefined
  }

  /** Those for which callers wait, in their order. */
  *awaited(): Generator<QueuedLoad> {
    yield* this.#byUrgency[0] ?? []
  }

  *all(): Generator<QueuedLoad> {
    for (const places of this.#byUrgency) yield* places
  }

  promote(place: QueuedLoad): void {
    if (place.isOver) return
    this.#byUrgency[place.urgency]?.delete(place)
    place.urgency = 0
    this.add(place)
  }

  remove(place: QueuedLoad): void {
    place.isOver = true
    this.#byUrgency[place.urgency]?.delete(place)
  }
}

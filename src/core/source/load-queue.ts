import type { Urgency } from '../contract/permits.ts'
import type { CacheError } from '../errors.ts'
import type { Permit } from './permit.ts'

/** A load that wants a permit. */
export interface Wanted {
  readonly key: string
  readonly urgency: Urgency
  /** When the last of its callers has no time left, by the clock; infinite if nobody waits. */
  readonly until: number
  /** Whether it may wait; else it is refused if it is granted none at once. */
  readonly mayWait: boolean
}

/** A load that waits for its permit. */
export class QueuedLoad {
  readonly key: string
  /** Its permit, or why it will have none. */
  readonly ended: Promise<Permit | CacheError>
  urgency: Urgency
  until: number
  /** The loads that share its permit. */
  loads = 1
  isOver = false
  readonly #queue: LoadQueue
  readonly #end: (end: Permit | CacheError) => void

  constructor(queue: LoadQueue, { key, urgency, until }: Wanted) {
    this.#queue = queue
    this.key = key
    this.urgency = urgency
    this.until = until
    let end!: (end: Permit | CacheError) => void
    this.ended = new Promise((resolve) => (end = resolve))
    this.#end = end
  }

  /** A caller waits for it from now on. */
  joined(until: number): void {
    this.until = this.until === Number.POSITIVE_INFINITY ? until : Math.max(this.until, until)
    this.hurry()
  }

  /** It goes before those for which nobody waits. */
  hurry(): void {
    if (this.urgency > 0) this.#queue.promote(this)
  }

  /** One of its loads is of no use any more. */
  leave(): void {
    this.loads--
    if (this.loads === 0) this.#queue.remove(this)
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
    return this.before(2)
  }

  /** How urgent the most urgent of them is, and how many are. */
  get front(): { readonly urgency: Urgency; readonly length: number } {
    const first = this.first
    return first === undefined
      ? { urgency: 0, length: 0 }
      : { urgency: first.urgency, length: this.#of(first.urgency).size }
  }

  get first(): QueuedLoad | undefined {
    for (const queued of this.#byUrgency) for (const first of queued) return first
    return undefined
  }

  /** Those for which callers wait, in their order. */
  get awaited(): Iterable<QueuedLoad> {
    return this.#of(0)
  }

  /** How many of them come before a new one. */
  before(urgency: Urgency): number {
    return this.#byUrgency.slice(0, urgency + 1).reduce((sum, { size }) => sum + size, 0)
  }

  /** One that is less urgent than a new one: it must go if there is no room for both. */
  lessUrgent(urgency: Urgency): QueuedLoad | undefined {
    for (const queued of this.#byUrgency.slice(urgency + 1).toReversed()) for (const first of queued) return first
    return undefined
  }

  add(load: QueuedLoad): void {
    this.#of(load.urgency).add(load)
  }

  promote(load: QueuedLoad): void {
    if (load.isOver) return
    this.#of(load.urgency).delete(load)
    load.urgency = 0
    this.add(load)
  }

  remove(load: QueuedLoad): void {
    load.isOver = true
    this.#of(load.urgency).delete(load)
  }

  #of(urgency: Urgency): Set<QueuedLoad> {
    return this.#byUrgency[urgency] as Set<QueuedLoad>
  }
}

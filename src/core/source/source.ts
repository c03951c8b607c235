/*
 * Room: source. What loads are run against, and how many of them at a time: in the whole fleet, as far as the store can
 * say.
 *
 * Reading order: source.ts (a source), load-queue.ts (its loads that wait for permits), permit.ts,
 * fleet-permits.ts (how a process comes by its permits), sources.ts (the sources of a cache); then pace.ts, adaptive-limit.ts and throttle.ts (what a source says of
 * itself).
 * core/contract/permits.ts says what processes tell each other.
 */
import type { Permits, Urgency } from '../contract/permits.ts'
import { CacheError, quoted } from '../errors.ts'
import type { SourcePlan } from '../options/source-plan.ts'
import { drawRandom, type Clock, type Timer } from '../time/clock.ts'
import { AdaptiveLimit } from './adaptive-limit.ts'
import { FleetPermits, type PermitNeed } from './fleet-permits.ts'
import { LoadQueue, QueuedLoad } from './load-queue.ts'
import { Pace } from './pace.ts'
import { Permit } from './permit.ts'
import { Throttle } from './throttle.ts'

/** How often the waits of a line are judged, in milliseconds. */
const judgeEvery = 250

/** A load that wants a permit. */
export interface Wanted {
  readonly key: string
  readonly urgency: Urgency
  /** When the last of its callers has no time left, by the clock; infinite if nobody waits. */
  readonly until: number
  /** The call for many keys that it is part of: its loads that wait together share a permit. */
  readonly batch: object | null
}

/** A source, and the permits of this process to load from it. */
export class Source {
  readonly name: string
  #plan: SourcePlan
  readonly #clock: Clock
  readonly #queue = new LoadQueue()
  readonly #throttle: Throttle
  readonly #adaptive: AdaptiveLimit | null
  readonly #running = new Set<Permit>()
  /** The place that loads of a batch may share. */
  readonly #batches = new WeakMap<object, QueuedLoad>()
  readonly #permits: FleetPermits
  #judging: Timer | null = null
  readonly #pace = new Pace()
  #lastError: unknown

  /**
   * @param options.permits the permits of the fleet; `null` if the store has none, and the limit is that of the process
   * @param options.who the name of this process in reports
   * @param options.timeout the deadline of a report, in milliseconds
   */
  constructor(
    name: string,
    plan: SourcePlan,
    options: { permits: Permits | null; clock: Clock; timeout: number; who: string },
  ) {
    const { clock } = options
    const { adaptive, concurrency } = plan
    this.name = name
    this.#plan = plan
    this.#clock = clock
    this.#throttle = new Throttle(clock)
    this.#adaptive =
      adaptive === null || concurrency === null ? null : new AdaptiveLimit({ ...adaptive, most: concurrency }, clock)
    const [need, grant] = [(): PermitNeed => this.#need, (count: number): number => this.#grant(count)]
    this.#permits = new FleetPermits({ ...options, source: name, need, grant })
  }

  /** Another cache of this process names other limits: the smaller ones count. */
  narrow({ concurrency, rate }: SourcePlan): void {
    const plan = this.#plan
    const least = Math.min(plan.concurrency ?? Infinity, concurrency ?? Infinity)
    const isSlower = rate !== null && (plan.rate === null || rate.loads / rate.per < plan.rate.loads / plan.rate.per)
    this.#plan = { ...plan, concurrency: least < Infinity ? least : null, rate: isSlower ? rate : plan.rate }
  }

  /** Its state in this process, for operators. */
  get seen(): {
    readonly running: number
    readonly oldest: number
    readonly queued: number
    readonly heldBack: number
  } {
    const now = this.#clock.now()
    // In the order in which they were granted.
    const [first] = this.#running
    return {
      running: this.#running.size,
      oldest: first === undefined ? 0 : now - first.since,
      queued: this.#queue.length,
      heldBack: this.#throttle.share,
    }
  }

  /** Asks for a permit. Returns a place in the line, or why there is none. */
  enter(wanted: Wanted): QueuedLoad | CacheError {
    const { urgency, batch, key } = wanted
    const shared = batch === null ? undefined : this.#batches.get(batch)
    if (shared !== undefined && !shared.isOver && shared.loads < this.#plan.maxBatch) {
      shared.loads++
      return shared
    }
    if (this.#plan.throttle && drawRandom(this.#clock) < this.#throttle.share) {
      this.#throttle.count(false)
      return this.#refused('failing', key)
    }
    // Some may be granted theirs at once.
    const room = Math.max(0, (this.#limit ?? 0) - this.#running.size)
    if (this.#queue.length >= this.#plan.maxQueued + room) {
      const other = this.#queue.lessUrgent(urgency)
      if (other === undefined) return this.#refused('full', key)
      other.end(this.#refused('full', key))
    }
    const now = this.#clock.now()
    if (now + this.#waitOf(this.#queue.before(urgency), urgency) > wanted.until) return this.#refused('late', key)
    const place = new QueuedLoad(this.#queue, wanted)
    this.#queue.add(place)
    if (batch !== null) this.#batches.set(batch, place)
    this.#judging ??= this.#clock.after(judgeEvery, this.#judge, 'background')
    this.#permits.changed()
    return place
  }

  /**
   * A load of a permit has ended: what it says of the source.
   * @param took in milliseconds
   * @param error what the loader threw, if that is a failure
   */
  ended(took: number, error?: unknown): void {
    this.#pace.ended(took)
    this.#adaptive?.ended(error)
    this.#throttle.count(error === undefined)
    if (error !== undefined) this.#lastError = error
  }

  over(permit: Permit): void {
    this.#running.delete(permit)
    this.#permits.givenBack()
  }

  /** Ends the use of the source. What still runs is held for some more seconds; no more is sent. */
  async close(): Promise<void> {
    this.#judging?.cancel()
    for (const place of this.#queue.all()) place.end(this.#refused('full', this.name))
    await this.#permits.close()
  }

  get #limit(): number | null {
    return this.#adaptive?.now ?? this.#plan.concurrency
  }

  get #need(): PermitNeed {
    const { urgency, length: wants } = this.#queue.front
    return { concurrency: this.#limit, rate: this.#plan.rate, held: this.#running.size, wants, urgency }
  }

  /** How long a load would wait for its permit, in milliseconds; 0 if that is not known. */
  #waitOf(before: number, urgency: Urgency): number {
    const { users, permits } = this.#permits.waiting
    // Those of one urgency take turns; of the others, no more can come before it than there are.
    const ahead = before + Math.min(permits, (before + 1) * users)
    return this.#pace.waitOf(
      ahead,
      { running: this.#running.size, oldest: urgency === 0 ? this.seen.oldest : 0 },
      this.#plan,
    )
  }

  /** Ends the waits that cannot end in time. */
  readonly #judge = (): void => {
    this.#judging = null
    const now = this.#clock.now()
    let before = 0
    for (const place of this.#queue.awaited()) {
      if (now + this.#waitOf(before, 0) > place.until) place.end(this.#refused('late', this.name))
      else before++
    }
    if (this.#queue.length > 0) this.#judging = this.#clock.after(judgeEvery, this.#judge, 'background')
  }

  #refused(why: 'full' | 'late' | 'failing', key: string): CacheError {
    const queued = this.#queue.length
    const retryAfter = Math.max(1_000, Math.ceil(this.#waitOf(queued, 0)))
    const source = quoted(this.name)
    const message = {
      full: `${queued} loads of the source ${source} wait already: too many to load ${quoted(key)} as well`,
      late: `${quoted(key)} cannot be loaded in time: ${queued} loads of the source ${source} wait`,
      failing: `${quoted(key)} is not loaded: most loads of the source ${source} fail`,
    }[why]
    const cause = why === 'failing' ? { cause: this.#lastError } : {}
    return new CacheError('OVERLOADED', message, { key, retryAfter, ...cause })
  }

  /** Gives permits to the first in the line. Returns how many nobody wanted any more. */
  #grant(count: number): number {
    let left = count
    for (; left > 0; left--) {
      const place = this.#queue.shift()
      if (place === undefined) return left
      const permit = new Permit(this, place.loads, this.#clock.now())
      this.#running.add(permit)
      place.end(permit)
    }
    return 0
  }
}

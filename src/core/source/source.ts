/*
 * Room: source. What loads are run against, and how many of them at a time: in the whole fleet, as far as the store can
 * say.
 *
 * Reading order: core/contract/permits.ts (what processes tell each other), source.ts (a source), load-queue.ts (its
 * loads that wait for permits), permit.ts, fleet-permits.ts and rate-window.ts (how a process comes by its permits),
 * sources.ts (the sources of a cache); then pace.ts, adaptive-limit.ts and throttle.ts (what a source says of itself).
 */
import type { Permits, Urgency } from '../contract/permits.ts'
import { CacheError, quoted } from '../errors.ts'
import type { SourcePlan } from '../options/source-plan.ts'
import { drawRandom, type Clock, type Timer } from '../time/clock.ts'
import { AdaptiveLimit } from './adaptive-limit.ts'
import { FleetPermits, type PermitNeed } from './fleet-permits.ts'
import { LoadQueue, QueuedLoad, type Wanted } from './load-queue.ts'
import { Pace } from './pace.ts'
import { Permit } from './permit.ts'
import { Throttle } from './throttle.ts'

/** How often it is judged whether the loads in the queue can begin in time, in milliseconds. */
const judgeEvery = 250

/** How a process uses a source now. */
export interface SourceUse {
  readonly source: string
  readonly held: number
  /** How long it has held the oldest permit, in milliseconds. */
  readonly oldest: number
  readonly queued: number
}

/** A source, and the permits of this process to load from it. */
export class Source {
  readonly name: string
  /** The limits of all caches that use it. */
  plan: SourcePlan
  readonly #clock: Clock
  readonly #queue = new LoadQueue()
  readonly #throttle: Throttle
  readonly #adaptive: AdaptiveLimit
  readonly #running = new Set<Permit>()
  /** The loads that may not wait, and for how many of them the report under way asks. */
  readonly #hasty: QueuedLoad[] = []
  #askedHasty = 0
  /** The load in the queue with which others of its call for many keys may share a permit. */
  readonly #batches = new WeakMap<object, QueuedLoad>()
  readonly #permits: FleetPermits
  readonly #whenBack = new Set<() => void>()
  readonly #listeners = new Set<(state: SourceUse) => void>()
  #judging: Timer | null = null
  /** How long it has been judged, in milliseconds: no time in which the process stood still. */
  #judged = 0
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
    this.name = name
    this.plan = plan
    this.#clock = clock
    this.#throttle = new Throttle(clock)
    this.#adaptive = new AdaptiveLimit(clock)
    this.#permits = new FleetPermits({
      ...options,
      source: name,
      need: () => this.#need,
      grant: (count) => {
        const left = this.#grant(count)
        this.#refuseHasty()
        return left
      },
      back: () => this.#whenBack.forEach((run) => run()),
      reported: ({ held, oldest }) => {
        this.#askedHasty = this.#hasty.length
        const use = { source: name, held, oldest, queued: this.#queue.length }
        for (const listener of this.#listeners) listener(use)
      },
    })
  }

  /** How many loads of this process wait for a permit. */
  get queued(): number {
    return this.#queue.length
  }

  /** Calls `listener` with what this process holds whenever that is reported; returns a function that stops it. */
  onReport(listener: (state: SourceUse) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Calls `run` when the store answers again, until the returned function is called. */
  whenBack(run: () => void): () => void {
    this.#whenBack.add(run)
    return () => void this.#whenBack.delete(run)
  }

  /**
   * Asks for a permit.
   * @param batch the call for many keys that the load is part of: its loads that wait together share a permit
   * @returns the load in the queue, or why it may not wait
   */
  enter(wanted: Wanted, batch: object | null): QueuedLoad | CacheError {
    const { urgency, key } = wanted
    const shared = batch === null ? undefined : this.#batches.get(batch)
    if (shared !== undefined && !shared.isOver && shared.loads < this.plan.maxBatch) {
      shared.loads++
      if (urgency === 0) shared.joined(wanted.until)
      return shared
    }
    if (this.plan.throttle && drawRandom(this.#clock) < this.#throttle.share) {
      this.#throttle.count(false)
      return this.#refused('failing', key)
    }
    const { length } = this.#queue
    const { maxQueued } = this.plan
    // Some may be granted theirs at once.
    if (length >= maxQueued && length >= maxQueued + this.#permits.roomAmong(1)) {
      const other = this.#queue.lessUrgent(urgency)
      if (other === undefined) return this.#refused('full', key)
      other.end(this.#refused('full', other.key))
    }
    const now = this.#clock.now()
    if (now + this.#waitOf(this.#queue.before(urgency), urgency) > wanted.until) return this.#refused('late', key)
    const load = new QueuedLoad(this.#queue, wanted)
    this.#queue.add(load)
    if (!wanted.mayWait) this.#hasty.push(load)
    if (batch !== null) this.#batches.set(batch, load)
    this.#judging ??= this.#clock.after(judgeEvery, this.#judge, 'background')
    this.#permits.changed()
    return load
  }

  /**
   * A load of a permit has ended: what it says of the source.
   * @param took in milliseconds
   * @param error what the loader threw, if that is a failure
   */
  ended(took: number, error?: unknown): void {
    this.#pace.ended(took)
    const { adaptive, concurrency } = this.plan
    if (adaptive !== null && concurrency !== null) this.#adaptive.ended(adaptive, concurrency, error)
    this.#throttle.count(error === undefined)
    if (error !== undefined) this.#lastError = error
  }

  /** All loads of a permit have ended. */
  over(permit: Permit): void {
    this.#running.delete(permit)
    this.#permits.givenBack()
  }

  /** Ends the use of the source. What still runs is held for some more seconds; no more is sent. */
  async close(): Promise<void> {
    this.#judging?.cancel()
    await this.#permits.close()
  }

  get #limit(): number | null {
    const { adaptive, concurrency } = this.plan
    return adaptive === null || concurrency === null ? concurrency : this.#adaptive.under(concurrency)
  }

  /** How long the oldest of its loads has been running at least, in milliseconds, while others waited. */
  get #oldest(): number {
    // In the order in which they were granted.
    const [first] = this.#running
    return first === undefined ? 0 : Math.max(0, this.#judged - first.judged - judgeEvery)
  }

  get #need(): PermitNeed {
    const { urgency, length: wants } = this.#queue.front
    const [first] = this.#running
    const oldest = first === undefined ? 0 : this.#clock.now() - first.at
    return { concurrency: this.#limit, rate: this.plan.rate, held: this.#running.size, oldest, wants, urgency }
  }

  /** How long a load would wait for its permit, in milliseconds; 0 if that is not known. */
  #waitOf(before: number, urgency: Urgency): number {
    const { users, permits } = this.#permits.waiting
    // Those of one urgency take turns; of the others, no more can come before it than there are.
    const ahead = before + Math.min(permits, (before + 1) * users)
    // A refresh may wait for as long as it takes.
    const oldest = urgency === 0 ? this.#oldest : 0
    const limits = { concurrency: this.#limit, rate: this.plan.rate }
    return this.#pace.waitOf(ahead, { running: this.#running.size, oldest }, limits)
  }

  /** Ends the waits that cannot end in time. */
  readonly #judge = (): void => {
    this.#judging = null
    this.#judged += judgeEvery
    const now = this.#clock.now()
    let before = 0
    for (const load of this.#queue.awaited) {
      if (now + this.#waitOf(before, 0) > load.until) load.end(this.#refused('late', load.key))
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

  /** Ends the waits of those that may not wait, and were asked for in vain. */
  #refuseHasty(): void {
    for (const load of this.#hasty.splice(0, this.#askedHasty)) {
      if (!load.isOver) load.end(this.#refused('full', load.key))
    }
    this.#askedHasty = 0
  }

  /** Gives permits to the first in the queue; returns how many are left. */
  #grant(count: number): number {
    let left = count
    for (; left > 0; left--) {
      const { first } = this.#queue
      if (first === undefined) return left
      const permit = new Permit(this, first.loads, { at: this.#clock.now(), judged: this.#judged })
      this.#running.add(permit)
      first.end(permit)
    }
    return 0
  }
}

/*
 * Room: source. What loads are run against, and how many of them at a time: in the whole fleet, as far as the store can
 * say.
 *
 * Reading order: source.ts (a source, and the permits of this process), line.ts (its loads that wait for permits),
 * permit.ts, sources.ts (the sources of a cache); then adaptive-limit.ts and throttle.ts (what a source says of itself).
 * core/contract/permits.ts says what processes tell each other.
 */
import type { PermitAnswer, Permits, Urgency } from '../contract/permits.ts'
import { CacheError, quoted } from '../errors.ts'
import type { SourcePlan } from '../options/source-plan.ts'
import { drawRandom, spread, timers, type Clock, type Timer } from '../time/clock.ts'
import { withDeadline } from '../time/deadline.ts'
import { AdaptiveLimit } from './adaptive-limit.ts'
import { Line, Place } from './line.ts'
import { Permit } from './permit.ts'
import { Throttle } from './throttle.ts'

/** How long a held permit is held without another report, in milliseconds; a report goes out four times as often. */
const held = 4_000
const reportEvery = 1_000

/** How often a process reports again while loads wait, in milliseconds, ± 25 %: a message may have been lost. */
const whilePushed = 350
const whilePolling = 50

/** How long a process counts as a user of a source after its last load, in milliseconds. */
const keep = 60_000

/** How often the waits of a line are judged, in milliseconds. */
const judgeEvery = 250

/** How much a new load changes the mean time of loads. */
const newest = 0.1

/** A load that wants a permit. */
export interface Wanted {
  readonly key: string
  readonly urgency: Urgency
  /** When the last of its callers has no time left, by the clock; infinite if nobody waits. */
  readonly until: number
  /** The call for many keys that it is part of: its loads that wait together share a permit. */
  readonly batch: object | null
}

/** Why a load gets no permit. */
export interface Refusal {
  readonly why: 'full' | 'late' | 'failing'
  readonly key: string
  readonly queued: number
  /** After how long it may be worth to ask again, in milliseconds. */
  readonly retryAfter: number
}

/** A source, and the permits of this process to load from it. */
export class Source {
  readonly name: string
  #plan: SourcePlan
  readonly #permits: Permits | null
  readonly #clock: Clock
  readonly #timeout: number
  readonly #who: string
  readonly #line = new Line()
  readonly #throttle: Throttle
  readonly #adaptive: AdaptiveLimit | null
  readonly #running = new Set<Permit>()
  /** The place that loads of a batch may share. */
  readonly #batches = new WeakMap<object, Place>()
  #seq = 0
  #state: 'idle' | 'due' | 'reporting' = 'idle'
  /** Whether something has changed that the last report does not say. */
  #isNews = false
  #timer: Timer | null = null
  #judging: Timer | null = null
  /** Whether it goes on without the store, which does not answer or knows no permits. */
  #isAway: boolean
  #isGranting = false
  #isClosed = false
  #last: PermitAnswer | null = null
  #answeredAt = Number.NEGATIVE_INFINITY
  /** The mean time of a load, in milliseconds; 0 before the first has ended. */
  #loadTime = 0
  #lastError: unknown

  /**
   * @param options.permits the permits of the fleet; `null` if the store has none, and the limit is that of the process
   * @param options.who its name in reports
   * @param options.timeout the deadline of a report, in milliseconds
   */
  constructor(
    name: string,
    plan: SourcePlan,
    options: { permits: Permits | null; clock: Clock; timeout: number; who: string },
  ) {
    this.name = name
    this.#plan = plan
    this.#permits = options.permits
    this.#clock = options.clock
    this.#timeout = options.timeout
    this.#who = options.who
    this.#isAway = options.permits === null
    this.#throttle = new Throttle(options.clock)
    const { adaptive, concurrency } = plan
    this.#adaptive =
      adaptive === null || concurrency === null
        ? null
        : new AdaptiveLimit({ ...adaptive, most: concurrency }, options.clock)
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
    const oldest = [...this.#running].reduce((age, { since }) => Math.max(age, now - since), 0)
    return { running: this.#running.size, oldest, queued: this.#line.length, heldBack: this.#throttle.share }
  }

  /** Asks for a permit. Returns a place in the line, or why there is none. */
  enter(wanted: Wanted): Place | CacheError {
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
    if (this.#line.length >= this.#plan.maxQueued + room) {
      const other = this.#line.lessUrgent(urgency)
      if (other === undefined) return this.#refused('full', key)
      other.end(this.#refused('full', key))
    }
    const now = this.#clock.now()
    if (now + this.#waitOf(this.#line.before(urgency), urgency) > wanted.until) return this.#refused('late', key)
    const place = new Place(this.#line, wanted)
    this.#line.add(place)
    if (batch !== null) this.#batches.set(batch, place)
    this.#judging ??= this.#clock.after(judgeEvery, this.#judge, 'background')
    this.#news()
    return place
  }

  /**
   * A load of a permit has ended: what it says of the source.
   * @param took in milliseconds
   * @param error what the loader threw, if that is a failure
   */
  ended(took: number, error?: unknown): void {
    this.#loadTime = this.#loadTime === 0 ? took : this.#loadTime + newest * (took - this.#loadTime)
    this.#adaptive?.ended(error)
    this.#throttle.count(error === undefined)
    if (error !== undefined) this.#lastError = error
  }

  over(permit: Permit): void {
    this.#running.delete(permit)
    if (this.#mayKeep) this.#grant(1)
    else this.#news()
  }

  /** Ends the use of the source. What still runs is held for some more seconds; no more is sent. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#timer?.cancel()
    this.#judging?.cancel()
    for (const place of this.#line.all()) place.end(this.#refused('full', this.name))
    this.#permits?.forget(this.#who)
    // Nobody else would know that it has left.
    if (this.#seq > 0 && !this.#isAway) await this.#send(0, 0).catch(() => null)
  }

  /** How long a load would wait for its permit, in milliseconds; 0 if that is not known. */
  #waitOf(before: number, urgency: Urgency): number {
    const { concurrency, rate } = this.#plan
    const { users, permits } = this.#last?.waiting ?? { users: 0, permits: 0 }
    // Those of one urgency take turns; of the others, no more can come before it than there are.
    const turns = before + Math.min(permits, (before + 1) * users)
    const oldest = urgency === 0 ? this.seen.oldest : 0
    const loadTime = Math.max(this.#loadTime, this.#loadTime === 0 ? 0 : oldest)
    const byPlaces =
      concurrency === null ? 0 : (Math.max(0, turns + this.#running.size + 1 - concurrency) / concurrency) * loadTime
    const byRate = rate === null ? 0 : (Math.max(0, turns + 1 - rate.loads) / rate.loads) * rate.per
    return Math.max(byPlaces, byRate)
  }

  /** Ends the waits that cannot end in time. */
  readonly #judge = (): void => {
    this.#judging = null
    const now = this.#clock.now()
    let before = 0
    for (const place of this.#line.awaited()) {
      if (now + this.#waitOf(before, 0) > place.until) place.end(this.#refused('late', this.name))
      else before++
    }
    if (this.#line.length > 0) this.#judging = this.#clock.after(judgeEvery, this.#judge, 'background')
  }

  #refused(why: Refusal['why'], key: string): CacheError {
    const queued = this.#line.length
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

  /**
   * Whether the next load of this process may have a permit that has become free, without a report: callers wait for it,
   * and the process holds no more than its share beside the others that wait.
   */
  get #mayKeep(): boolean {
    if (this.#isAway || this.#last === null || this.#plan.rate !== null) return false
    const { concurrency, waiting } = this.#last
    const { urgency, length } = this.#line.front
    if (length === 0 || urgency > 0 || this.#clock.now() > this.#answeredAt + reportEvery) return false
    return this.#running.size < Math.ceil((concurrency ?? Number.POSITIVE_INFINITY) / (waiting.users + 1))
  }

  /** Something has changed: it is reported at the end of the tick, or once the report under way is answered. */
  #news(): void {
    if (this.#isClosed) return
    if (this.#isAway) this.#goOnAlone()
    this.#isNews = true
    if (this.#state !== 'idle' || (this.#isAway && this.#timer !== null)) return
    this.#state = 'due'
    timers.nextTick(() => void this.#report())
  }

  /** Without the store, nobody is asked, and nobody waits for an answer. */
  #goOnAlone(): void {
    if (this.#isGranting) return
    this.#isGranting = true
    timers.nextTick(() => {
      this.#isGranting = false
      if (this.#isAway && !this.#isClosed) this.#grant(this.#alone - this.#running.size)
    })
  }

  async #report(): Promise<void> {
    this.#timer?.cancel()
    this.#timer = null
    this.#state = 'reporting'
    this.#isNews = false
    const { urgency, length } = this.#line.front
    const answer = await this.#send(length, urgency).catch(() => null)
    this.#state = 'idle'
    if (this.#isClosed) return
    this.#isAway = answer === null
    if (answer === null) this.#goOnAlone()
    else {
      this.#last = answer
      this.#answeredAt = this.#clock.now()
      // What was granted and is not wanted any more must be given back.
      if (this.#grant(answer.granted) > 0) this.#isNews = true
    }
    this.#wait()
    if (this.#isNews && !this.#isAway) this.#news()
  }

  #send(wants: number, urgency: Urgency): Promise<PermitAnswer | null> {
    const permits = this.#permits
    if (permits === null) return Promise.resolve(null)
    const { rate } = this.#plan
    const report = {
      source: this.name,
      who: this.#who,
      seq: ++this.#seq,
      held: this.#running.size,
      wants,
      urgency,
      concurrency: this.#limit,
      rate,
      ttl: held,
      keep: this.#isClosed ? 0 : keep,
      known: this.#clock.now() < this.#answeredAt + keep ? (this.#last?.users ?? 0) : 0,
    }
    return withDeadline(() => permits.report(report, () => this.#news()), { most: this.#timeout, clock: this.#clock })
  }

  get #limit(): number | null {
    return this.#adaptive?.now ?? this.#plan.concurrency
  }

  /** How many permits it has without the store: its share, as far as it knows the others. */
  get #alone(): number {
    const limit = this.#limit
    if (limit === null) return this.#running.size + this.#line.length
    if (this.#permits === null) return limit
    return Math.max(1, Math.floor(limit / Math.max(1, this.#last?.users ?? 1)))
  }

  /** Gives permits to the first in the line. Returns how many nobody wanted any more. */
  #grant(count: number): number {
    let left = count
    for (; left > 0; left--) {
      const place = this.#line.shift()
      if (place === undefined) return left
      const permit = new Permit(this, place.loads, this.#clock.now())
      this.#running.add(permit)
      place.end(permit)
    }
    return 0
  }

  /** Reports again later: for the permits that it holds, or because a message may have been lost. */
  #wait(): void {
    if (this.#permits === null || this.#timer !== null) return
    const waits = this.#line.length > 0
    if (!waits && this.#running.size === 0) return
    const { pushed = true, again = null } = this.#last ?? {}
    const usual = waits
      ? spread(pushed || this.#isAway ? whilePushed : whilePolling, drawRandom(this.#clock))
      : reportEvery
    this.#timer = this.#clock.after(Math.min(usual, waits ? (again ?? usual) : usual), this.#due, 'background')
  }

  readonly #due = (): void => {
    this.#timer = null
    this.#news()
  }
}

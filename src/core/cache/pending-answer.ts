import { clockTolerance, type FoundEntry, type ReadResult } from './reads.ts'
import type { Events } from '../observe/events.ts'
import type { CallRequest, Stale } from '../load/loader.ts'
import type { Flights } from '../load/flights.ts'
import type { CausalTime, Clock, Timer } from '../time/clock.ts'
import type { FlightOutcome } from '../load/complete.ts'
import type { CacheError } from '../errors.ts'
import { answerOf } from '../load/failures.ts'

/** A promise that its owner settles and an AbortSignal may reject, with timers that end with it. */
export class PendingAnswer {
  readonly answer: Promise<unknown>
  readonly #clock: Clock
  readonly #since: number
  readonly #signal: AbortSignal | undefined
  readonly #onEnd: () => void
  #onAbort: (() => void) | null = null
  #timers: Timer[] | null = null
  #settled = false
  #resolve!: (value: unknown) => void
  #reject!: (error: unknown) => void

  /**
   * @param options.since when the caller asked, by the clock: `after` counts from there
   * @param onEnd called once, when there is an answer
   */
  constructor(
    options: { readonly clock: Clock; readonly since: number; readonly signal: AbortSignal | undefined },
    onEnd: () => void = () => undefined,
  ) {
    this.#clock = options.clock
    this.#since = options.since
    this.#signal = options.signal
    this.#onEnd = onEnd
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    if (this.#signal === undefined) return
    this.#onAbort = () => this.reject(this.#signal?.reason)
    this.#signal.addEventListener('abort', this.#onAbort)
  }

  get settled(): boolean {
    return this.#settled
  }

  /** Calls `run` once `ms` milliseconds have passed since the caller asked, unless there is an answer by then. */
  after(ms: number, run: () => void): void {
    this.#timers ??= []
    this.#timers.push(this.#clock.after(Math.max(0, this.#since + ms - this.#clock.now()), run))
  }

  resolve(value: unknown): void {
    if (this.#end()) this.#resolve(value)
  }

  reject(error: unknown): void {
    if (this.#end()) this.#reject(error)
  }

  #end(): boolean {
    if (this.#settled) return false
    this.#settled = true
    for (const timer of this.#timers ?? []) timer.cancel()
    if (this.#onAbort !== null) this.#signal?.removeEventListener('abort', this.#onAbort)
    this.#onEnd()
    return true
  }
}

/** What a caller has already seen of its key, if an earlier call had no answer for it. */
export interface CallPast {
  /** Whether it has been counted as a miss. */
  readonly missed: boolean
  /** The token of the load that it has waited for. */
  readonly awaited: string | null
}

/**
 * Where a call begins. `unread`: the key has not been read yet; a read that was made already, or its error; `pass`: the
 * result of the load is not shared; `no lease`: too many flights had no good answer.
 */
export type CallStart = 'unread' | ReadResult | CacheError | 'pass' | 'no lease'

/** The end of a call, for its caller and its followers. */
export type CallEnd =
  /** A fresh value, read after all of them had asked. */
  | { readonly state: 'hit'; readonly read: FoundEntry }
  /** A stale value, served in place of a fresh one. */
  | { readonly state: 'stale'; readonly stale: Stale }
  /** A loaded value, as a flight ends with it. */
  | Extract<FlightOutcome, { state: 'value' }>
  /** An error, good for callers that asked before `currentAsOf`. */
  | { readonly state: 'failed'; readonly error: unknown; readonly currentAsOf: CausalTime }
  /** The answer will be for the caller alone: each follower goes on from here. */
  | { readonly state: 'dismissed'; readonly from: CallStart }

/** Good for callers whenever they asked. */
export const always: number = Number.POSITIVE_INFINITY

/**
 * Whether the end of a call is good for a caller.
 * @param askedAtMs by the clock
 */
export function isGoodFor(end: CallEnd, { askedAt, askedAtMs }: { askedAt: CausalTime; askedAtMs: number }): boolean {
  switch (end.state) {
    case 'value':
      return askedAt < end.currentAsOf && end.freshUntil > askedAtMs - clockTolerance
    case 'failed':
      return askedAt < end.currentAsOf
    case 'dismissed':
      return false
    default:
      return true
  }
}

/**
 * Gives a caller the value of the end of a call, and reports it.
 * @throws what the loader threw, if that is the answer
 */
export function give(
  end: CallEnd,
  request: CallRequest,
  missed: boolean,
  { events, flights }: { readonly events: Events; readonly flights: Flights },
): unknown {
  switch (end.state) {
    case 'hit':
      events.hit(request.key, missed)
      flights.refreshAhead(request, end.read.entry, end.read.value)
      return answerOf(end.read.value)
    case 'stale':
      events.stale(request.key, end.stale.age, missed)
      return answerOf(end.stale.value)
    case 'value':
      return answerOf(end.value)
    default:
      return undefined
  }
}

/** The followers that asked within the same millisecond. */
interface Group {
  /** When the first and the last of them asked, by the clock. */
  readonly since: number
  askedAtMs: number
  count: number
  readonly ended: Promise<CallEnd>
  readonly end: (end: CallEnd) => void
}

/** The callers that wait for the end of another caller's call. Those of one millisecond share a promise. */
export class Followers {
  /** In the order in which they asked. */
  #groups: Group[] = []

  get count(): number {
    return this.#groups.reduce((sum, { count }) => sum + count, 0)
  }

  /** When the first of them asked, by the clock; `null` if there are none. */
  get firstAskedAtMs(): number | null {
    return this.#groups[0]?.askedAtMs ?? null
  }

  /** When the last of them asked, by the clock; `null` if there are none. */
  get lastAskedAtMs(): number | null {
    return this.#groups.at(-1)?.askedAtMs ?? null
  }

  /** Adds a caller, after those that asked earlier; resolves with the end of the call. */
  add(askedAtMs: number): Promise<CallEnd> {
    let group = this.#groups.at(-1)
    if (group === undefined || askedAtMs - group.since >= 1) {
      let end!: (end: CallEnd) => void
      const ended = new Promise<CallEnd>((resolve) => (end = resolve))
      group = { since: askedAtMs, askedAtMs, count: 0, ended, end }
      this.#groups.push(group)
    }
    group.askedAtMs = askedAtMs
    group.count++
    return group.ended
  }

  /** Ends the wait of the followers that asked before a moment of the clock. */
  end(end: CallEnd, before: number = always): void {
    const left = this.#groups.filter(({ askedAtMs }) => askedAtMs >= before)
    const over = this.#groups.slice(0, this.#groups.length - left.length)
    this.#groups = left
    for (const group of over) group.end(end)
  }
}

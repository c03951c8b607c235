import type { LoadNode } from '../load/circular-load.ts'
import { CacheError, closedError, quoted } from '../errors.ts'
import { errorForCallers, ledToCaller } from '../load/failures.ts'
import type { CallRequest } from '../load/loader.ts'
import {
  always,
  Followers,
  give,
  isGoodFor,
  PendingAnswer,
  type CallEnd,
  type CallPast,
  type CallStart,
} from './pending-answer.ts'
import type { ReadResult, Reads } from './reads.ts'
import { KnownValue, Search, type Searcher, type SearchParts } from './search.ts'
import type { Timer } from '../time/clock.ts'
import type { Events } from '../observe/events.ts'

/** The parts that the calls of one cache share. */
export interface CallParts extends SearchParts {
  readonly reads: Reads<Call>
  readonly events: Events
  /** The deadline of a read, in milliseconds. */
  readonly commandTimeout: number
}

/** The calls of the cache, among them this one. */
export interface CallHost {
  /** Answers a caller for which the call that it followed had no answer. */
  ask(request: CallRequest, from: CallStart, past: CallPast): Promise<unknown>
  /** A call begins its first read, with which most calls end. */
  readingBegan(): void
  /** The first read is over. Returns whether the cache is still open. */
  readingEnded(): boolean
  /** A call goes on after its first read, or without one. */
  opened(call: Call): void
  /** A call has ended, for its caller and its followers. */
  ended(call: Call): void
}

/** A timer may ring this much too early, in milliseconds. */
const early = 1

/**
 * One call beyond the near cache: it reads, then joins or starts flights of its key, until an answer is good for it or
 * its patience ends. Later callers that want the same may follow it, which is cheaper than a call of their own.
 */
export class Call implements Searcher {
  readonly #parts: CallParts
  readonly #host: CallHost
  readonly request: CallRequest
  /** The load whose loader is the caller. */
  readonly parent: LoadNode | null
  /** `null` during the first read. */
  #pending: PendingAnswer | null = null
  /** `reading`: it waits for its first read. */
  #state: 'reading' | 'searching' | 'over' = 'searching'
  #followers: Followers | null = null
  /** How many followers have not been counted as misses yet. */
  #unmissed = 0
  /** The end of the patience of the first followers, once that of the caller is over. */
  #deadline: Timer | null = null
  readonly known: KnownValue
  /** `null` during the first read. */
  #search: Search | null = null
  #missed = false

  constructor(parts: CallParts, host: CallHost, request: CallRequest, parent: LoadNode | null) {
    this.#parts = parts
    this.#host = host
    this.request = request
    this.parent = parent
    this.known = new KnownValue(request, parts.clock)
  }

  get key(): string {
    return this.request.key
  }

  /**
   * Whether other callers may follow it. A call with a signal or within a loader may end for a reason of its own, and a
   * refresh must not be answered with the existing value.
   */
  get leads(): boolean {
    const { signal, refresh } = this.request
    return this.parent === null && signal === undefined && !refresh
  }

  /** How many callers wait for its answer. */
  get callers(): number {
    return (this.#followers?.count ?? 0) + (this.#isAnswered ? 0 : 1)
  }

  /** Starts the call; resolves with the caller's answer. */
  start(from: CallStart, past: CallPast): Promise<unknown> {
    const { plan, signal, askedAtMs } = this.request
    const { reads, commandTimeout } = this.#parts
    this.#missed = past.missed
    if (past.awaited !== null) this.known.awaits(past.awaited, askedAtMs)
    if (from !== 'unread') return this.#open(from)
    if (this.#joinsAtOnce()) return this.#open(null)
    this.#state = 'reading'
    const read = reads.read(this.request, this.leads ? this : null)
    // Else the caller's patience may end before the read does.
    if (signal === undefined && plan.waitTimeout > commandTimeout) {
      this.#host.readingBegan()
      return read.then(this.#afterRead, this.#afterRead)
    }
    const { answer } = this.#openPending()
    const goOn = (result: ReadResult | CacheError): void => {
      if (!this.isOver) this.#goOn(result)
    }
    read.then(goOn, goOn)
    return ledToCaller(answer)
  }

  /** Whether a caller may follow this call: the answer will most probably be good for it, too. */
  admits({ plan, askedAtMs }: CallRequest): boolean {
    const { key, plan: own } = this.request
    const latest = this.#followers?.lastAskedAtMs ?? this.request.askedAtMs
    if (plan !== own || this.#isAnswered || askedAtMs < latest) return false
    const { flights, reads } = this.#parts
    if (this.#state === 'reading') return this === reads.leaderOf(key)
    // A stale value may be older than what a later caller knows of.
    const flight = this.#search?.flight ?? null
    return flight !== null && flight === flights.joinable(key, plan) && !flight.hasStale && !this.known.hasStale
  }

  /** Adds a caller; resolves with its answer. */
  follow(request: CallRequest, { missed }: CallPast): Promise<unknown> {
    if (this.#state === 'reading') this.#unmissed += missed ? 0 : 1
    else {
      const { key } = request
      if (!missed) this.#parts.events.emit('miss', { key })
      this.#parts.events.joined(key, 1)
    }
    const ended = (this.#followers ??= new Followers()).add(request.askedAtMs)
    return ended.then((end) => this.#answerFollower(request, missed || this.#missed, end))
  }

  /** Ends this call in any state. */
  giveUp(error: unknown): void {
    this.#end({ state: 'failed', error, currentAsOf: always })
  }

  get #isAnswered(): boolean {
    return this.#pending?.settled ?? false
  }

  get isOver(): boolean {
    return this.#isAnswered && (this.#followers?.firstAskedAtMs ?? null) === null
  }

  /** A flight is under way and has no stale value: a read would find nothing, so join the flight at once. */
  #joinsAtOnce(): boolean {
    const { key, plan, refresh } = this.request
    return !refresh && this.#parts.flights.joinable(key, plan)?.hasStale === false
  }

  /** Answers with the result of the first read, or goes on. */
  readonly #afterRead = (read: ReadResult | CacheError): unknown => {
    if (!this.#host.readingEnded()) {
      const error = closedError(this.key)
      this.#followers?.end({ state: 'failed', error, currentAsOf: always })
      throw error
    }
    const end = this.#endOfFirst(read)
    if (end === null) {
      const { answer } = this.#openPending()
      this.#seek(read)
      return ledToCaller(answer)
    }
    this.#state = 'over'
    this.#followers?.end(end)
    return give(end, this.request, this.#missed, this.#parts)
  }

  #open(from: Exclude<CallStart, 'unread'> | null): Promise<unknown> {
    const { answer } = this.#openPending()
    this.#goOn(from)
    return ledToCaller(answer)
  }

  #openPending(): PendingAnswer {
    const { askedAtMs: since, signal, plan } = this.request
    const { clock } = this.#parts
    this.#host.opened(this)
    this.#pending = new PendingAnswer({ clock, since, signal }, () => this.#answered())
    this.#pending.after(plan.waitTimeout, () => this.#timeOut())
    if (this.known.stale !== null) this.#serveStaleSoon()
    return this.#pending
  }

  #goOn(from: Exclude<CallStart, 'unread'> | null): void {
    const end = this.#endOfFirst(from)
    if (end === null) this.#seek(from)
    else this.#end(end)
  }

  /** As `endOf`, for the read with which the call began, if it began with one. */
  #endOfFirst(read: Exclude<CallStart, 'unread'> | null): CallEnd | null {
    if (read === null || typeof read === 'string' || read instanceof CacheError) return null
    if (this.request.refresh) this.known.replace(read)
    return this.endOf(read)
  }

  /** Seeks an answer beyond a value that could be served at once. */
  #seek(from: Exclude<CallStart, 'unread'> | null): void {
    this.#state = 'searching'
    this.#countMisses()
    this.#search = new Search(this.#parts, this)
    this.#search.run(from).then(
      (end) => this.#end(end),
      (error: unknown) => this.giveUp(error),
    )
  }

  /** The end of the call with the value of a read; a stale one is refreshed in the background. */
  endOf(read: ReadResult): CallEnd | null {
    const end = this.known.endOf(read)
    if (end?.state === 'stale') this.#parts.flights.refresh(this.request, this.known.existing)
    if (end === null && this.known.stale !== null) this.#serveStaleSoon()
    return end
  }

  /** Ends the call for its caller and its followers. */
  #end(end: CallEnd): void {
    const stale = end.state === 'failed' && !isOwnError(end.error) ? this.known.stale : null
    const told = stale === null ? withErrorForCallers(end) : { state: 'stale' as const, stale }
    this.#followers?.end(told)
    if (!this.#isAnswered) {
      if (told.state === 'failed') this.#pending?.reject(told.error)
      else this.#give(told)
    }
    this.#leaveHost()
  }

  #give(end: CallEnd): void {
    try {
      this.#pending?.resolve(give(end, this.request, this.#missed, this.#parts))
    } catch (thrown) {
      this.#pending?.reject(thrown)
    }
  }

  #answerFollower(request: CallRequest, missed: boolean, end: CallEnd): unknown {
    if (!isGoodFor(end, request)) {
      const from = end.state === 'dismissed' ? end.from : 'unread'
      return this.#host.ask(request, from, { missed, awaited: end.state === 'value' ? end.token : null })
    }
    if (missed) this.#reportAnswer(request)
    if (end.state === 'failed') throw end.error
    return give(end, request, missed, this.#parts)
  }

  #reportAnswer({ key, askedAtMs }: CallRequest): void {
    const { events, clock } = this.#parts
    if (events.heard('answer')) events.emit('answer', { key, duration: clock.now() - askedAtMs })
  }

  #countMisses(): void {
    const { events } = this.#parts
    const { key } = this.request
    for (; this.#unmissed > 0; this.#unmissed--) events.emit('miss', { key })
    if (this.#missed) return
    this.#missed = true
    events.emit('miss', { key })
  }

  /** From here on, the answer is for this caller alone. */
  dismissFollowers(from: CallStart): void {
    this.#followers?.end({ state: 'dismissed', from })
    this.#followers = null
    if (this.#isAnswered) this.#leaveHost()
  }

  /** The followers wait for the same flight. */
  joined(): void {
    if (this.#followers !== null) this.#parts.events.joined(this.key, this.#followers.count)
  }

  /** The caller has its answer; its followers may still wait. */
  #answered(): void {
    if (this.#missed) this.#reportAnswer(this.request)
    if (this.isOver) this.#leaveHost()
  }

  #leaveHost(): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    this.#deadline?.cancel()
    this.#host.ended(this)
    this.#search?.leave()
  }

  /** The patience of the caller is over; that of its followers ends later. */
  #timeOut(): void {
    if (this.known.stale !== null) return this.#serveStale()
    const { key, plan } = this.request
    const error = new CacheError('WAIT_TIMEOUT', `No answer for ${quoted(key)} within ${plan.waitTimeout} ms`, { key })
    this.#pending?.reject(error)
    this.#timeOutFollowers(error)
  }

  #timeOutFollowers(error: CacheError): void {
    const { clock } = this.#parts
    const { waitTimeout } = this.request.plan
    this.#followers?.end({ state: 'failed', error, currentAsOf: always }, clock.now() - waitTimeout + early)
    const next = this.#followers?.firstAskedAtMs ?? null
    if (next === null) this.#leaveHost()
    else this.#deadline = clock.after(next + waitTimeout - clock.now(), () => this.#timeOutFollowers(error))
  }

  #serveStaleSoon(): void {
    const { softTimeout } = this.request.plan
    if (softTimeout > 0) this.#pending?.after(softTimeout, () => this.#serveStale())
  }

  #serveStale(): void {
    const { stale } = this.known
    if (stale !== null) this.#end({ state: 'stale', stale })
  }
}

/** The end of a call, with what the loader threw. */
function withErrorForCallers(end: CallEnd): CallEnd {
  return end.state === 'failed' ? { ...end, error: errorForCallers(end.error) } : end
}

/** Whether a stale value must not be served in place of an error. */
function isOwnError(error: unknown): boolean {
  return error instanceof CacheError && (error.code === 'CLOSED' || error.code === 'CIRCULAR_LOAD')
}

/*
 * Room: flight. Where the callers of a process meet: one flight per key, one load per key in the fleet while the store
 * answers, and one or two per key and process while it does not.
 *
 * Reading order: callers.ts (a caller, from its question to its answer), caller.ts and answer.ts (who may have which
 * answer), answers.ts (those of one call for many keys), reads.ts (the reads of a tick), flights.ts and key-flight.ts
 * (the callers that wait for one answer), leased-flight.ts and waiting.ts (the claim, and the wait for another
 * process), leased-load.ts (the load under the lease), loader.ts (the run of a loader), unleased-loads.ts and
 * unleased-flight.ts (loads without the store). Then pacing.ts (storms of invalidations), bounded.ts (signals, and
 * the deadlines of reads), circular-load.ts (loaders that wait for loads), unstored-values.ts and migration.ts.
 */
import { answerOf } from '../codec/error-answer.ts'
import { errorForCallers, throwToCaller } from '../codec/load-failures.ts'
import type { Stale } from '../codec/payload.ts'
import { isSameKind } from '../codec/schema.ts'
import { CacheError, closedError, quoted } from '../errors.ts'
import { factsOf, unstoredFacts, type AnswerFacts } from '../entry/freshness.ts'
import { askedBefore, clockTolerance } from './answer.ts'
import { Answers } from './answers.ts'
import { bounded, settled } from './bounded.ts'
import type { Caller, Crowd, CrowdEnd } from './caller.ts'
import { circleAbove, circleThrough, waitNested, type LoadNode } from './circular-load.ts'
import type { KeyFlight, WaitGroup, WaitEnd } from './key-flight.ts'
import type { Flights } from './flights.ts'
import type { FlightParts } from './parts.ts'
import type { FoundEntry, FoundOfMany, ReadResult, Reads, SharedRead } from './reads.ts'
import { UnleasedFlight } from './unleased-flight.ts'

/** The number of flights without an answer for it after which a caller loads without a lease. */
const mostFlights = 5
/** The number of voided flights after which it does so once half of its `waitTimeout` is over: two may take the rest. */
const mostVoidedSlowly = 2

/** A timer may ring this much too early, in milliseconds. */
const early = 1

/** The callers of one cache, each from its question to its answer. */
export class Callers {
  readonly #parts: FlightParts
  readonly #flights: Flights
  readonly #reads: Reads
  /** How many callers have no answer yet. */
  #open = 0
  #isClosed = false
  #whenIdle: (() => void)[] = []

  constructor(parts: FlightParts, flights: Flights, reads: Reads) {
    this.#parts = parts
    this.#flights = flights
    this.#reads = reads
  }

  /**
   * Answers a caller.
   * @param read what it has read already
   */
  ask(caller: Caller, read?: ReadResult): Promise<unknown> {
    this.#open++
    const answer = read === undefined ? this.#begin(caller) : settled(() => this.#found(caller, read))
    return this.#hasTimeToRead(caller) ? answer : this.#bounded(caller, answer)
  }

  /** Answers the callers of one call for several keys: their values are read together, as far as the store can do that. */
  async askMany(all: readonly Caller[]): Promise<PromiseSettledResult<unknown>[]> {
    const answers = new Answers()
    const reading = this.#readMany(all, (at, read) => {
      const caller = all[at] as Caller
      // What the store does not answer, each caller finds out for itself.
      answers.take(at, () => (read === undefined ? this.#readAgain(caller) : this.#found(caller, read)))
    })
    if (reading === null) return await Answers.of(all, (caller) => this.ask(caller))
    this.#open += all.length
    await reading
    return await answers.all()
  }

  #readMany(all: readonly Caller[], found: FoundOfMany): Promise<unknown> | null {
    const [first] = all
    if (first === undefined || !this.#hasTimeToRead(first)) return null
    const { plan, tags, deadline } = first
    const keys = all.map(({ key }) => key)
    return this.#reads.readMany(keys, { plan, tags, until: deadline - this.#parts.store.longestCommand }, found)
  }

  /** Takes leave of a caller that is told to lead; returns `false` if it has left before. */
  lead(caller: Caller): boolean {
    if (caller.state === 'over') return false
    caller.leave()
    this.#done(caller)
    return true
  }

  /** Whether no caller waits for an answer. */
  get areIdle(): boolean {
    return this.#open === 0
  }

  /** Resolves when no caller waits for an answer. */
  async settled(): Promise<void> {
    if (!this.areIdle) await new Promise<void>((resolve) => this.#whenIdle.push(resolve))
  }

  /** From now on, a caller that reads is rejected with CLOSED. */
  close(): void {
    this.#isClosed = true
  }

  /** Joins a flight that has no stale value at once, for a read would find nothing; else reads. */
  #begin(caller: Caller): Promise<unknown> {
    const flight = caller.refresh !== null || this.#isOff ? null : this.#flights.joinable(caller)
    if (flight === null || flight.hasStale) return this.#read(caller)
    this.#countMiss(caller)
    this.#checkCircle(caller)
    return this.#join(flight, caller)
  }

  #read(caller: Caller): Promise<unknown> {
    const read = this.#reads.read(caller)
    const crowd = this.#crowdFor(caller, read)
    if (crowd === null) {
      return read.found.then(
        (found) => this.#found(caller, found),
        (error: CacheError) => this.#findInOutage(caller, error),
      )
    }
    crowd.size++
    return crowd.ended.then(
      (end) => this.#takeTogether(caller, end),
      (error: CacheError) => this.#findInOutage(caller, error),
    )
  }

  /**
   * The crowd with which a caller goes on from a read; `null` if it goes on alone. The first caller of a read does, and
   * one that may want something else than the others: a refresh, a loader, one with a signal, a trace or a past.
   */
  #crowdFor(caller: Caller, read: SharedRead): Crowd | null {
    const isOrdinary = caller.refresh === null && caller.beginning === null
    const isPlain = isOrdinary && caller.parent === null && caller.past.flights === 0
    if (read.readers === 1 || !isPlain || !this.#hasTimeToRead(caller) || this.#parts.tracing.isFollowed) return null
    if (read.crowd !== null) return read.crowd.lead.plan === caller.plan ? read.crowd : null
    const crowd: Crowd = { lead: caller, size: 0, ended: read.found.then((found) => this.#seekTogether(crowd, found)) }
    return (read.crowd = crowd)
  }

  /** Joins or starts the flight of the key for a crowd, unless the read is enough for each of it. */
  #seekTogether({ lead, size }: Crowd, read: ReadResult): CrowdEnd | Promise<CrowdEnd> {
    const { events, clock } = this.#parts
    lead.read = read
    const now = clock.now()
    const isEnough = lead.isHit(read) || (lead.isSoftOver(now) && lead.staleAt(now) !== null)
    if (isEnough || this.#isClosed) return { read, wait: null }
    for (let missed = 0; missed < size; missed++) events.emit('miss', { key: lead.key })
    const flight = this.#flights.joinable(lead) ?? this.#flights.start(lead, lead.existing)
    const ended = flight.join(lead, lead.waitsUntil(clock), size)
    const { group } = lead
    return ended.then((end) => ({ read, wait: { group, end } }))
  }

  #takeTogether(caller: Caller, { read, wait }: CrowdEnd): unknown {
    if (wait === null) return this.#found(caller, read)
    caller.read = read
    caller.state = 'missed'
    caller.group = wait.group
    return this.#take(caller, wait.end)
  }

  #readAgain(caller: Caller): Promise<unknown> {
    const { clock, store } = this.#parts
    const left = caller.deadline - clock.now()
    const answer = this.#read(caller)
    return left > store.longestCommand ? answer : this.#bounded(caller, answer)
  }

  /** Goes on from a read: with its value, or with a flight. */
  #found(caller: Caller, read: ReadResult): unknown {
    if (caller.state === 'over') return undefined
    if (this.#isClosed) return this.#fail(caller, closedError(caller.key))
    // A refresh replaces the value that it finds first.
    if (caller.refresh !== null && caller.read === null && 'entry' in read) caller.refresh.replaced = read.entry.token
    if (caller.isHit(read)) return this.#giveHit(caller, read)
    caller.read = read
    const now = this.#parts.clock.now()
    const stale = caller.staleAt(now)
    if (stale !== null && caller.isSoftOver(now)) {
      const flight = this.#flights.refresh(caller, caller.existing)
      if (caller.beginning === null || flight === null) return this.#giveStale(caller, stale)
      return flight.joinToLead(caller, caller.waitsUntil(this.#parts.clock)).then((end) => this.#take(caller, end))
    }
    const awaited = caller.awaitedIn(read, now)
    return awaited === null
      ? this.#seek(caller, now)
      : this.#give(caller, awaited.value, factsOf(awaited.entry, 'loaded'))
  }

  /** Joins the flight of the key, or starts it. */
  #seek(caller: Caller, now: number): unknown {
    this.#countMiss(caller)
    this.#checkCircle(caller)
    const { askedAtMs, plan } = caller
    const { flights, voided } = caller.past
    const isSlow = voided >= mostVoidedSlowly && now >= askedAtMs + plan.waitTimeout / 2
    if (flights >= mostFlights || isSlow) return this.#loadWithoutLease(caller)
    return this.#join(this.#flights.joinable(caller) ?? this.#flights.start(caller, caller.existing), caller)
  }

  #join(flight: KeyFlight, caller: Caller): Promise<unknown> {
    if (caller.parent !== null) return this.#joinNested(flight, caller, caller.parent)
    const until = caller.waitsUntil(this.#parts.clock)
    return flight.join(caller, until).then((end) => this.#take(caller, end))
  }

  /** Joins as a loader, which must not wait for itself, and not for ever for a load of another process. */
  #joinNested(flight: KeyFlight, caller: Caller, parent: LoadNode): Promise<unknown> {
    const { clock } = this.#parts
    const circle = circleThrough(parent, flight)
    if (circle !== null) this.#fail(caller, circle)
    const ended = flight.join(caller, caller.waitsUntil(clock))
    const wait = waitNested(parent, flight, { ended, bound: caller.plan.waitTimeout / 2, clock })
    const leave = caller.onLeave
    caller.onLeave = () => {
      leave?.()
      wait.leave()
    }
    return wait.ended.then((end) => {
      if (end.state !== 'too long') return this.#take(caller, end)
      caller.leave()
      return this.#loadWithoutLease(caller)
    })
  }

  /** Gives a caller the answer of its flight if that counts for it; else it asks again. */
  #take(caller: Caller, end: WaitEnd): unknown {
    if (caller.state === 'over') return undefined
    const group = caller.group as WaitGroup
    let { awaited } = caller.past
    let isVoided = false
    switch (end.state) {
      case 'value':
        // A load without a lease is joined by callers of every kind of value, which bounds the loads of a key.
        if (!isSameKind(group.flight.lead.plan, caller.plan)) return this.#loadAlone(caller)
        // It may have expired on its way, but must have been fresh when this caller joined: a fill may arrive late.
        if (end.freshUntil <= group.since - clockTolerance) break
        if (askedBefore(caller, end.currentAsOf)) return this.#give(caller, end.value, end.facts)
        awaited = { token: end.token, since: group.since }
        break
      case 'failed':
        if (askedBefore(caller, end.currentAsOf)) return this.#fail(caller, end.error)
        break
      case 'pass':
        // `askedAt` is unique: only the caller whose loader ran is given the result, all others run their own.
        return end.own?.caller === caller.askedAt ? this.#give(caller, end.own.value) : this.#loadAlone(caller)
      case 'away':
        return this.#findInOutage(caller, end.error)
      case 'late':
        return this.#late(caller)
      case 'again':
        isVoided = true
    }
    const { flights, voided } = caller.past
    caller.past = { flights: flights + 1, voided: voided + (isVoided ? 1 : 0), awaited }
    return this.#readAgain(caller)
  }

  /** Answers a caller while the store is away, or is not asked. */
  #findInOutage(caller: Caller, error: CacheError): unknown {
    if (caller.state === 'over') return undefined
    const { key, plan, refresh } = caller
    if (this.#isClosed || error.code === 'CLOSED') return this.#fail(caller, closedError(key))
    this.#countMiss(caller)
    if (plan.onStoreFailure === 'throw' && !this.#isOff) {
      const { message, cause, reason } = error
      return this.#fail(caller, new CacheError('STORE_UNAVAILABLE', message, { key, cause, reason }))
    }
    const copy = refresh !== null ? undefined : this.#parts.spare?.copyInOutage(key, plan)
    return copy === undefined ? this.#loadWithoutLease(caller) : this.#give(caller, copy.value, copy.facts)
  }

  /** Loads without a lease, together with the callers of this process that ask for the key in time. */
  #loadWithoutLease(caller: Caller): Promise<unknown> {
    this.#checkCircle(caller)
    const until = caller.waitsUntil(this.#parts.clock)
    const ended = this.#parts.unleased.join(caller, until, () => this.#unleasedFlight(caller))
    return ended.then((end) => this.#take(caller, end))
  }

  /** Runs the loader of a caller for it alone: none joins, though a value may become a copy for later ones of its kind. */
  #loadAlone(caller: Caller): Promise<unknown> {
    const flight = this.#unleasedFlight(caller)
    const ended = flight.join(caller, caller.waitsUntil(this.#parts.clock))
    void this.#parts.unleased.beginAlone(flight)
    return ended.then((end) => this.#take(caller, end))
  }

  #unleasedFlight(caller: Caller): UnleasedFlight {
    return new UnleasedFlight(caller, this.#parts, caller.staleAt(this.#parts.clock.now()))
  }

  /** The soft timeout or the time of a caller is over. */
  #late(caller: Caller): unknown {
    const { key, plan, deadline, group } = caller
    const now = this.#parts.clock.now()
    const stale = caller.staleAt(now)
    if (stale !== null) return this.#giveStale(caller, stale)
    // Its stale value has expired before its soft timeout.
    if (now < deadline - early && group !== null) return this.#join(group.flight, caller)
    const message = `No answer for ${quoted(key)} within ${plan.waitTimeout} ms`
    return this.#fail(caller, new CacheError('WAIT_TIMEOUT', message, { key }))
  }

  #giveHit(caller: Caller, { entry, value }: FoundEntry): unknown {
    this.#parts.events.hit(caller.key, caller.state === 'missed')
    if (caller.plan.refreshAhead !== null) this.#flights.refreshAhead(caller, entry, value)
    return this.#give(caller, value, caller.wantsFacts ? factsOf(entry, 'fresh') : undefined)
  }

  #giveStale(caller: Caller, stale: Stale): unknown {
    this.#parts.events.stale(caller.key, stale.age, caller.state === 'missed')
    const { read } = caller
    const isAsked = caller.wantsFacts && read !== null && 'entry' in read
    return this.#give(caller, stale.value, isAsked ? factsOf(read.entry, 'stale') : undefined)
  }

  /** @throws what the loader threw, if that is the answer */
  #give(caller: Caller, value: unknown, facts: AnswerFacts = unstoredFacts): unknown {
    this.#done(caller)
    const answer = answerOf(value)
    return caller.wantsFacts ? { value: answer, ...facts } : answer
  }

  /** Rejects a caller, unless it may have a stale value in place of the error. */
  #fail(caller: Caller, error: CacheError): unknown {
    const isOwn = error.code === 'CLOSED' || error.code === 'CIRCULAR_LOAD'
    const stale = isOwn ? null : caller.staleAt(this.#parts.clock.now())
    if (stale !== null) return this.#giveStale(caller, stale)
    this.#done(caller)
    return throwToCaller(errorForCallers(error))
  }

  #done(caller: Caller): void {
    const { key, state, askedAtMs } = caller
    if (state === 'over') return
    caller.state = 'over'
    // A call for many keys keeps its callers until the last is answered, and would keep all of their flights.
    caller.group = null
    const { events, clock } = this.#parts
    if (state === 'missed' && events.heard('answer')) events.emit('answer', { key, duration: clock.now() - askedAtMs })
    this.#open--
    if (this.areIdle) for (const resolve of this.#whenIdle.splice(0)) resolve()
  }

  #countMiss(caller: Caller): void {
    if (caller.state !== 'new') return
    caller.state = 'missed'
    this.#parts.events.emit('miss', { key: caller.key })
  }

  /** @throws `CacheError` CIRCULAR_LOAD if the caller is a loader within a load of the same key */
  #checkCircle(caller: Caller): void {
    const { parent, key } = caller
    const circle = parent === null ? null : circleAbove(parent, this.#parts.store, key)
    if (circle !== null) this.#fail(caller, circle)
  }

  /** Whether the cache is switched off, so that the store is not asked. */
  get #isOff(): boolean {
    return this.#parts.modes.current !== 'cache'
  }

  /** Whether neither its signal nor its deadline can end the wait of a caller while it reads. */
  #hasTimeToRead({ signal, plan }: Caller): boolean {
    return signal === undefined && plan.waitTimeout > this.#parts.store.longestCommand
  }

  #bounded(caller: Caller, answer: Promise<unknown>): Promise<unknown> {
    const { deadlines } = this.#parts
    return bounded(caller, answer, { deadlines, late: () => this.#late(caller), left: () => this.#done(caller) })
  }
}

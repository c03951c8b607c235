/*
 * Room: flight. Where the callers of a process meet: one flight per key, one load per key in the fleet while the store
 * answers, and one or two per key and process while it does not.
 *
 * Reading order: flights.ts (a caller, from its question to its answer), caller.ts and answer.ts (who may have which
 * answer), reads.ts (the reads of a tick), key-flight.ts (the callers that wait for one answer), leased-flight.ts and
 * waiting.ts (the claim, and the wait for another process), leased-load.ts (the load under the lease), loader.ts (the
 * run of a loader), unleased-loads.ts and unleased-flight.ts (loads without the store). Then pacing.ts (storms of
 * invalidations), circular-load.ts (loaders that wait for loads), unstored-values.ts and migration.ts.
 */
import { answerOf } from '../codec/error-answer.ts'
import { errorForCallers, throwToCaller } from '../codec/load-failures.ts'
import type { Stale } from '../codec/payload.ts'
import { isSameKind } from '../codec/schema.ts'
import { isRefreshDue, type EntryFacts } from '../entry/freshness.ts'
import { CacheError, closedError, quoted } from '../errors.ts'
import { drawRandom } from '../time/clock.ts'
import { askedBefore, clockTolerance, type Answer } from './answer.ts'
import * as callers from './caller.ts'
import type { Asked, Caller, Existing } from './caller.ts'
import { circleAbove, circleThrough, waitNested, type LoadNode } from './circular-load.ts'
import type { FlightState, KeyFlight, Moment, WaitEnd } from './key-flight.ts'
import { LeasedFlight } from './leased-flight.ts'
import type { FlightParts } from './parts.ts'
import type { FoundEntry, ReadResult, Reads } from './reads.ts'
import { UnleasedFlight } from './unleased-flight.ts'

/** The number of flights without an answer for it after which a caller loads without a lease. */
const mostFlights = 5
/** The number of voided flights after which it does so once half of its `waitTimeout` is over: two may take the rest. */
const mostVoidedSlowly = 2

/** A timer may ring this much too early, in milliseconds. */
const early = 1

/** The callers of one cache, and their flights: at most one per key can be joined. */
export class Flights {
  readonly #parts: FlightParts
  readonly #reads: Reads
  readonly #commandTimeout: number
  readonly #byKey = new Map<string, LeasedFlight>()
  readonly #inTheAir = new Map<LeasedFlight, Promise<void>>()
  /** How many callers have no answer yet. */
  #open = 0
  #isClosed = false
  #whenIdle: () => void = () => undefined

  /** @param commandTimeout the deadline of a read, in milliseconds */
  constructor(parts: FlightParts, reads: Reads, commandTimeout: number) {
    this.#parts = parts
    this.#reads = reads
    this.#commandTimeout = commandTimeout
  }

  /**
   * Answers a caller.
   * @param read what it has read already
   */
  ask(asked: Asked, read?: ReadResult): Promise<unknown> {
    const caller = callers.callerOf(asked)
    this.#open++
    const answer = read === undefined ? this.#begin(caller) : settled(() => this.#found(caller, read))
    const isPlain = caller.signal === undefined && caller.plan.waitTimeout > this.#commandTimeout
    return isPlain ? answer : this.#bounded(caller, answer)
  }

  /** Refreshes a fresh value in the background, if that is due. */
  refreshAhead(asked: Asked, entry: EntryFacts, value: unknown): void {
    const { refreshAhead } = asked.plan
    const { clock, events } = this.#parts
    if (refreshAhead === null || !isRefreshDue(entry, refreshAhead, 1 - drawRandom(clock))) return
    if (this.#isBusy(asked.key)) return
    events.emit('refreshAhead', { key: asked.key })
    const { token, age, validators } = entry
    this.#refresh(asked, { token, value: { value, age, ...validators }, replace: true })
  }

  /** Detaches the flight of a key, so that no caller joins it any more: its answer may be void. */
  detach(key: string): void {
    this.#byKey.delete(key)
    this.#parts.pacing.endRest(key)
  }

  /** The state of a key's flight. `resting`: a load failed, and its stale value is not refreshed yet. */
  stateOf(key: string): 'none' | 'resting' | Exclude<FlightState, 'queued' | 'over'> {
    const state = this.#byKey.get(key)?.state ?? 'over'
    if (state !== 'over' && state !== 'queued') return state
    return this.#parts.pacing.isResting(key) ? 'resting' : 'none'
  }

  /** How many callers wait for an answer for a key. */
  callersOf(key: string): number {
    let count = this.#parts.unleased.callersOf(key)
    for (const flight of this.#inTheAir.keys()) if (flight.key === key) count += flight.callers
    return count
  }

  /** Whether no caller waits for an answer. */
  get areIdle(): boolean {
    return this.#open === 0
  }

  /** Resolves when all flights that are under way now have ended, and no caller waits. */
  async settled(): Promise<void> {
    await Promise.all(this.#inTheAir.values())
    if (!this.areIdle) await new Promise<void>((resolve) => (this.#whenIdle = resolve))
  }

  /** Rejects all callers with CLOSED, and gives up all flights; resolves when their leases are given back. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#parts.unleased.giveUp()
    for (const flight of this.#inTheAir.keys()) flight.giveUp(closedError(flight.key))
    await Promise.all(this.#inTheAir.values())
  }

  /** Joins a flight that has no stale value at once, for a read would find nothing; else reads. */
  #begin(caller: Caller): Promise<unknown> {
    const flight = caller.refresh ? null : this.#joinable(caller)
    if (flight === null || flight.hasStale) return this.#read(caller)
    this.#countMiss(caller)
    this.#refuse(this.#circle(caller), caller)
    return this.#join(flight, caller)
  }

  #read(caller: Caller): Promise<unknown> {
    return this.#reads.read(caller).then(
      (read) => this.#found(caller, read),
      (error: CacheError) => this.#findInOutage(caller, error),
    )
  }

  #readAgain(caller: Caller): Promise<unknown> {
    const left = caller.askedAtMs + caller.plan.waitTimeout - this.#parts.clock.now()
    const answer = this.#read(caller)
    return left > this.#commandTimeout ? answer : this.#bounded(caller, answer)
  }

  /** Goes on from a read: with its value, or with a flight. */
  #found(caller: Caller, read: ReadResult): unknown {
    if (caller.over) return undefined
    if (this.#isClosed) return this.#fail(caller, closedError(caller.key))
    // A refresh replaces the value that it finds first.
    if (caller.refresh && caller.read === null && 'entry' in read) caller.replaced = read.entry.token
    if (callers.isHit(read, caller)) return this.#giveHit(caller, read)
    caller.read = read
    const now = this.#parts.clock.now()
    const stale = callers.staleFor(caller, now)
    if (stale !== null && callers.isSoftOver(caller, now)) {
      this.#refresh(caller, callers.existingFor(caller))
      return this.#giveStale(caller, stale)
    }
    const awaited = callers.awaitedIn(read, caller, now)
    return awaited === null ? this.#seek(caller, now) : this.#give(caller, awaited.value)
  }

  /** Joins the flight of the key, or starts it. */
  #seek(caller: Caller, now: number): unknown {
    this.#countMiss(caller)
    this.#refuse(this.#circle(caller), caller)
    const { flights, voided, askedAtMs, plan } = caller
    const isSlow = voided >= mostVoidedSlowly && now >= askedAtMs + plan.waitTimeout / 2
    if (flights >= mostFlights || isSlow) return this.#loadWithoutLease(caller)
    return this.#join(this.#joinable(caller) ?? this.#launch(caller, callers.existingFor(caller), false), caller)
  }

  #joinable(caller: Caller): LeasedFlight | null {
    const flight = this.#byKey.get(caller.key)
    return flight?.admits(caller) ? flight : null
  }

  #join(flight: KeyFlight, caller: Caller): Promise<unknown> {
    const until = callers.waitsUntil(caller, this.#parts.clock.now())
    if (caller.parent !== null) return this.#joinNested(flight, caller, caller.parent)
    return flight.join(caller, until).then((end) => this.#take(caller, end))
  }

  /** Joins as a loader, which must not wait for itself, and not for ever for a load of another process. */
  #joinNested(flight: KeyFlight, caller: Caller, parent: LoadNode): Promise<unknown> {
    const { clock } = this.#parts
    this.#refuse(circleThrough(parent, flight), caller)
    const ended = flight.join(caller, callers.waitsUntil(caller, clock.now()))
    const wait = waitNested(parent, flight, { ended, bound: caller.plan.waitTimeout / 2, clock })
    caller.leaveNested = wait.leave
    return wait.ended.then((end) => {
      if (end.state !== 'too long') return this.#take(caller, end)
      callers.leave(caller)
      return this.#loadWithoutLease(caller)
    })
  }

  /** Gives a caller the answer of its flight if that counts for it; else it asks again. */
  #take(caller: Caller, end: WaitEnd): unknown {
    if (caller.over) return undefined
    switch (end.state) {
      case 'value':
        // A load without a lease is joined by callers of every kind of value, which bounds the loads of a key.
        if (!isSameKind((caller.moment as Moment).flight.lead.plan, caller.plan)) return this.#loadAlone(caller)
        // It may have expired on its way, but must have been fresh when this caller joined: a fill may arrive late.
        if (end.freshUntil <= caller.joinedAtMs - clockTolerance) break
        if (askedBefore(caller, end.currentAsOf)) return this.#give(caller, end.value)
        caller.awaited = { token: end.token, since: caller.joinedAtMs }
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
        caller.voided++
    }
    caller.flights++
    return this.#readAgain(caller)
  }

  /** Answers a caller while the store is away. */
  #findInOutage(caller: Caller, error: CacheError): unknown {
    if (caller.over) return undefined
    const { key, plan, refresh } = caller
    if (this.#isClosed || error.code === 'CLOSED') return this.#fail(caller, closedError(key))
    this.#countMiss(caller)
    if (plan.onStoreFailure === 'throw') {
      const { message, cause, reason } = error
      return this.#fail(caller, new CacheError('STORE_UNAVAILABLE', message, { key, cause, reason }))
    }
    const copy = refresh ? undefined : this.#parts.near?.spare(key, plan)
    return copy === undefined ? this.#loadWithoutLease(caller) : this.#give(caller, copy.value)
  }

  /** Loads without a lease, together with the callers of this process that ask for the key in time. */
  #loadWithoutLease(caller: Caller): Promise<unknown> {
    this.#refuse(this.#circle(caller), caller)
    const until = callers.waitsUntil(caller, this.#parts.clock.now())
    const ended = this.#parts.unleased.join(caller, until, () => this.#unleasedFlight(caller))
    return ended.then((end) => this.#take(caller, end))
  }

  /** Runs the loader of a caller whose result is not shared. */
  #loadAlone(caller: Caller): Promise<unknown> {
    const flight = this.#unleasedFlight(caller)
    const ended = flight.join(caller, callers.waitsUntil(caller, this.#parts.clock.now()))
    this.#parts.unleased.beginAlone(flight)
    return ended.then((end) => this.#take(caller, end))
  }

  #unleasedFlight(caller: Caller): UnleasedFlight {
    return new UnleasedFlight(caller, this.#parts, callers.staleFor(caller, this.#parts.clock.now()))
  }

  /** The soft timeout or the time of a caller is over. */
  #late(caller: Caller): unknown {
    const { key, plan, askedAtMs, moment } = caller
    const now = this.#parts.clock.now()
    const stale = callers.staleFor(caller, now)
    if (stale !== null) return this.#giveStale(caller, stale)
    // Its stale value has expired before its soft timeout.
    if (now < askedAtMs + plan.waitTimeout - early && moment !== null) return this.#join(moment.flight, caller)
    const message = `No answer for ${quoted(key)} within ${plan.waitTimeout} ms`
    return this.#fail(caller, new CacheError('WAIT_TIMEOUT', message, { key }))
  }

  #refresh(asked: Asked, existing: Existing | null): void {
    if (!this.#isBusy(asked.key)) this.#launch({ ...callers.callerOf(asked), parent: null }, existing, true)
  }

  /** Starts a flight, which later callers of its key join. */
  #launch(lead: Caller, existing: Existing | null, isRefresh: boolean): LeasedFlight {
    const since = this.#parts.clock.now()
    const flight = new LeasedFlight(lead, this.#parts, existing, isRefresh)
    this.#byKey.set(lead.key, flight)
    this.#parts.pacing.endRest(lead.key)
    this.#inTheAir.set(
      flight,
      flight.start((answer) => this.#ended(flight, answer, since)),
    )
    return flight
  }

  #ended(flight: LeasedFlight, answer: Answer, since: number): void {
    const { key, waitingSince, lead } = flight
    const { events, near, clock, pacing } = this.#parts
    this.#inTheAir.delete(flight)
    if (this.#byKey.get(key) === flight) this.#byKey.delete(key)
    // A caller that has seen a new value must not be served an older copy.
    if (answer.state === 'value') near?.forget(key)
    if (flight.state === 'waiting' && waitingSince !== null) {
      events.emit('waited', { key, duration: clock.now() - waitingSince })
    }
    if (answer.state !== 'failed' || answer.error.code === 'CLOSED') return
    events.emit('failure', { key, error: answer.error, duration: clock.now() - since })
    // While the source rests, its stale value is served without a claim to refresh it.
    if (flight.hasStale) pacing.rest(key, lead.plan.failureCooldown)
  }

  /** Whether a key has a flight, or its source rests after a failed one. */
  #isBusy(key: string): boolean {
    return this.#byKey.has(key) || this.#parts.pacing.isResting(key)
  }

  #giveHit(caller: Caller, { entry, value }: FoundEntry): unknown {
    this.#parts.events.hit(caller.key, caller.missed)
    if (caller.plan.refreshAhead !== null) this.refreshAhead(caller, entry, value)
    return this.#give(caller, value)
  }

  #giveStale(caller: Caller, stale: Stale): unknown {
    this.#parts.events.stale(caller.key, stale.age, caller.missed)
    return this.#give(caller, stale.value)
  }

  /** @throws what the loader threw, if that is the answer */
  #give(caller: Caller, value: unknown): unknown {
    this.#done(caller)
    return answerOf(value)
  }

  /** Rejects a caller, unless it may have a stale value in place of the error. */
  #fail(caller: Caller, error: CacheError): unknown {
    const isOwn = error.code === 'CLOSED' || error.code === 'CIRCULAR_LOAD'
    const stale = isOwn ? null : callers.staleFor(caller, this.#parts.clock.now())
    if (stale !== null) return this.#giveStale(caller, stale)
    this.#done(caller)
    return throwToCaller(errorForCallers(error))
  }

  #done(caller: Caller): void {
    if (caller.over) return
    caller.over = true
    const { events, clock } = this.#parts
    const { key, missed, askedAtMs } = caller
    if (missed && events.heard('answer')) events.emit('answer', { key, duration: clock.now() - askedAtMs })
    this.#open--
    if (this.areIdle) this.#whenIdle()
  }

  #countMiss(caller: Caller): void {
    if (caller.missed) return
    caller.missed = true
    this.#parts.events.emit('miss', { key: caller.key })
  }

  /** The error if a caller is a loader within a load of the same key. */
  #circle({ parent, key }: Caller): CacheError | null {
    return parent === null ? null : circleAbove(parent, this.#parts.store, key)
  }

  #refuse(circle: CacheError | null, caller: Caller): void {
    if (circle !== null) this.#fail(caller, circle)
  }

  /** Ends the wait of a caller also with its signal, and with its deadline while it reads: a read may take longer. */
  #bounded(caller: Caller, answer: Promise<unknown>): Promise<unknown> {
    const { deadlines } = this.#parts
    const { signal, askedAtMs, plan } = caller
    const at = askedAtMs + plan.waitTimeout
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        if (caller.over) return
        callers.leave(caller)
        this.#done(caller)
        end()
        reject(signal?.reason)
      }
      const due = {
        expire: (): void => {
          if (caller.over) return
          callers.leave(caller)
          resolve(settled(() => this.#late(caller)))
        },
      }
      const end = (): void => {
        signal?.removeEventListener('abort', abort)
        deadlines.delete(at, due)
      }
      signal?.addEventListener('abort', abort)
      deadlines.add(at, due)
      answer.finally(end).then(resolve, reject)
    })
  }
}

/** The result of a step, as a promise. */
function settled(step: () => unknown): Promise<unknown> {
  return new Promise((resolve) => resolve(step()))
}

/*
 * Room: load. Single flight: one load per key in the fleet while the store answers, and one or two per key and process
 * while it does not.
 *
 * Reading order: flight.ts (one claim and its result), flights.ts (the flights of a cache), loader.ts (the run of a
 * loader), complete.ts (fills, and the ends of flights), failures.ts (the errors of loaders), payload.ts (encoding),
 * pacing.ts (storms of invalidations), circular-load.ts (loaders that wait for loads), leaseless-queue.ts (loads
 * without the store). Which answer a caller may have: CausalTime in time/clock.ts.
 */
import { reaskDelay } from './pacing.ts'
import type { LoadNode } from './circular-load.ts'
import type { Kind } from '../codec/schema.ts'
import { drawRandom, type Timer, type CausalTime } from '../time/clock.ts'
import { CacheError, quoted, ignoreRejection, type Failure } from '../errors.ts'
import { decodeEntry, decodeUsable } from './payload.ts'
import { runLoader, type LoadRequest } from './loader.ts'
import type { FlightOutcome } from './complete.ts'
import type { CompletionParts, LeaseCompletion } from './complete.ts'
import type { LeaselessQueue } from './leaseless-queue.ts'
import type { Watchdog } from '../lease/watchdog.ts'
import type { Entry, Lease, Outcome, Wait } from '../contract/store.ts'
import { boundContext, endTrace, FlightTrace, type Tracing } from '../observe/tracing.ts'

/** The number of voided loads of other processes after which a flight ends, and its callers ask again. */
const mostVoided = 5

/** The number of sleeps of a waiter after which it claims again, although the load is still under way. */
const mostChecks = 8

/** How long a load waits for an older load of its key that was voided but still runs, in milliseconds. */
const longestHold = 250

/** The parts that the flights of one cache share. */
export interface FlightParts extends CompletionParts {
  readonly completion: LeaseCompletion
  readonly watchdog: Watchdog<Lease>
  readonly leaselessQueue: LeaselessQueue
  readonly tracing: Tracing
  /** The description of this process in its claims. */
  readonly holder: string
}

/** One claim per key and process, its result, and all the callers that wait for it. */
export class Flight implements LoadNode {
  readonly key: string
  readonly cache: object
  readonly parent: LoadNode | null
  #waitsFor: Set<{ readonly to: LoadNode }> | null = null
  readonly outcome: Promise<FlightOutcome>

  /**
   * A flight can be joined up to `loading`. `filling`: the loader has ended, so the outcome may be older than a new
   * caller. `resting`: over, and remembered only so that a source that just failed is not asked again too soon.
   */
  state: 'claiming' | 'waiting' | 'loading' | 'filling' | 'resting' | 'over' = 'claiming'
  /** Whether a stale value exists: then callers should read before they join, to be served that instead. */
  hasStale: boolean
  /** How many callers wait for it. */
  callers = 0
  /** When the wait for another process's load began, by the clock; kept when the lease comes afterwards. */
  waitingSince: number | null = null

  readonly #request: LoadRequest
  readonly #parts: FlightParts
  readonly #trace: FlightTrace

  /** Ends the wait or the load of the flight. */
  #end!: (error: CacheError) => void
  readonly #ended = new Promise<CacheError>((resolve) => (this.#end = resolve))
  #givenUp: CacheError | null = null

  constructor(request: LoadRequest, parts: FlightParts) {
    this.key = request.key
    this.cache = parts.store
    this.parent = request.parent
    this.hasStale = request.read?.value != null
    this.#request = request
    this.#parts = parts
    this.#trace = new FlightTrace(parts.tracing, request.key)
    this.outcome = this.#fly().catch((error: unknown) => ({ state: 'away', error: error as CacheError }))
  }

  // Created when first read: few loaders wait for other loads.
  get waitsFor(): Set<{ readonly to: LoadNode }> {
    return (this.#waitsFor ??= new Set())
  }

  /** The kind of its value. */
  get kind(): Kind {
    return this.#request.plan
  }

  /** Whether its loader runs. */
  get running(): boolean {
    return this.state === 'loading'
  }

  /** Ends the trace of the flight. */
  traceOutcome(outcome: FlightOutcome): void {
    endTrace(this.#trace, outcome)
  }

  /** Adds a caller; returns a function that removes it. */
  join(): () => void {
    const { events, tracing } = this.#parts
    const others = this.callers++ > 0
    if (others) events.joined(this.key, 1)
    // The flight is part of its first caller's own trace, so that caller needs no trace of a wait.
    if (!others && !this.#request.refresh) return () => void this.callers--
    const trace = tracing.begin('wait', this.key)
    trace.follows(this.#trace.context)
    void this.outcome.then((outcome) => endTrace(trace, outcome))
    return () => {
      this.callers--
      trace.end('left')
    }
  }

  /** Gives the flight up: its lease, present or still to come, is released, and its callers get `error`. */
  giveUp(error: CacheError): void {
    this.#givenUp = error
    this.#end(error)
  }

  /** Claims until there is an outcome. Rejects only with STORE_UNAVAILABLE. */
  async #fly(): Promise<FlightOutcome> {
    const { store, keyspace, causalNow, clock, pacing, holder } = this.#parts
    const { key, plan, refresh, read, askedAtMs } = this.#request
    const halfTime = askedAtMs + plan.waitTimeout / 2
    const giveUpAt = clock.now() + plan.waitTimeout
    const known = read?.token
    // Replace the value even if the store calls it fresh: it is of no use here, its tags have ended its ttl, or it is
    // refreshed ahead of its end.
    const mustReplace = read !== null && (read.value === null || read.replace)
    let unwanted = mustReplace ? known : undefined
    let awaited: string | undefined
    let enlistedAsOf: CausalTime | null = null
    let voided = 0
    for (let asked = 1; ; asked++) {
      // Without callers, only a refresh goes on, and only for so long: other processes can refresh as well.
      if (asked > 1 && this.callers === 0 && !(refresh && clock.now() < giveUpAt)) return { state: 'again' }
      const currentAsOf = causalNow()
      const claimedAt = clock.now()
      const claim = await store.claim({
        key: keyspace.keyOf(key, plan.version),
        token: store.newToken(),
        leaseTtl: plan.leaseTtl,
        known,
        unwanted,
        awaited,
        holder,
        context: boundContext(this.#trace.context),
      })
      switch (claim.state) {
        case 'lease':
          if (clock.now() < claimedAt + plan.leaseTtl) return await this.#load(claim.lease, claim.stale, claimedAt)
          // The lease may have run out on its way here, and another process may load already.
          ignoreRejection(store.release(claim.lease))
          return { state: 'again' }
        case 'pass':
          return { state: 'pass' }
        case 'failed':
          this.hasStale ||= claim.stale !== null
          // For the outcome of an awaited load: a caller that joined during the wait may have asked after that load
          // ended.
          return this.#failed(claim.failure, enlistedAsOf ?? currentAsOf)
        case 'fresh': {
          const freshUntil = clock.now() + claim.entry.freshFor
          const found = decodeUsable(claim.entry, key, this.#parts, plan.schema)
          pacing.endRow(key)
          if (found !== null)
            return { state: 'value', value: found.value, currentAsOf, freshUntil, token: claim.entry.token }
          // This token was refused before: asking again cannot replace the value.
          if (unwanted === claim.entry.token) return { state: 'again' }
          unwanted = claim.entry.token
          awaited = undefined
          break
        }
        case 'wait': {
          if (claim.token !== awaited) {
            this.#trace.waits(boundContext(claim.context))
            enlistedAsOf = currentAsOf
          }
          awaited = claim.token
          const outcome = await this.#wait(claim, asked, currentAsOf)
          // The flight must end, because its callers load without a lease after some flights, or half of their patience.
          if (outcome === 'voided' && (++voided === mostVoided || clock.now() >= halfTime)) return { state: 'again' }
          if (outcome !== 'ask again' && outcome !== 'voided') return outcome
          break
        }
      }
    }
  }

  #failed(failure: Failure, currentAsOf: CausalTime): FlightOutcome {
    const error = this.#parts.failures.revive(failure, this.key, this.#request.plan.failureCooldown)
    return { state: 'failed', error, currentAsOf }
  }

  /** Waits for another process's load, until a message arrives or it is time to ask again. */
  async #wait(claim: Wait, asked: number, currentAsOf: CausalTime): Promise<FlightOutcome | 'ask again' | 'voided'> {
    const { clock, store, keyspace, events, causalNow, pacing } = this.#parts
    const { plan, tags } = this.#request
    const { schema, version } = plan
    if (this.state !== 'waiting') events.emit('wait', { key: this.key })
    this.state = 'waiting'
    this.waitingSince ??= clock.now()
    this.hasStale ||= claim.stale !== null
    const outcome = await this.#hear(claim, asked)
    claim.leave()
    if (outcome === 'ask again') return outcome
    if (outcome instanceof CacheError) return { state: 'failed', error: outcome, currentAsOf: causalNow() }
    switch (outcome.state) {
      case 'filled': {
        pacing.endRow(this.key)
        const { token, freshFor } = outcome.entry
        const freshUntil = clock.now() + freshFor
        // It is the outcome that was waited for, even if it has expired on its way.
        const found = decodeUsable(outcome.entry, this.key, this.#parts, schema)
        return found === null
          ? { state: 'again' }
          : { state: 'value', value: found.value, currentAsOf, freshUntil, token }
      }
      case 'read': {
        pacing.endRow(this.key)
        const readAt = causalNow()
        const entry = await store.read(keyspace.keyOf(this.key, version), keyspace.tagsOf(this.key, tags, version))
        // An expired value of the awaited load still counts, unless its tags were invalidated.
        const isAwaited = entry?.token === claim.token && entry.outdated !== true
        if (entry === null || (!isAwaited && entry.freshFor <= 0)) return 'ask again'
        const { token } = entry
        const freshUntil = clock.now() + entry.freshFor
        const found = decodeUsable(entry, this.key, this.#parts, schema)
        return found === null
          ? { state: 'again' }
          : { state: 'value', value: found.value, currentAsOf: readAt, freshUntil, token }
      }
      case 'failed':
        return this.#failed(outcome.failure, currentAsOf)
      case 'pass':
        return { state: 'pass' }
      case 'again':
        this.#trace.again()
        pacing.countVoided(this.key)
        return 'voided'
    }
  }

  /** Waits for the message, and checks from time to time whether it may have been lost. */
  async #hear(
    { outcome, pushed, leaseLeft, stillLoads }: Wait,
    asked: number,
  ): Promise<Outcome | CacheError | 'ask again'> {
    const { clock } = this.#parts
    const delay = (): number => reaskDelay(asked, pushed, drawRandom(clock))
    let sleep = Math.min(delay(), leaseLeft + 1)
    // Then the lease may have ended, and only a claim can win it.
    const mayEnd = sleep > leaseLeft
    for (let checks = mayEnd ? mostChecks : 1; ; checks++) {
      let timer: Timer | undefined
      const timeout = new Promise<'ask again'>((resolve) => {
        timer = clock.after(sleep, () => resolve('ask again'))
      })
      const heard = await Promise.race([outcome, timeout, this.#ended])
      timer?.cancel()
      if (heard !== 'ask again' || stillLoads === undefined || checks === mostChecks || this.callers === 0) return heard
      const isUnderWay = await stillLoads().catch(() => false)
      // The message may have arrived meanwhile.
      if (!isUnderWay) return await Promise.race([outcome, this.#ended, Promise.resolve('ask again' as const)])
      sleep = delay()
    }
  }

  /** Runs the loader under the lease, and ends the lease with the result. */
  async #load(lease: Lease, stale: Entry | null, claimedAt: number): Promise<FlightOutcome> {
    const { key, loader, plan, tags, read } = this.#request
    const { store, clock, events, causalNow, watchdog, leaselessQueue, completion } = this.#parts
    if (this.#givenUp !== null) return await this.#surrender(lease, this.#givenUp)
    let stoodStill: number | undefined
    const watch = watchdog.watch(lease, claimedAt, (why, blocked) => {
      stoodStill = blocked
      this.#end(new CacheError('LEASE_LOST', `The lease for loading ${quoted(key)} was lost: ${why}`, { key }))
    })
    const pause = this.#pauseBeforeLoad()
    const lost = pause === null ? null : await pause
    if (lost !== null) {
      watch.end()
      return this.#givenUp === null ? this.#loseLease(lease, lost) : await this.#surrender(lease, this.#givenUp)
    }
    if (this.waitingSince !== null) events.emit('waited', { key, duration: clock.now() - this.waitingSince })
    this.state = 'loading'
    this.#trace.loads()
    // Reported already, when it was read.
    const isGarbage = read?.value === null && read.token === stale?.token
    const found = stale === null || isGarbage ? null : decodeEntry(stale, key, this.#parts, plan.schema)
    const replaced = found === null ? null : { ...found, ...stale?.validators }
    this.hasStale ||= replaced !== null
    events.emit('load', { key, leased: true })
    const beganAt = causalNow()
    const context = { fence: lease.fence, stale: replaced ?? read?.value ?? null, lost: this.#ended }
    const loaded = await this.#trace.run(() => runLoader({ key, loader, plan, tags, clock, node: this, ...context }))
    this.state = 'filling'
    watch.end()
    if (loaded.state !== 'lost') return await completion.complete({ request: this.#request, lease, beganAt }, loaded)
    if (this.#givenUp !== null) return await this.#surrender(lease, this.#givenUp)
    leaselessQueue.adopt(key, store.unavailable ? beganAt : null, loaded.ended)
    events.emit('lost', { key, error: loaded.error, ...(stoodStill !== undefined && { blocked: stoodStill }) })
    this.#trace.end('lost', loaded.error)
    return this.#loseLease(lease, loaded.error)
  }

  /**
   * Holds the lease while its load has to wait; resolves with the error if the lease was lost meanwhile. `null` if the
   * load can begin.
   */
  #pauseBeforeLoad(): Promise<CacheError | null> | null {
    const { pacing, leaselessQueue } = this.#parts
    const voided = leaselessQueue.untilAdoptedEnd(this.key)
    const pause = pacing.pauseFor(this.key)
    if (voided === null) return pause === 0 ? null : this.#outlast(pause)
    return this.#outlast(longestHold, voided).then((lost) => lost ?? this.#outlast(pacing.pauseFor(this.key)))
  }

  async #outlast(ms: number, over?: Promise<null>): Promise<CacheError | null> {
    if (ms === 0) return null
    let timer: Timer | undefined
    const timeout = new Promise<null>((resolve) => {
      timer = this.#parts.clock.after(ms, () => resolve(null))
    })
    const lost = await Promise.race([timeout, this.#ended, ...(over === undefined ? [] : [over])])
    timer?.cancel()
    return lost
  }

  /** Ends a load whose lease was lost before it had a result. */
  #loseLease(lease: Lease, error: CacheError): FlightOutcome {
    const { store, pacing } = this.#parts
    // After a silence the store may still hold the lease: release it, so that others need not wait for its end.
    ignoreRejection(store.release(lease))
    if (store.unavailable) return { state: 'away', error }
    pacing.countVoided(this.key)
    return { state: 'again' }
  }

  async #surrender(lease: Lease, error: CacheError): Promise<FlightOutcome> {
    await this.#parts.store.release(lease).catch(() => false)
    return { state: 'failed', error, currentAsOf: this.#parts.causalNow() }
  }
}

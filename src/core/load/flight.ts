/*
 * Room: load. Single flight: one load per key in the fleet while the store answers, and one or two per key and process
 * while it does not.
 *
 * Reading order: flight.ts (one claim and its result), flights.ts (the flights of a cache), loader.ts (the run of a
 * loader), complete.ts (fills, and the ends of flights), failures.ts (the errors of loaders), payload.ts (encoding),
 * pacing.ts (the pauses of holders and waiters), circular-load.ts (loaders that wait for loads), leaseless-queue.ts (loads
 * without the store). Which answer a caller may have: CausalTime in time/clock.ts.
 */
import { awaitOutcome } from './pacing.ts'
import type { LoadNode } from './circular-load.ts'
import type { Kind } from '../codec/schema.ts'
import type { Timer, CausalTime } from '../time/clock.ts'
import { CacheError, quoted, ignoreRejection, type Failure } from '../errors.ts'
import { decodeEntry, decodeUsable } from './payload.ts'
import { Loss, runLoader, type LoadRequest, type LoadRun, type LostLoad, type Stale } from './loader.ts'
import type { FlightOutcome } from './complete.ts'
import type { CompletionParts, LeaseCompletion } from './complete.ts'
import type { LeaselessQueue } from './leaseless-queue.ts'
import type { Watchdog, WatchedLease } from '../lease/watchdog.ts'
import type { Claim, Entry, Lease, Wait } from '../contract/store.ts'
import { boundContext, endTrace, FlightTrace, type Tracing } from '../observe/tracing.ts'

/** The number of voided loads of other processes after which a flight ends, and its callers ask again. */
const mostVoided = 5

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

/** A lease, and when its claim was sent, by the clock. */
type Granted = Extract<Claim, { state: 'lease' }> & { readonly claimedAt: number }

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

  /** The token of a value that is of no use here, and that of the load that it waits for. */
  #unwanted: string | undefined
  #awaited: string | undefined
  /** When the claim was sent that enlisted this process as a waiter of that load. */
  #enlistedAsOf: CausalTime | null = null
  /** Ends the wait or the load of the flight. */
  readonly #loss = new Loss()
  #givenUp: CacheError | null = null
  /** How long the process stood still at least before it lost its lease, in ms, if that is why. */
  #stoodStill: number | undefined

  constructor(request: LoadRequest, parts: FlightParts) {
    this.key = request.key
    this.cache = parts.store
    this.parent = request.parent
    const { read } = request
    this.hasStale = read?.value != null
    // Replace the value even if the store calls it fresh: it is of no use here, its tags have ended its ttl, or it is
    // refreshed ahead of its end.
    this.#unwanted = read !== null && (read.value === null || read.replace) ? read.token : undefined
    this.#request = request
    this.#parts = parts
    this.#trace = new FlightTrace(parts.tracing, request.key)
    this.outcome = this.#fly()
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
    this.#loss.lose(error)
  }

  /** Claims, and loads if the claim wins the lease. Never rejects. */
  async #fly(): Promise<FlightOutcome> {
    try {
      const claimed = await this.#claim()
      return claimed.state === 'lease' ? await this.#load(claimed) : claimed
    } catch (error) {
      return { state: 'away', error: error as CacheError }
    }
  }

  /** Claims until there is an outcome, or a lease. Rejects only with STORE_UNAVAILABLE. */
  async #claim(): Promise<FlightOutcome | Granted> {
    const { causalNow, clock } = this.#parts
    const began = clock.now()
    let voided = 0
    for (let asked = 1; ; asked++) {
      if (asked > 1 && !this.#isWanted(began)) return { state: 'again' }
      const currentAsOf = causalNow()
      const claimedAt = clock.now()
      const claim = await this.#sendClaim()
      switch (claim.state) {
        case 'lease':
          return this.#granted(claim, claimedAt)
        case 'pass':
          return { state: 'pass' }
        case 'failed':
          this.hasStale ||= claim.stale !== null
          // For the outcome of an awaited load: a caller that joined during the wait may have asked after that load
          // ended.
          return this.#failed(claim.failure, this.#enlistedAsOf ?? currentAsOf)
        case 'fresh': {
          const outcome = this.#fresh(claim.entry, currentAsOf)
          if (outcome !== null) return outcome
          break
        }
        case 'wait': {
          const outcome = await this.#wait(claim, asked, currentAsOf)
          if (outcome === 'voided' && this.#mustEndAfter(++voided)) return { state: 'again' }
          if (outcome !== 'ask again' && outcome !== 'voided') return outcome
          break
        }
      }
    }
  }

  /**
   * Whether to claim again. Without callers, only a refresh goes on, and only for so long: other processes can refresh
   * as well.
   */
  #isWanted(began: number): boolean {
    const { plan, refresh } = this.#request
    return this.callers > 0 || (refresh && this.#parts.clock.now() < began + plan.waitTimeout)
  }

  /**
   * Whether to end after so many voided loads, because the callers load without a lease after some flights, or half of
   * their patience.
   */
  #mustEndAfter(voided: number): boolean {
    const { askedAtMs, plan } = this.#request
    return voided === mostVoided || this.#parts.clock.now() >= askedAtMs + plan.waitTimeout / 2
  }

  #sendClaim(): Promise<Claim> {
    const { store, keyspace, holder } = this.#parts
    const { key, plan, read } = this.#request
    return store.claim({
      key: keyspace.keyOf(key, plan.version),
      token: store.newToken(),
      leaseTtl: plan.leaseTtl,
      known: read?.token,
      unwanted: this.#unwanted,
      awaited: this.#awaited,
      holder,
      context: boundContext(this.#trace.context),
    })
  }

  /** A lease, unless it may have run out on its way here: another process may load already. */
  #granted(claim: Extract<Claim, { state: 'lease' }>, claimedAt: number): Granted | FlightOutcome {
    const { clock, store } = this.#parts
    if (clock.now() < claimedAt + this.#request.plan.leaseTtl) {
      return { state: 'lease', lease: claim.lease, stale: claim.stale, claimedAt }
    }
    ignoreRejection(store.release(claim.lease))
    return { state: 'again' }
  }

  /** The outcome with a value that the claim has found; `null` if it is of no use here, and is to be replaced. */
  #fresh(entry: Entry, currentAsOf: CausalTime): FlightOutcome | null {
    const { token } = entry
    const freshUntil = this.#parts.clock.now() + entry.freshFor
    const found = decodeUsable(entry, this.key, this.#parts, this.#request.plan.schema)
    this.#parts.pacing.endRow(this.key)
    if (found !== null) return { state: 'value', value: found.value, currentAsOf, freshUntil, token }
    // This token was refused before: asking again cannot replace the value.
    if (this.#unwanted === token) return { state: 'again' }
    this.#unwanted = token
    this.#awaited = undefined
    return null
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
    if (claim.token !== this.#awaited) {
      this.#trace.waits(boundContext(claim.context))
      this.#enlistedAsOf = currentAsOf
    }
    this.#awaited = claim.token
    if (this.state !== 'waiting') events.emit('wait', { key: this.key })
    this.state = 'waiting'
    this.waitingSince ??= clock.now()
    this.hasStale ||= claim.stale !== null
    const outcome = await awaitOutcome(claim, { asked, clock, loss: this.#loss, isWanted: () => this.callers > 0 })
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

  /** Runs the loader under the lease, and ends the lease with the result. */
  async #load({ lease, stale, claimedAt }: Granted): Promise<FlightOutcome> {
    if (this.#givenUp !== null) return await this.#surrender(lease, this.#givenUp)
    const watch = this.#watch(lease, claimedAt)
    const pause = this.#pauseBeforeLoad()
    const lost = pause === null ? null : await pause
    if (lost !== null) {
      watch.end()
      return this.#givenUp === null ? this.#loseLease(lease, lost) : await this.#surrender(lease, this.#givenUp)
    }
    const replaced = this.#beginLoad(stale)
    const beganAt = this.#parts.causalNow()
    const loaded = await this.#runLoader(lease.fence, replaced)
    this.state = 'filling'
    watch.end()
    if (loaded.state !== 'lost') {
      return await this.#parts.completion.complete({ request: this.#request, lease, beganAt }, loaded)
    }
    return this.#givenUp === null
      ? this.#abandonLoad(lease, loaded, beganAt)
      : await this.#surrender(lease, this.#givenUp)
  }

  #watch(lease: Lease, claimedAt: number): WatchedLease<Lease> {
    return this.#parts.watchdog.watch(lease, claimedAt, (why, blocked) => {
      this.#stoodStill = blocked
      const message = `The lease for loading ${quoted(this.key)} was lost: ${why}`
      this.#loss.lose(new CacheError('LEASE_LOST', message, { key: this.key }))
    })
  }

  /** Reports that the load begins; returns the value that it will replace. */
  #beginLoad(stale: Entry | null): Stale | null {
    const { key } = this
    const { plan, read } = this.#request
    const { clock, events } = this.#parts
    if (this.waitingSince !== null) events.emit('waited', { key, duration: clock.now() - this.waitingSince })
    this.state = 'loading'
    this.#trace.loads()
    // Reported already, when it was read.
    const isGarbage = read?.value === null && read.token === stale?.token
    const found = stale === null || isGarbage ? null : decodeEntry(stale, key, this.#parts, plan.schema)
    this.hasStale ||= found !== null
    events.emit('load', { key, leased: true })
    return found === null ? (read?.value ?? null) : { ...found, ...stale?.validators }
  }

  #runLoader(fence: bigint, stale: Stale | null): Promise<LoadRun> {
    const { key, loader, plan, tags } = this.#request
    const [loss, { clock }] = [this.#loss, this.#parts]
    return this.#trace.run(() => runLoader({ key, loader, plan, tags, clock, node: this, fence, stale, loss }))
  }

  /** Gives a load up whose lease was lost before it had a result. */
  #abandonLoad(lease: Lease, { error, ended }: LostLoad, beganAt: CausalTime): FlightOutcome {
    const { store, events, leaselessQueue } = this.#parts
    leaselessQueue.adopt(this.key, store.unavailable ? beganAt : null, ended)
    const blocked = this.#stoodStill
    events.emit('lost', { key: this.key, error, ...(blocked !== undefined && { blocked }) })
    this.#trace.end('lost', error)
    return this.#loseLease(lease, error)
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
    const lost = await Promise.race([timeout, this.#loss.promise(), ...(over === undefined ? [] : [over])])
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

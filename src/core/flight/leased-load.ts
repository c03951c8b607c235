import { CacheError, ignoreRejection, quoted } from '../errors.ts'
import { decodeEntry, encodeValue, type Stale } from '../codec/payload.ts'
import type { Entry, Lease } from '../contract/store.ts'
import { applyJitter, unstoredFacts } from '../entry/freshness.ts'
import { everyThird, type Lose, type WatchedLease } from '../lease/watchdog.ts'
import type { FlightTrace } from '../observe/tracing.ts'
import { Permit } from '../source/permit.ts'
import { drawRandom, type CausalTime } from '../time/clock.ts'
import { atMost } from '../time/deadline.ts'
import { always, type Answer } from './answer.ts'
import type { Granted, LeasedFlight } from './leased-flight.ts'
import { defaultPassFor, runLoader, type LoadResult, type LoadRun, type LostLoad } from './loader.ts'
import type { FlightParts } from './parts.ts'
import { enterSource, type Entrance } from './queueing.ts'
import { LostFlight } from './unleased-flight.ts'

/** How long a load waits for an older load of its key that was voided but still runs, in milliseconds. */
const longestHold = 250

/** Runs the loader of a flight under its lease, and ends the lease with the result. */
export function loadWithLease(
  flight: LeasedFlight,
  granted: Granted,
  parts: FlightParts,
  trace: FlightTrace,
): Promise<Answer> {
  return new LeasedLoad(flight, granted, parts, trace).run()
}

class LeasedLoad {
  readonly #flight: LeasedFlight
  readonly #lease: Lease
  readonly #granted: Granted
  readonly #parts: FlightParts
  readonly #trace: FlightTrace
  /** How long the process stood still at least before it lost its lease, in ms, if that is why. */
  #stoodStill: number | undefined

  constructor(flight: LeasedFlight, granted: Granted, parts: FlightParts, trace: FlightTrace) {
    this.#flight = flight
    this.#lease = granted.lease
    this.#granted = granted
    this.#parts = parts
    this.#trace = trace
  }

  async run(): Promise<Answer> {
    const { givenUp } = this.#flight
    if (givenUp !== null) return await this.#surrender(givenUp)
    const watch = this.#watch()
    const pause = this.#pause()
    const lost = pause === null ? null : await pause
    if (lost !== null) {
      watch.end()
      return await this.#loseLease(lost)
    }
    if (this.#flight.lead.plan.source !== null) {
      const entrance = await this.#enter()
      if (entrance instanceof CacheError || entrance === 'unwanted') {
        watch.end()
        return await this.#stayOut(entrance)
      }
      this.#flight.permit = entrance
    }
    if (this.#flight.lead.cannotLead) {
      watch.end()
      this.#flight.permit?.giveBack()
      return await this.#stayOut('unwanted')
    }
    const replaced = this.#begin()
    const beganAt = this.#parts.causalNow()
    const loaded = await this.#runLoader(replaced)
    this.#flight.state = 'filling'
    watch.end()
    switch (loaded.state) {
      case 'value':
        return await this.#fill(loaded, beganAt)
      case 'failed':
        return await this.#fail(loaded, beganAt)
      case 'pass':
        ignoreRejection(this.#parts.store.pass(this.#lease, loaded.passFor))
        return { state: 'pass', own: { value: loaded.value, caller: this.#flight.lead.askedAt } }
      case 'lost':
        return await this.#abandon(loaded, beganAt)
    }
  }

  #watch(): WatchedLease<Lease> {
    const { key, lead, loss } = this.#flight
    const lose: Lose = (why, blocked) => {
      this.#stoodStill = blocked
      loss.lose(new CacheError('LEASE_LOST', `The lease for loading ${quoted(key)} was lost: ${why}`, { key }))
    }
    const renewal = lead.plan.source === null ? everyThird : { ...everyThird, hurry: () => this.#flight.hurry() }
    return this.#parts.watchdog.watch(this.#lease, this.#granted.claimedAt, lose, renewal)
  }

  /** Holds the lease while its load has to wait; `null` if the load can begin, else as `#outlast`. */
  #pause(): Promise<CacheError | null> | null {
    const { pacing, unleased } = this.#parts
    const { key } = this.#flight
    const others = unleased.untilLostEnd(key)
    const pause = pacing.pauseFor(key)
    return others === null && pause === 0 ? null : this.#outlast(others, pause)
  }

  /**
   * Waits for loads of the key that were voided but still run, and pauses in a storm of invalidations. Then the lease is
   * looked at again, because of this race between processes A and B:
   *
   * 1. A is granted lease a, and pauses. The key is invalidated, which voids a; the message to A is late.
   * 2. B claims the key, is granted lease b, loads, and its fill is accepted: there is a fresh value.
   * 3. The pause of A ends. Its load could not be stored, and would be one more than needed.
   *
   * @param others resolves when those loads have ended; `null` if there are none
   * @param pause in milliseconds
   * @returns the error if the lease was lost, else `null`
   */
  async #outlast(others: Promise<null> | null, pause: number): Promise<CacheError | null> {
    const { clock, store } = this.#parts
    const { key, loss } = this.#flight
    const lost = loss.promise()
    if (others !== null) await atMost(longestHold, clock, [lost, others], null)
    if (pause > 0 && loss.reason === null) await atMost(pause, clock, [lost], null)
    if (loss.reason !== null) return loss.reason
    const [ours] = await Promise.all(store.renew([this.#lease]).map((answer) => answer.catch(() => true)))
    // The message may have come before the answer.
    if (ours !== false || loss.reason !== null) return loss.reason
    return new CacheError('LEASE_LOST', `The lease for loading ${quoted(key)} was lost before the load began`, { key })
  }

  /** Waits for the permit of the source. */
  async #enter(): Promise<Entrance | 'unwanted'> {
    const { loss } = this.#flight
    if (loss.reason !== null) return loss.reason
    loss.tell((error) => this.#flight.queueing?.stop(error))
    const entrance = await enterSource(this.#flight, this.#parts)
    if (loss.reason === null && (entrance instanceof CacheError || this.#flight.isWanted)) return entrance
    if (entrance instanceof Permit) entrance.giveBack()
    return loss.reason ?? 'unwanted'
  }

  /** The load does not begin. */
  async #stayOut(why: CacheError | 'unwanted'): Promise<Answer> {
    if (why !== 'unwanted') {
      if (why.code !== 'OVERLOADED') return await this.#loseLease(why)
      if (!this.#flight.letGoOfLead()) return await this.#surrender(why)
      // Its caller has the stale value. The next one would only ask the source again.
      const { key, lead } = this.#flight
      this.#parts.pacing.rest(key, lead.plan.failureCooldown)
    }
    ignoreRejection(this.#parts.store.release(this.#lease))
    return { state: 'again' }
  }

  /** Reports that the load begins; returns the value that it will replace. */
  #begin(): Stale | null {
    const { key, existing } = this.#flight
    const { events } = this.#parts
    this.#flight.state = 'loading'
    this.#trace.loads()
    const found = this.#decoded(this.#granted.stale)
    this.#flight.hasStale ||= found !== null
    events.emit('load', { key, leased: true })
    return found === null ? (existing?.value ?? null) : { ...found, ...this.#granted.stale?.validators }
  }

  #decoded(stale: Entry | null): Stale | null {
    const { key, existing, lead } = this.#flight
    // Reported already, when it was read.
    const isGarbage = existing?.value === null && existing.token === stale?.token
    return stale === null || isGarbage ? null : decodeEntry(stale, key, this.#parts, lead.plan.schema)
  }

  #runLoader(stale: Stale | null): Promise<LoadRun> {
    const { key, lead, loss } = this.#flight
    const { loader, plan, tags } = lead
    const { clock, hardDeadlines: deadlines } = this.#parts
    const { fence } = this.#lease
    const { permit } = this.#flight
    const own = { node: this.#flight, fence, stale, loss, permit, beginning: lead.beginning }
    const load = { key, loader, plan, tags, clock, deadlines, ...own }
    return this.#trace.run(() => runLoader(load))
  }

  /**
   * Answers the callers when the store has accepted the value, not when the loader returns. This handles the following
   * race between processes A and B:
   *
   * 1. A claims a key, wins lease a, and its loader reads the old row.
   * 2. The row changes, and B invalidates the key. Redis deletes the value and lease a, and B's call resolves.
   * 3. The message to A that a is void is late. A new caller in A asks for the key and joins the flight, which still
   *    loads.
   * 4. A's loader returns the old row, and A sends the fill under token a.
   * 5. Redis finds no lease with token a, and refuses the fill.
   * 6. A drops the old row. The flight ends with `again`, and its callers ask again.
   * 7. A claims the key, wins lease c, and loads the new row for all of them.
   *
   * If the callers were answered in step 4, the caller of step 3 would get a value that is older than the invalidation,
   * although it asked after the invalidation.
   */
  #fill(result: LoadResult & { state: 'value' }, beganAt: CausalTime): Promise<Answer> {
    const { store, codec, events, keyspace, clock, pacing } = this.#parts
    const { key, lead } = this.#flight
    const { plan } = lead
    const { value, grace, loadTime, validators } = result
    const endedAt = this.#parts.causalNow()
    const payload = encodeValue(value, key, plan.maxValueSize, codec)
    if (payload instanceof CacheError) {
      return plan.unstorable === 'throw'
        ? this.#fail({ error: payload, cooldown: plan.failureCooldown, tags: result.tags }, beganAt)
        : this.#handOut(result, payload, { beganAt, endedAt })
    }
    const tags = keyspace.tagsOf(key, result.tags, plan.version)
    const ttl = applyJitter(result.ttl, plan.jitter, drawRandom(clock))
    const { inlineLimit } = plan
    const { token } = this.#lease
    const filling = store.fill(this.#lease, { payload, ttl, grace, loadTime, inlineLimit, tags, validators })
    return filling.then(
      (filled) => {
        if (!filled) {
          events.emit('refused', { key })
          return this.#voided()
        }
        events.emit('fill', { key, bytes: payload.byteLength, loadTime })
        pacing.endStreak(key)
        const facts = { state: 'loaded', age: 0, ttl, tags } as const
        return { state: 'value', value, currentAsOf: endedAt, freshUntil: always, token, facts }
      },
      (error: CacheError) => {
        if (plan.onStoreFailure === 'throw') return { state: 'away', error }
        this.#remember(clock.now() - loadTime, payload)
        // Without the store's acceptance, the value is current only as of the beginning of the load.
        return { state: 'value', value, currentAsOf: beganAt, freshUntil: always, token, facts: unstoredFacts }
      },
    )
  }

  /**
   * Gives a value that cannot be stored to the callers of this process, and has all others load for themselves for a
   * while. As with a fill, the store's acceptance proves that the key was not invalidated while it was loaded, so the
   * value counts for callers that joined meanwhile, too. It proves nothing about the tags of the value.
   */
  async #handOut(
    { value, loadTime, tags }: LoadResult & { state: 'value' },
    error: CacheError,
    { beganAt, endedAt }: { readonly beganAt: CausalTime; readonly endedAt: CausalTime },
  ): Promise<Answer> {
    const { store, events, clock, keyspace } = this.#parts
    const { key, lead } = this.#flight
    const isTagged = keyspace.tagsOf(key, tags, lead.plan.version).length > 0
    events.emit('unstorable', { key, error })
    const began = clock.now() - loadTime
    const handedOut = (currentAsOf: CausalTime): Answer => {
      this.#remember(began, null)
      const { token } = this.#lease
      return { state: 'value', value, currentAsOf, freshUntil: always, token, facts: unstoredFacts }
    }
    try {
      if (await store.pass(this.#lease, defaultPassFor)) {
        this.#parts.pacing.endStreak(key)
        return handedOut(isTagged ? beganAt : endedAt)
      }
      events.emit('refused', { key })
      return this.#voided()
    } catch (away) {
      return lead.plan.onStoreFailure === 'throw' ? { state: 'away', error: away as CacheError } : handedOut(beganAt)
    }
  }

  /**
   * Remembers a value that the store may lack, and that callers are given: what nobody has seen must not end the use of a
   * stale value. A caller that was told to lead has made it.
   */
  #remember(began: number, payload: Uint8Array | null): void {
    const { callers, key, lead } = this.#flight
    if (callers > 0 || lead.beginning !== null) this.#parts.unstored.add(key, began, payload)
  }

  /** Shares an error once the store has accepted it as the outcome, like a value. */
  async #fail(
    { error, cooldown, tags }: Pick<LoadResult & { state: 'failed' }, 'error' | 'cooldown' | 'tags'>,
    beganAt: CausalTime,
  ): Promise<Answer> {
    const { store, causalNow, pacing, failures, keyspace } = this.#parts
    const { key, lead } = this.#flight
    const failure = failures.describe(error, { key, token: this.#lease.token }, cooldown)
    try {
      if (!(await store.fail(this.#lease, failure, cooldown, keyspace.tagsOf(key, tags, lead.plan.version)))) {
        return this.#voided()
      }
      pacing.endStreak(key)
      return { state: 'failed', error, currentAsOf: causalNow() }
    } catch {
      return { state: 'failed', error, currentAsOf: beganAt }
    }
  }

  /** The load goes on without its lease, and without this flight. */
  async #abandon({ error, ended }: LostLoad, beganAt: CausalTime): Promise<Answer> {
    const { givenUp, key } = this.#flight
    if (givenUp !== null) return await this.#surrender(givenUp)
    const { store, events, unleased } = this.#parts
    const { lead } = this.#flight
    unleased.adopt(key, store.unavailable ? new LostFlight(lead, this.#parts, ended, beganAt) : null, ended)
    const blocked = this.#stoodStill
    events.emit('lost', { key, error, ...(blocked !== undefined && { blocked }) })
    this.#trace.end('lost', error)
    return await this.#loseLease(error)
  }

  /** The lease was lost before the load had a result. */
  async #loseLease(error: CacheError): Promise<Answer> {
    const { givenUp } = this.#flight
    if (givenUp !== null) return await this.#surrender(givenUp)
    const { store } = this.#parts
    // After a silence the store may still hold the lease: release it, so that others need not wait for its end.
    ignoreRejection(store.release(this.#lease))
    return store.unavailable ? { state: 'away', error } : this.#voided()
  }

  #voided(): Answer {
    this.#parts.pacing.countVoided(this.#flight.key)
    return { state: 'again' }
  }

  async #surrender(error: CacheError): Promise<Answer> {
    await this.#parts.store.release(this.#lease).catch(() => false)
    return { state: 'failed', error, currentAsOf: this.#parts.causalNow() }
  }
}

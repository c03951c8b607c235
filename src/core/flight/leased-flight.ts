import { CacheError, ignoreRejection, quoted, type Failure } from '../errors.ts'
import type { Claim, Entry, Lease, Wait } from '../contract/store.ts'
import { decodeEntry } from '../codec/payload.ts'
import { boundContext, FlightTrace } from '../observe/tracing.ts'
import type { CausalTime } from '../time/clock.ts'
import { factsOf } from '../entry/freshness.ts'
import type { Answer } from './answer.ts'
import type { Caller, Existing } from './caller.ts'
import { KeyFlight, type WaitEnd } from './key-flight.ts'
import { loadWithLease } from './leased-load.ts'
import { Loss } from './loss.ts'
import type { FlightParts } from './parts.ts'
import { awaitOutcome } from './waiting.ts'

/** The number of voided loads of other processes after which a flight ends, and its callers ask again. */
const mostVoided = 5

/** A lease, the value that its load will replace, and when its claim was sent, by the clock. */
export interface Granted {
  readonly lease: Lease
  readonly stale: Entry | null
  readonly claimedAt: number
}

/** A flight that claims its key, and then waits for the holder of the lease, or loads under a lease of its own. */
export class LeasedFlight extends KeyFlight {
  /** The stored value that a load will replace. */
  readonly existing: Existing | null
  /** Whether it refreshes a value that callers are served meanwhile, so that none may wait for it. */
  readonly isRefresh: boolean
  /** The end of the wait or the load before its time. */
  readonly loss: Loss = new Loss()
  /** Why the flight was given up. */
  givenUp: CacheError | null = null
  declare protected readonly trace: FlightTrace
  /** Gives its stale value to the caller that waits to lead. */
  #letGo: (() => void) | null = null
  /** When the wait for another process's load began, by the clock. */
  #waitingSince: number | null = null
  /** The token of a value that is of no use here, and that of the load that it waits for. */
  #unwanted: string | undefined
  #awaited: string | undefined
  /** When the claim was sent that enlisted this process as a waiter of that load. */
  #enlistedAsOf: CausalTime | null = null

  constructor(lead: Caller, parts: FlightParts, existing: Existing | null, isRefresh: boolean) {
    const trace = new FlightTrace(parts.tracing, lead.key)
    super(lead, parts, { state: 'claiming', trace, parent: isRefresh ? null : lead.parent })
    this.existing = existing
    this.isRefresh = isRefresh
    this.hasStale = existing?.value != null
    // Replace the value even if the store calls it fresh: it is of no use here, its tags have ended its ttl, or it is
    // refreshed ahead of its end.
    this.#unwanted = existing !== null && (existing.value === null || existing.replace) ? existing.token : undefined
  }

  /**
   * As `join`, for a caller that waits to lead, and not for a value: it is late as soon as another process loads, or its
   * source has no room.
   */
  joinToLead(caller: Caller, until: number): Promise<WaitEnd> {
    this.mayWait = false
    const othersLead = new Promise<WaitEnd>((resolve) => {
      this.#letGo = () => {
        caller.group?.leave()
        resolve({ state: 'late' })
      }
    })
    return Promise.race([this.join(caller, until), othersLead])
  }

  /** There is no room for its load: lets go a caller that waits to lead; returns whether there is one. */
  letGoOfLead(): boolean {
    this.#letGo?.()
    return this.#letGo !== null
  }

  /**
   * Its key was overwritten by this process. A load that waits for its source waits in vain, and the message that would
   * say so may be lost.
   */
  overwritten(): void {
    if (this.state !== 'queued') return
    const message = `The lease for loading ${quoted(this.key)} was lost: its key was overwritten`
    this.loss.lose(new CacheError('LEASE_LOST', message, { key: this.key }))
  }

  protected fly(): Promise<Answer> {
    return this.#claim().catch((error: CacheError) => ({ state: 'away', error }))
  }

  protected abandon(error: CacheError): void {
    this.givenUp = error
    this.loss.lose(error)
  }

  /** Claims until there is an answer. Rejects only with STORE_UNAVAILABLE. */
  async #claim(): Promise<Answer> {
    const { causalNow, clock, claims } = this.parts
    const began = clock.now()
    let voided = 0
    for (let asked = 1; ; asked++) {
      if (asked > 1 && !this.#isWanted(began)) return { state: 'again' }
      const permit = claims.acquire()
      if (permit !== null) {
        await permit
        // Its callers may have left meanwhile, and the cache may have been closed.
        if (!this.#isWanted(began)) {
          claims.release()
          return { state: 'again' }
        }
      }
      const currentAsOf = causalNow()
      const claimedAt = clock.now()
      let claim: Claim
      try {
        claim = await this.#sendClaim()
      } finally {
        claims.release()
      }
      switch (claim.state) {
        case 'lease':
          return this.#load(claim, claimedAt)
        case 'pass':
          return { state: 'pass' }
        case 'failed':
          this.hasStale ||= claim.stale !== null
          // For the outcome of an awaited load: a caller that joined during the wait may have asked after that load
          // ended.
          return this.#failed(claim.failure, this.#enlistedAsOf ?? currentAsOf)
        case 'fresh': {
          const answer = this.#fresh(claim.entry, currentAsOf)
          if (answer !== null) return answer
          break
        }
        case 'wait': {
          const answer = await this.#wait(claim, asked, currentAsOf)
          if (answer === 'voided' && this.#mustEndAfter(++voided)) return { state: 'again' }
          if (answer !== 'ask again' && answer !== 'voided') return answer
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
    if (this.givenUp !== null) return false
    return this.callers > 0 || (this.isRefresh && this.parts.clock.now() < began + this.lead.plan.waitTimeout)
  }

  /** Whether its load is still of use. */
  get isWanted(): boolean {
    return (this.callers > 0 || this.isRefresh) && !this.lead.cannotLead
  }

  /** Whether to end after so many voided loads, because callers load without a lease after some, or half of their time. */
  #mustEndAfter(voided: number): boolean {
    const { askedAtMs, plan } = this.lead
    return voided === mostVoided || this.parts.clock.now() >= askedAtMs + plan.waitTimeout / 2
  }

  #sendClaim(): Promise<Claim> {
    const { store, keyspace, holder } = this.parts
    const { plan } = this.lead
    return store.claim({
      key: keyspace.keyOf(this.key, plan.version),
      token: store.newToken(),
      leaseTtl: plan.leaseTtl,
      known: this.existing?.token,
      unwanted: this.#unwanted,
      awaited: this.#awaited,
      urgent: plan.source !== null && this.need.urgency === 0,
      holder,
      context: boundContext(this.trace.context),
    })
  }

  /** Loads under the lease, unless it may have run out on its way here: another process may load already. */
  #load({ lease, stale }: Claim & { state: 'lease' }, claimedAt: number): Answer | Promise<Answer> {
    const { clock, store } = this.parts
    this.endWait()
    if (clock.now() < claimedAt + this.lead.plan.leaseTtl) {
      return loadWithLease(this, { lease, stale, claimedAt }, this.parts, this.trace)
    }
    ignoreRejection(store.release(lease))
    return { state: 'again' }
  }

  /** The answer with a value that the claim has found; `null` if it is of no use here, and is to be replaced. */
  #fresh(entry: Entry, currentAsOf: CausalTime): Answer | null {
    this.parts.pacing.endStreak(this.key)
    const answer = this.#valueOf(entry, currentAsOf, 'fresh')
    // If this token was refused before, asking again cannot replace the value.
    if (answer !== null || this.#unwanted === entry.token) return answer ?? { state: 'again' }
    this.#unwanted = entry.token
    this.#awaited = undefined
    return null
  }

  /** The answer with a stored value; `null` if it does not decode, or is older than one that callers here have received. */
  #valueOf(entry: Entry, currentAsOf: CausalTime, state: 'fresh' | 'loaded' = 'loaded'): Answer | null {
    const { clock, unstored } = this.parts
    const freshUntil = clock.now() + entry.freshFor
    if (unstored.isOlder(this.key, entry)) return null
    const found = decodeEntry(entry, this.key, this.parts, this.lead.plan.schema)
    const facts = factsOf(entry, state)
    return found && { state: 'value', value: found.value, currentAsOf, freshUntil, token: entry.token, facts }
  }

  #failed(failure: Failure, currentAsOf: CausalTime): Answer {
    const error = this.parts.failures.revive(failure, this.key, this.lead.plan.failureCooldown)
    return { state: 'failed', error, currentAsOf }
  }

  /** Reports that the wait for another process's load is over, if there was one. */
  endWait(): void {
    const { clock, events } = this.parts
    if (this.#waitingSince !== null) {
      events.emit('waited', { key: this.key, duration: clock.now() - this.#waitingSince })
    }
    this.#waitingSince = null
  }

  /** Waits for another process's load, until a message arrives or it is time to ask again. */
  async #wait(claim: Wait, asked: number, currentAsOf: CausalTime): Promise<Answer | 'ask again' | 'voided'> {
    const { clock, events, causalNow, pacing } = this.parts
    if (claim.token !== this.#awaited) {
      this.trace.waits(boundContext(claim.context))
      this.#enlistedAsOf = currentAsOf
    }
    this.#awaited = claim.token
    if (this.state !== 'waiting') events.emit('wait', { key: this.key })
    this.state = 'waiting'
    this.#letGo?.()
    this.#waitingSince ??= clock.now()
    this.hasStale ||= claim.stale !== null
    const outcome = await awaitOutcome(claim, { asked, clock, loss: this.loss, isWanted: () => this.callers > 0 })
    claim.leave()
    if (outcome === 'ask again') return outcome
    if (outcome instanceof CacheError) return { state: 'failed', error: outcome, currentAsOf: causalNow() }
    if (outcome.state === 'filled' || outcome.state === 'read') pacing.endStreak(this.key)
    switch (outcome.state) {
      case 'filled':
        // It is the outcome that was waited for, even if it has expired on its way.
        return this.#valueOf(outcome.entry, currentAsOf) ?? { state: 'again' }
      case 'read':
        return await this.#readOutcome(claim.token)
      case 'failed':
        return this.#failed(outcome.failure, currentAsOf)
      case 'pass':
        return { state: 'pass' }
      case 'again':
        this.trace.again()
        pacing.countVoided(this.key)
        return 'voided'
    }
  }

  /** Reads the value of the awaited load, which was too large for its message. */
  async #readOutcome(awaited: string): Promise<Answer | 'ask again'> {
    const { store, keyspace, causalNow } = this.parts
    const { tags, plan } = this.lead
    const readAt = causalNow()
    const name = keyspace.keyOf(this.key, plan.version)
    const entry = await store.read(name, keyspace.tagsOf(this.key, tags, plan.version))
    // An expired value of the awaited load still counts, unless its tags were invalidated.
    const isAwaited = entry?.token === awaited && entry.outdated !== true
    if (entry === null || (!isAwaited && entry.freshFor <= 0)) return 'ask again'
    return this.#valueOf(entry, readAt) ?? { state: 'again' }
  }
}

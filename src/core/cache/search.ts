import { circleAbove, type LoadNode, waitNested, type TooLong } from '../load/circular-load.ts'
import { CacheError } from '../errors.ts'
import { isSameKind } from '../codec/schema.ts'
import { freshnessOf } from '../entry/freshness.ts'
import type { Flight } from '../load/flight.ts'
import type { Flights } from '../load/flights.ts'
import { type CallRequest, type LoadRequest, valueOf, type LoadRun, type Stale } from '../load/loader.ts'
import type { LeaselessLoads, LeaselessQueue } from '../load/leaseless-queue.ts'
import { always, type CallEnd, type CallStart } from './pending-answer.ts'
import { awaitedValue, clockTolerance, type ReadResult, type Reads } from './reads.ts'
import type { FlightOutcome } from '../load/complete.ts'
import type { Clock } from '../time/clock.ts'
import type { Near } from '../near/near.ts'

/** The parts that the searches of one cache share. */
export interface SearchParts {
  /** Identifies the cache: two caches may use the same key for different values. */
  readonly store: object
  readonly reads: Pick<Reads, 'read'>
  readonly flights: Flights
  readonly leaselessQueue: LeaselessQueue
  readonly leaselessLoads: LeaselessLoads
  readonly near: Pick<Near, 'spare'> | null
  readonly clock: Clock
}

/** The call that searches. */
export interface Searcher {
  readonly request: CallRequest
  /** The load whose loader is the caller. */
  readonly parent: LoadNode | null
  readonly known: KnownValue
  /** Whether all that wait for the answer have one. */
  readonly isOver: boolean
  /** The end of the call with the value of a read; `null` if it must go on. */
  endOf(read: ReadResult): CallEnd | null
  /** It has joined a flight. */
  joined(): void
  /** From here on, the answer is for its caller alone. */
  dismissFollowers(from: CallStart): void
}

/** The number of flights without a good answer after which a caller loads without a lease. */
const mostFlights = 5
/** The number of voided flights after which it does so once half of its `waitTimeout` is over: two may take the rest. */
const mostVoidedSlowly = 2

/** What a call knows of the stored value: its answer, or the value that a new load will replace. */
export class KnownValue {
  readonly #request: CallRequest
  readonly #clock: Clock
  #existing: LoadRequest['read'] = null
  /** The token of the value that is to be replaced, however fresh it is. */
  #replaced: string | null = null
  /** The load that the caller has waited for, and since when, by the clock. */
  #awaited: { readonly token: string; readonly since: number } | null = null
  #stale: (Stale & { readonly until: number }) | null = null

  constructor(request: CallRequest, clock: Clock) {
    this.#request = request
    this.#clock = clock
  }

  /** The value that a load will replace. */
  get existing(): LoadRequest['read'] {
    return this.#existing
  }

  /** Whether it has found a value that was stale by then. */
  get hasStale(): boolean {
    return this.#stale !== null
  }

  /** The stale value that may be served now. */
  get stale(): Stale | null {
    return this.#stale !== null && this.#clock.now() < this.#stale.until ? this.#stale : null
  }

  /** A refresh replaces the value that its first read has found. */
  replace(read: ReadResult): void {
    if ('entry' in read) this.#replaced = read.entry.token
  }

  /** The caller has waited for a load, since a moment of the clock: its value counts even if it expires meanwhile. */
  awaits(token: string, since: number): void {
    this.#awaited = { token, since }
  }

  /**
   * The end of the call with the value of a read, if it needs no waiting: a fresh one, a stale one, or the one that was
   * waited for.
   */
  endOf(read: ReadResult): CallEnd | null {
    const isNew = read.state === 'entry' && read.entry.token !== this.#replaced
    if (isNew && freshnessOf(read.entry, 0) === 'fresh') return { state: 'hit', read }
    this.#remember(read)
    const { stale } = this
    if (stale !== null && this.#request.plan.softTimeout === 0) return { state: 'stale', stale }
    if (this.#awaited === null) return null
    const { token, since } = this.#awaited
    const now = this.#clock.now()
    const found = awaitedValue(read, token, now - since)
    if (found === null) return null
    return { state: 'value', value: found.value, currentAsOf: always, freshUntil: now + found.entry.freshFor, token }
  }

  /** Until a new load has replaced it, the value may be served stale. */
  #remember(read: ReadResult): void {
    const { plan, refresh } = this.#request
    this.#existing = read.state === 'nothing' ? null : { token: read.entry.token, value: null, replace: false }
    this.#stale = null
    if (read.state !== 'entry') return
    const { entry, value, at } = read
    const seen = freshnessOf(entry, plan.grace)
    if (seen === 'expired') return
    const until = at + Math.min(entry.staleFor, plan.grace + entry.freshFor)
    const old = { value, age: entry.age, ...entry.validators, until }
    this.#existing = { token: entry.token, value: old, replace: seen === 'fresh' || entry.outdated === true }
    // A refresh is not answered with the old value.
    if (!refresh) this.#stale = old
  }
}

/** The search of one call for a value that is not there yet: by flights of its key, or by a load without a lease. */
export class Search {
  readonly #parts: SearchParts
  readonly #owner: Searcher
  readonly #request: CallRequest
  readonly #parent: LoadNode | null
  #flight: Flight | null = null
  #leave: () => void = () => undefined

  constructor(parts: SearchParts, owner: Searcher) {
    this.#parts = parts
    this.#owner = owner
    this.#request = owner.request
    this.#parent = owner.parent
  }

  /** The flight that it waits for. */
  get flight(): Flight | null {
    return this.#flight
  }

  /** The call is over. */
  leave(): void {
    this.#leave()
  }

  /**
   * Joins or starts flights until an outcome is good for this caller. The comparison with `currentAsOf` handles this
   * race between processes A and B:
   *
   * 1. Caller 1 asks in A for a key that B loads. A claims it at moment 7 of A's causal order, and is enlisted as a
   *    waiter.
   * 2. B's fill is accepted. The message with the value is on its way to A.
   * 3. B invalidates the key: Redis deletes the value, and the call resolves.
   * 4. Caller 2 asks in A, at moment 8. It may know of the invalidation. A's flight still waits, and caller 2 joins it.
   * 5. The message arrives. The flight's value is current as of its claim, moment 7.
   * 6. Caller 1 asked before moment 7, and is given the value. Caller 2 asked after it, reads again, finds nothing, and
   *    its next flight loads a new value.
   */
  async run(from: Exclude<CallStart, 'unread'> | null): Promise<CallEnd> {
    const { flights, clock } = this.#parts
    const { askedAt, askedAtMs, plan } = this.#request
    const halfTime = askedAtMs + plan.waitTimeout / 2
    let read = from
    let voided = 0
    for (let flown = 0; flown < mostFlights && !this.#owner.isOver; flown++) {
      if (read instanceof CacheError) return await this.#answerInOutage(read)
      if (read === 'pass') return ownValue(valueOf(await this.#loadAlone()))
      if (read === 'no lease' || (voided >= mostVoidedSlowly && clock.now() >= halfTime)) break
      this.#checkCircle()
      const joinedAt = clock.now()
      const outcome = await this.#join(this.#joinable() ?? flights.start(this.#loadRequest(this.#parent)))
      this.#flight = null
      if (this.#owner.isOver) break
      switch (outcome.state) {
        case 'value':
          // The value may have expired on its way, but must have been fresh when this caller joined: a fill may arrive
          // late.
          if (outcome.freshUntil <= joinedAt - clockTolerance) break
          if (askedAt < outcome.currentAsOf) return outcome
          this.#owner.known.awaits(outcome.token, joinedAt)
          break
        case 'failed':
          if (askedAt < outcome.currentAsOf) return outcome
          break
        case 'pass':
          this.#owner.dismissFollowers('pass')
          // `askedAt` is unique per call: only the call whose loader ran gets the result, all others run their own.
          if (outcome.own?.caller === askedAt) return ownValue(outcome.own.value)
          return ownValue(this.#owner.isOver ? undefined : valueOf(await this.#loadAlone()))
        case 'away':
          return await this.#answerInOutage(outcome.error)
        case 'too long':
          return ownValue(await this.#loadWithoutLease())
        case 'again':
          voided++
      }
      read = await this.#readNow()
      const end = read instanceof CacheError ? null : this.#owner.endOf(read)
      if (end !== null) return end
    }
    return ownValue(await this.#loadWithoutLease())
  }

  #readNow(): Promise<ReadResult | CacheError> {
    return this.#parts.reads.read(this.#request).catch((error: CacheError) => error)
  }

  /** The flight that this call may join. A refresh must not join a claim, which may end with the existing value. */
  #joinable(): Flight | null {
    const { key, plan, refresh } = this.#request
    const flight = this.#parts.flights.joinable(key, plan)
    return refresh && flight?.state === 'claiming' ? null : flight
  }

  #join(flight: Flight): Promise<FlightOutcome | TooLong> {
    const leave = flight.join()
    this.#leave = leave
    this.#flight = flight
    this.#owner.joined()
    if (this.#parent === null) return flight.outcome
    const wait = waitNested(this.#parent, flight, this.#request.plan.waitTimeout / 2, this.#parts.clock)
    this.#leave = () => (wait.over(), leave())
    return wait.outcome
  }

  /** Answers a call while the store is unavailable. */
  async #answerInOutage(error: CacheError): Promise<CallEnd> {
    const { key, plan, refresh } = this.#request
    if (error.code === 'CLOSED') throw error
    this.#owner.dismissFollowers(error)
    if (plan.onStoreFailure === 'throw') {
      const { message, cause, reason } = error
      throw new CacheError('STORE_UNAVAILABLE', message, { key, cause, reason })
    }
    const copy = refresh ? undefined : this.#parts.near?.spare(key, plan)
    return ownValue(copy === undefined ? await this.#loadWithoutLease() : copy.value)
  }

  /** Loads without a lease, together with the callers of this process that ask for the key in time. */
  async #loadWithoutLease(): Promise<unknown> {
    const { key, askedAt, plan } = this.#request
    this.#owner.dismissFollowers('no lease')
    // A caller that already has an answer must not start another load.
    while (!this.#owner.isOver) {
      let own = false
      this.#checkCircle()
      const share = this.#parts.leaselessQueue.share(key, askedAt, this.#parent !== null, () => {
        own = true
        return this.#loadAlone()
      })
      this.#leave = share.leave
      const loaded = await share.loaded
      if (loaded === null) continue
      const isOthers = loaded.state === 'pass' || (loaded.state === 'value' && !isSameKind(loaded.kind, plan))
      return valueOf(isOthers && !own ? await this.#loadAlone() : loaded)
    }
    return undefined
  }

  #loadAlone(): Promise<LoadRun> {
    return this.#parts.leaselessLoads.run(this.#request, this.#owner.known.stale, this.#parent)
  }

  #checkCircle(): void {
    const circle = circleAbove(this.#parent, this.#parts.store, this.#request.key)
    if (circle !== null) throw circle
  }

  #loadRequest(parent: LoadNode | null): LoadRequest {
    const { key, loader, plan, tags, askedAt, askedAtMs } = this.#request
    return { key, loader, plan, tags, askedAt, askedAtMs, parent, read: this.#owner.known.existing, refresh: false }
  }
}

/** The end of a call whose answer is for its caller alone. */
function ownValue(value: unknown): CallEnd {
  return { state: 'value', value, currentAsOf: always, freshUntil: always, token: '' }
}

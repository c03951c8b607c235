import { circleAbove, currentLoad, type LoadNode, waitNested, type TooLong } from '../load/circular-load.ts'
import { CacheError, quoted } from '../errors.ts'
import type { Flight } from '../load/flight.ts'
import type { Flights } from '../load/flights.ts'
import { freshnessOf } from '../entry/freshness.ts'
import { type CallRequest, type LoadRequest, valueOf, type LoadRun, type Stale } from '../load/loader.ts'
import type { LeaselessLoads } from '../load/leaseless-queue.ts'
import { PendingAnswer } from './pending-answer.ts'
import { awaitedValue, clockTolerance, type ReadResult, type Reads } from './reads.ts'
import type { FlightOutcome } from '../load/causal-order.ts'
import type { Clock } from '../time/clock.ts'
import type { Near } from '../near/near.ts'
import type { Events } from '../observe/events.ts'
import type { LeaselessQueue } from '../load/leaseless-queue.ts'

/** The parts that the calls of one cache share. */
export interface CallParts {
  /** Identifies the cache: two caches may use the same key for different values. */
  readonly store: object
  readonly reads: Reads
  readonly flights: Flights
  readonly leaselessQueue: LeaselessQueue
  readonly leaselessLoads: LeaselessLoads
  readonly near: Pick<Near, 'spare'> | null
  readonly events: Events
  readonly clock: Clock
  /** The calls without an answer yet. */
  readonly openCalls: Set<Call>
}

/** The number of flights without a good answer after which a caller loads without a lease. */
const mostFlights = 5

/**
 * One call beyond the short path of hits: it reads, then joins or starts flights of its key, until an answer is good
 * for it or its patience ends.
 */
export class Call {
  readonly #parts: CallParts
  readonly #request: CallRequest
  readonly #parent: LoadNode | null
  readonly #pending: PendingAnswer
  #existing: LoadRequest['read'] = null
  /** The token of the value that is to be replaced, however fresh it is. */
  #replaced: string | null = null
  #stale: (Stale & { readonly until: number }) | null = null
  #leave: () => void = () => undefined
  #missed = false

  constructor(parts: CallParts, request: CallRequest) {
    const { clock, openCalls } = parts
    const { plan, askedAtMs: since } = request
    this.#parts = parts
    this.#request = request
    this.#parent = currentLoad()
    this.#pending = new PendingAnswer({
      clock,
      since,
      signal: plan.signal,
      onEnd: () => {
        openCalls.delete(this)
        this.#leave()
        if (this.#missed) parts.events.emit('answer', { key: this.key, duration: clock.now() - since })
      },
    })
  }

  get key(): string {
    return this.#request.key
  }

  /** Settles with the caller's answer. */
  get answered(): Promise<unknown> {
    return this.#pending.answer
  }

  /**
   * Starts the call.
   * @param read the result or the error of a read that was made already; `null` if the key has not been read yet
   */
  answer(read: ReadResult | CacheError | null): Promise<unknown> {
    const { key, plan } = this.#request
    this.#parts.openCalls.add(this)
    this.#pending.after(plan.waitTimeout, () => {
      if (this.#serveStale()) return
      this.giveUp(new CacheError('WAIT_TIMEOUT', `No answer for ${quoted(key)} within ${plan.waitTimeout} ms`, { key }))
    })
    this.#seek(read).then(
      (value) => this.#pending.resolve(value),
      (error: unknown) => {
        const own = error instanceof CacheError && (error.code === 'CLOSED' || error.code === 'CIRCULAR_LOAD')
        if (own || !this.#serveStale()) this.giveUp(error)
      },
    )
    return this.answered
  }

  /** Ends this call in any state. */
  giveUp(error: unknown): void {
    this.#pending.reject(error)
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
  async #seek(read: ReadResult | CacheError | null): Promise<unknown> {
    const { flights, events, clock } = this.#parts
    const { key, askedAt, refresh } = this.#request
    if (read === null && (refresh || flights.joinable(key)?.hasStale !== false)) read = await this.#readNow()
    if (refresh && read !== null && 'entry' in read) this.#replaced = read.entry.token
    const atOnce = this.#answerAtOnce(read)
    if (atOnce !== null) return atOnce.value
    this.#missed = true
    events.emit('miss', { key })
    let awaited: string | null = null
    for (let flown = 0; flown < mostFlights && !this.#pending.settled; flown++) {
      if (read instanceof CacheError) return await this.#answerInOutage(read)
      this.#checkCircle()
      const joinedAt = clock.now()
      const outcome = await this.#join(this.#joinable() ?? flights.start(this.#loadRequest(this.#parent)))
      if (this.#pending.settled) break
      switch (outcome.state) {
        case 'value':
          // The value may have expired on its way, but must have been fresh when this caller joined: a fill may arrive
          // late.
          if (outcome.freshUntil <= joinedAt - clockTolerance) break
          if (askedAt < outcome.currentAsOf) return outcome.value
          awaited = outcome.token
          break
        case 'failed':
          if (askedAt < outcome.currentAsOf) throw outcome.error
          break
        case 'pass':
          // `askedAt` is unique per call: only the call whose loader ran gets the result, all others run their own.
          return outcome.own?.caller === askedAt ? outcome.own.value : valueOf(await this.#loadAlone())
        case 'away':
          return await this.#answerInOutage(outcome.error)
        case 'too long':
          return await this.#loadWithoutLease()
        case 'again':
          break
      }
      read = await this.#readNow()
      const found = this.#answerAtOnce(read) ?? awaitedValue(read, awaited, clock.now() - joinedAt)
      if (found !== null) return found.value
    }
    // A caller that already has an answer must not start another load.
    return this.#pending.settled ? undefined : await this.#loadWithoutLease()
  }

  #readNow(): Promise<ReadResult | CacheError> {
    return this.#parts.reads.read(this.#request.key, this.#request.plan.tags).catch((error: CacheError) => error)
  }

  /** The value to serve without waiting: a fresh one, or a stale one with a refresh in the background. */
  #answerAtOnce(read: ReadResult | CacheError | null): { value: unknown } | null {
    if (read === null || read instanceof CacheError) return null
    const { flights, events } = this.#parts
    const { key, plan } = this.#request
    const isNew = read.state === 'entry' && read.entry.token !== this.#replaced
    if (isNew && freshnessOf(read.entry, 0) === 'fresh') {
      events.hit(key, this.#missed)
      flights.refreshAhead(this.#request, read.entry, read.value)
      return read
    }
    this.#rememberExisting(read)
    const stale = this.#servable()
    if (stale === null || plan.softTimeout > 0) return null
    flights.refresh(this.#request, this.#existing)
    events.stale(key, stale.age, this.#missed)
    return stale
  }

  /** The flight that this call may join. A refresh must not join a claim, which may end with the existing value. */
  #joinable(): Flight | null {
    const flight = this.#parts.flights.joinable(this.key)
    return this.#request.refresh && flight?.state === 'claiming' ? null : flight
  }

  #join(flight: Flight): Promise<FlightOutcome | TooLong> {
    const leave = flight.join()
    this.#leave = leave
    if (this.#parent === null) return flight.outcome
    const wait = waitNested(this.#parent, flight, this.#request.plan.waitTimeout / 2, this.#parts.clock)
    this.#leave = () => (wait.over(), leave())
    return wait.outcome
  }

  /** Answers a call while the store is unavailable. */
  async #answerInOutage(error: CacheError): Promise<unknown> {
    const { key, plan, refresh } = this.#request
    if (error.code === 'CLOSED') throw error
    if (plan.onStoreFailure === 'throw') {
      throw new CacheError('STORE_UNAVAILABLE', error.message, { key, cause: error.cause })
    }
    const copy = refresh ? undefined : this.#parts.near?.spare(key)
    if (copy !== undefined) return copy.value
    return await this.#loadWithoutLease()
  }

  /** Loads without a lease, together with the callers of this process that ask for the key in time. */
  async #loadWithoutLease(): Promise<unknown> {
    const { key, askedAt } = this.#request
    for (;;) {
      let own = false
      this.#checkCircle()
      const share = this.#parts.leaselessQueue.share(key, askedAt, this.#parent !== null, () => {
        own = true
        return this.#loadAlone()
      })
      this.#leave = share.leave
      const loaded = await share.loaded
      if (loaded !== null) return valueOf(loaded.state === 'pass' && !own ? await this.#loadAlone() : loaded)
    }
  }

  #loadAlone(): Promise<LoadRun> {
    return this.#parts.leaselessLoads.run(this.#request, this.#stale, this.#parent)
  }

  #checkCircle(): void {
    const circle = circleAbove(this.#parent, this.#parts.store, this.#request.key)
    if (circle !== null) throw circle
  }

  #loadRequest(parent: LoadNode | null): LoadRequest {
    const { key, loader, plan, askedAt } = this.#request
    return { key, loader, plan, askedAt, parent, read: this.#existing, refresh: false }
  }

  /** Remembers the value that was read: a new load will replace it, and until then it may be served stale. */
  #rememberExisting(read: ReadResult): void {
    const { plan, refresh } = this.#request
    this.#existing = read.state === 'nothing' ? null : { token: read.entry.token, value: null, fresh: false }
    this.#stale = null
    if (read.state !== 'entry') return
    const { entry, value, at } = read
    const seen = freshnessOf(entry, plan.grace)
    if (seen === 'expired') return
    const old = {
      value,
      age: entry.age,
      ...entry.validators,
      until: at + Math.min(entry.staleFor, plan.grace + entry.freshFor),
    }
    this.#existing = { token: entry.token, value: old, fresh: seen === 'fresh' }
    // A refresh is not answered with the old value.
    if (refresh) return
    this.#stale = old
    if (plan.softTimeout > 0) this.#pending.after(plan.softTimeout, () => void this.#serveStale())
  }

  #serveStale(): boolean {
    const stale = this.#servable()
    if (stale === null) return false
    this.#parts.events.stale(this.key, stale.age, this.#missed)
    this.#pending.resolve(stale.value)
    return true
  }

  #servable(): Stale | null {
    return this.#stale !== null && this.#parts.clock.now() < this.#stale.until ? this.#stale : null
  }
}

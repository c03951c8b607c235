import { circleAbove, loadingNow, type Loading } from './circle.ts'
import { CacheError, quoted } from './errors.ts'
import type { Flight, FlightRequest } from './flight.ts'
import type { Flights } from './flights.ts'
import { freshness } from './freshness.ts'
import { valueOf, type Loaded, type Stale } from './load.ts'
import type { LonelyLoads } from './lonely-loads.ts'
import { nestedWait, type TooLong } from './nested-wait.ts'
import { Patience } from './patience.ts'
import type { Question } from './question.ts'
import { awaitedIn, clocksDiffer, type Found, type Reads } from './reads.ts'
import type { Settlement } from './settlement.ts'
import type { Shared } from './shared.ts'

/** What the calls of one cache share, besides. */
export interface CallShared extends Shared {
  readonly reads: Reads
  readonly flights: Flights
  /** The calls that have no answer yet. */
  readonly open: Set<Call>
  readonly lonely: LonelyLoads
}

/** How often a caller takes part in a load that is then voided, before it loads for itself. */
const mostFlights = 5

/**
 * One call that has no answer at hand: reads, joins or starts the flight of its key until one brings an answer that is
 * good for it, within its own patience.
 */
export class Call {
  readonly #shared: CallShared
  readonly #question: Question
  readonly #parent: Loading | null
  readonly #patience: Patience
  #read: FlightRequest['read'] = null
  /** The token of the value that is to be replaced, however fresh it is. */
  #replaced: string | null = null
  #stale: (Stale & { readonly until: number }) | null = null
  #leave: () => void = () => undefined
  #missed = false

  constructor(shared: CallShared, question: Question) {
    const { clock, open } = shared
    const { plan, askedAt: since } = question
    this.#shared = shared
    this.#question = question
    this.#parent = loadingNow()
    this.#patience = new Patience({
      clock,
      since,
      signal: plan.signal,
      onEnd: () => {
        open.delete(this)
        this.#leave()
        if (this.#missed) shared.events.emit('answer', { key: this.key, duration: clock.now() - since })
      },
    })
  }

  get key(): string {
    return this.#question.key
  }

  /** Settles when this caller has its answer. */
  get answered(): Promise<unknown> {
    return this.#patience.answer
  }

  /** @param read what the caller has read already, or how that failed; `null` if it has yet to */
  answer(read: Found | CacheError | null): Promise<unknown> {
    const { key, plan } = this.#question
    this.#shared.open.add(this)
    this.#patience.after(plan.waitTimeout, () => {
      if (this.#serveStale()) return
      this.giveUp(new CacheError('WAIT_TIMEOUT', `No answer for ${quoted(key)} within ${plan.waitTimeout} ms`, { key }))
    })
    this.#seek(read).then(
      (value) => this.#patience.resolve(value),
      (error: unknown) => {
        const own = error instanceof CacheError && (error.code === 'CLOSED' || error.code === 'CIRCULAR_LOAD')
        if (own || !this.#serveStale()) this.giveUp(error)
      },
    )
    return this.answered
  }

  /** Ends this call, whatever it waits for. */
  giveUp(error: unknown): void {
    this.#patience.reject(error)
  }

  /** Flight after flight, until one brings an answer that is good for whoever asked when this caller did. */
  async #seek(read: Found | CacheError | null): Promise<unknown> {
    const { flights, events, clock } = this.#shared
    const { key, asked, refresh } = this.#question
    if (read === null && (refresh || flights.joinable(key)?.hasStale !== false)) read = await this.#readNow()
    if (refresh && read !== null && 'entry' in read) this.#replaced = read.entry.token
    const atOnce = this.#atOnce(read)
    if (atOnce !== null) return atOnce.value
    this.#missed = true
    events.emit('miss', { key })
    let awaited: string | null = null
    for (let flown = 0; flown < mostFlights && !this.#patience.over; flown++) {
      if (read instanceof CacheError) return await this.#away(read)
      this.#checkCircle()
      const joinedAt = clock.now()
      const settlement = await this.#join(this.#joinable() ?? flights.start(this.#request(this.#parent)))
      if (this.#patience.over) break
      switch (settlement.state) {
        case 'value':
          // It may have expired on its way, but not before this caller joined: a fill may arrive late.
          if (settlement.freshUntil <= joinedAt - clocksDiffer) break
          if (asked < settlement.asOf) return settlement.value
          awaited = settlement.token
          break
        case 'failed':
          if (asked < settlement.asOf) throw settlement.error
          break
        case 'pass':
          return settlement.own?.caller === asked ? settlement.own.value : valueOf(await this.#loadAlone())
        case 'away':
          return await this.#away(settlement.error)
        case 'too long':
          return await this.#collapsed()
        case 'again':
          break
      }
      read = await this.#readNow()
      const found = this.#atOnce(read) ?? awaitedIn(read, awaited, clock.now() - joinedAt)
      if (found !== null) return found.value
    }
    // Whoever has an answer by now does not start another load.
    return this.#patience.over ? undefined : await this.#collapsed()
  }

  #readNow(): Promise<Found | CacheError> {
    return this.#shared.reads.read(this.#question.key, this.#question.plan.tags).catch((error: CacheError) => error)
  }

  /** What can be served without waiting: a fresh value, or a stale one that somebody then refreshes. */
  #atOnce(read: Found | CacheError | null): { value: unknown } | null {
    if (read === null || read instanceof CacheError) return null
    const { flights, events } = this.#shared
    const { key, plan } = this.#question
    const isNew = read.state === 'entry' && read.entry.token !== this.#replaced
    if (isNew && freshness(read.entry, 0) === 'fresh') {
      events.hit(key, this.#missed)
      flights.refreshAhead(this.#question, read.entry, read.value)
      return read
    }
    this.#keep(read)
    const stale = this.#servable()
    if (stale === null || plan.softTimeout > 0) return null
    flights.refresh(this.#question, this.#read)
    events.stale(key, stale.age, this.#missed)
    return stale
  }

  /** What this call may join: one that wants a new value, only what will not end with a value that is there already. */
  #joinable(): Flight | null {
    const flight = this.#shared.flights.joinable(this.key)
    return this.#question.refresh && flight?.state === 'claiming' ? null : flight
  }

  #join(flight: Flight): Promise<Settlement | TooLong> {
    const leave = flight.join()
    this.#leave = leave
    if (this.#parent === null) return flight.settled
    const wait = nestedWait(this.#parent, flight, this.#question.plan.waitTimeout / 2, this.#shared.clock)
    this.#leave = () => (wait.over(), leave())
    return wait.settled
  }

  /** The store is away. */
  async #away(error: CacheError): Promise<unknown> {
    const { key, plan, refresh } = this.#question
    if (error.code === 'CLOSED') throw error
    if (plan.onStoreFailure === 'throw') {
      throw new CacheError('STORE_UNAVAILABLE', error.message, { key, cause: error.cause })
    }
    const copy = refresh ? undefined : this.#shared.near?.spare(key)
    if (copy !== undefined) return copy.value
    return await this.#collapsed()
  }

  /** Loads without a lease, together with those of this process who ask for the same key in time. */
  async #collapsed(): Promise<unknown> {
    const { key, asked } = this.#question
    for (;;) {
      let own = false
      this.#checkCircle()
      const share = this.#shared.unleased.share(key, asked, this.#parent !== null, () => {
        own = true
        return this.#loadAlone()
      })
      this.#leave = share.leave
      const loaded = await share.loaded
      if (loaded !== null) return valueOf(loaded.state === 'pass' && !own ? await this.#loadAlone() : loaded)
    }
  }

  #loadAlone(): Promise<Loaded> {
    return this.#shared.lonely.run(this.#question, this.#stale, this.#parent)
  }

  #checkCircle(): void {
    const circle = circleAbove(this.#parent, this.#shared.store, this.#question.key)
    if (circle !== null) throw circle
  }

  #request(parent: Loading | null): FlightRequest {
    const { key, loader, plan, asked } = this.#question
    return { key, loader, plan, asked, parent, read: this.#read, refresh: false }
  }

  /** Remembers what was read: what a new load will replace, and what may be served until then. */
  #keep(read: Found): void {
    const { plan, refresh } = this.#question
    this.#read = read.state === 'nothing' ? null : { token: read.entry.token, value: null, fresh: false }
    this.#stale = null
    if (read.state !== 'entry') return
    const { entry, value, at } = read
    const seen = freshness(entry, plan.grace)
    if (seen === 'expired') return
    const old = {
      value,
      age: entry.age,
      ...entry.validators,
      until: at + Math.min(entry.staleFor, plan.grace + entry.freshFor),
    }
    this.#read = { token: entry.token, value: old, fresh: seen === 'fresh' }
    // Whoever wants a new one is not served the old one.
    if (refresh) return
    this.#stale = old
    if (plan.softTimeout > 0) this.#patience.after(plan.softTimeout, () => void this.#serveStale())
  }

  #serveStale(): boolean {
    const stale = this.#servable()
    if (stale === null) return false
    this.#shared.events.stale(this.key, stale.age, this.#missed)
    this.#patience.resolve(stale.value)
    return true
  }

  #servable(): Stale | null {
    return this.#stale !== null && this.#shared.clock.now() < this.#stale.until ? this.#stale : null
  }
}

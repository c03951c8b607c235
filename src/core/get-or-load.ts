import { circleAbove, circleThrough, type Loading } from './circle.ts'
import type { Timer } from './clock.ts'
import { CacheError, quoted } from './errors.ts'
import type { Shared, Flight, Settlement, FlightRequest } from './flight.ts'
import type { Flights } from './flights.ts'
import { freshness } from './freshness.ts'
import { load, type Ended, type Loaded, type Loader, type Stale } from './load.ts'
import type { Moment } from './moment.ts'
import type { Plan } from './plan.ts'
import type { Found, Reads } from './reads.ts'
import type { Unleased } from './unleased.ts'

/** What the calls of one cache have in common. */
export interface CallShared extends Shared {
  readonly reads: Reads
  readonly flights: Flights
  readonly unleased: Unleased
  /** The calls that have no answer yet. */
  readonly open: Set<Call>
  /** How to give up each load that runs without a lease. */
  readonly alone: Set<(error: CacheError) => void>
}

/** How often a caller takes part in a load that is then voided, before it loads for itself. */
const mostFlights = 5

interface Held extends Stale {
  readonly token: string
  /** By the clock: until when it may be served. */
  readonly until: number
}

/**
 * One call that found no fresh value: joins or starts the flight of its key until one brings an answer that is good
 * for it, within its own patience.
 */
export class Call {
  readonly #shared: CallShared
  readonly #key: string
  readonly #loader: Loader<unknown>
  readonly #plan: Plan
  readonly #asked: Moment
  readonly #parent: Loading | null
  /** Settles when this caller has its answer. */
  answered: Promise<unknown> = Promise.resolve()
  #token: string | null = null
  #stale: Held | null = null
  #over = false
  #leave: () => void = () => undefined
  #settle!: (answer: { value: unknown } | { error: unknown }) => void

  constructor(shared: CallShared, call: { key: string; loader: Loader<unknown>; plan: Plan; asked: Moment }) {
    this.#shared = shared
    this.#key = call.key
    this.#loader = call.loader
    this.#plan = call.plan
    this.#asked = call.asked
    this.#parent = shared.loading.getStore() ?? null
  }

  /** @param found what the caller has read already */
  answer(found: Found, signal: AbortSignal | undefined): Promise<unknown> {
    const { events, flights } = this.#shared
    this.#keep(found)
    const stale = this.#servable()
    if (stale !== null && this.#plan.softTimeout === 0) {
      flights.refresh(this.#request(null, true))
      events.emit('stale', { key: this.#key, age: stale.age })
      return Promise.resolve(stale.value)
    }
    events.emit('miss', { key: this.#key })
    return this.#patiently(this.#seek(), signal)
  }

  /** The store is away from the start. */
  answerAlone(error: CacheError, signal: AbortSignal | undefined): Promise<unknown> {
    this.#shared.events.emit('miss', { key: this.#key })
    return this.#patiently(this.#away(error), signal)
  }

  /** Ends this call, whatever it waits for. */
  giveUp(error: unknown): void {
    this.#settle({ error })
  }

  /** An answer, at the latest when this caller's own patience ends. */
  #patiently(work: Promise<unknown>, signal: AbortSignal | undefined): Promise<unknown> {
    const { clock, open, events } = this.#shared
    const { softTimeout, waitTimeout } = this.#plan
    return (this.answered = new Promise((resolve, reject) => {
      const timers: Timer[] = []
      const aborted = (): void => this.giveUp(signal?.reason)
      this.#settle = (answer) => {
        if (this.#over) return
        this.#over = true
        open.delete(this)
        for (const timer of timers) timer.cancel()
        signal?.removeEventListener('abort', aborted)
        this.#leave()
        if ('value' in answer) resolve(answer.value)
        else reject(answer.error)
      }
      const serveStale = (): boolean => {
        const stale = this.#servable()
        if (stale === null) return false
        events.emit('stale', { key: this.#key, age: stale.age })
        this.#settle({ value: stale.value })
        return true
      }
      open.add(this)
      if (signal?.aborted) return aborted()
      signal?.addEventListener('abort', aborted)
      if (this.#stale !== null && softTimeout < waitTimeout) timers.push(clock.after(softTimeout, serveStale))
      timers.push(
        clock.after(waitTimeout, () => {
          if (serveStale()) return
          const message = `No answer for ${quoted(this.#key)} within ${waitTimeout} ms`
          this.giveUp(new CacheError('WAIT_TIMEOUT', message, { key: this.#key }))
        }),
      )
      work.then(
        (value) => this.#settle({ value }),
        (error: unknown) => {
          const failed = error instanceof CacheError && error.code !== 'CLOSED' && error.code !== 'CIRCULAR_LOAD'
          if (!(failed && serveStale())) this.giveUp(error)
        },
      )
    }))
  }

  /** Flight after flight, until one brings an answer that is good for whoever asked when this caller did. */
  async #seek(): Promise<unknown> {
    const { flights, reads } = this.#shared
    const circle = circleAbove(this.#parent, this.#key)
    if (circle !== null) throw circle
    for (let flown = 0; flown < mostFlights; flown++) {
      const flight = flights.joinable(this.#key) ?? flights.start(this.#request(this.#parent, false))
      const settlement = await this.#join(flight)
      if (this.#over) return undefined
      switch (settlement.state) {
        case 'value':
          if (this.#asked < settlement.asOf) return settlement.value
          break
        case 'failed':
          if (this.#asked < settlement.asOf) throw settlement.error
          break
        case 'pass':
          if (settlement.own?.caller === this.#asked) return settlement.own.value
          return await this.#alone((run) => run())
        case 'away':
          return await this.#away(settlement.error, settlement.late)
        case 'too long':
          return await this.#collapsed()
        case 'again':
          break
      }
      let found: Found
      try {
        found = await reads.read(this.#key)
      } catch (error) {
        return await this.#away(error as CacheError)
      }
      if (found.state === 'entry' && freshness(found.entry, 0) === 'fresh') return found.value
      this.#keep(found)
    }
    return await this.#collapsed()
  }

  /**
   * Waits for a flight. A loader that waits for another process's load does so for a bounded time, because that load
   * may be waiting for ours: then it loads for itself.
   */
  async #join(flight: Flight): Promise<Settlement | { state: 'too long' }> {
    const { clock } = this.#shared
    const parent = this.#parent
    flight.callers++
    this.#leave = () => {
      this.#leave = () => undefined
      flight.callers--
      parent?.waitsFor.delete(flight)
    }
    if (parent === null) return await flight.settled.finally(() => this.#leave())
    const circle = circleThrough(parent, flight)
    if (circle !== null) {
      this.#leave()
      throw circle
    }
    parent.waitsFor.add(flight)
    let timer!: Timer
    const tooLong = new Promise<{ state: 'too long' }>((resolve) => {
      const bound = Math.min(this.#plan.leaseTtl, this.#plan.waitTimeout / 2)
      const check = (): void => {
        if (flight.state === 'waiting') resolve({ state: 'too long' })
        else timer = clock.after(bound, check)
      }
      timer = clock.after(bound, check)
    })
    try {
      return await Promise.race([flight.settled, tooLong])
    } finally {
      timer.cancel()
      this.#leave()
    }
  }

  /** The store is away; a load of ours may be under way already. */
  async #away(error: CacheError, late?: { began: Moment; ended: Promise<Ended> }): Promise<unknown> {
    if (this.#plan.onStoreFailure === 'throw') {
      throw new CacheError('STORE_UNAVAILABLE', error.message, { key: this.#key, cause: error.cause })
    }
    if (late !== undefined && this.#asked < late.began) {
      const ended = await late.ended
      if (ended.state === 'value') return ended.value
    }
    return await this.#collapsed()
  }

  /** Loads without a lease, together with those of this process who ask for the same key in time. */
  #collapsed(): Promise<unknown> {
    const { unleased } = this.#shared
    return this.#alone((run) => unleased.load(this.#key, this.#asked, this.#parent !== null, run))
  }

  /** Loads without a lease; nothing is stored. */
  async #alone(through: (run: () => Promise<Loaded>) => Promise<Loaded>): Promise<unknown> {
    const { clock, events, loading, alone } = this.#shared
    const key = this.#key
    const circle = circleAbove(this.#parent, key)
    if (circle !== null) throw circle
    const node: Loading = { key, parent: this.#parent, waitsFor: new Set() }
    const loaded = await through(() => {
      events.emit('load', { key, leased: false })
      let giveUp!: (error: CacheError) => void
      const lost = new Promise<CacheError>((resolve) => (giveUp = resolve))
      alone.add(giveUp)
      const run = { key, loader: this.#loader, plan: this.#plan, clock, fence: null, stale: this.#stale, lost }
      return loading.run(node, () => load(run)).finally(() => alone.delete(giveUp))
    })
    if (loaded.state === 'failed' || loaded.state === 'lost') throw loaded.error
    return loaded.value
  }

  #request(parent: Loading | null, refresh: boolean): FlightRequest {
    const replaces = this.#token === null ? null : { token: this.#token, stale: this.#stale }
    return { key: this.#key, loader: this.#loader, plan: this.#plan, asked: this.#asked, parent, replaces, refresh }
  }

  /** Remembers what was read: what a new load is to replace, and what may be served until then. */
  #keep(found: Found): void {
    this.#token = found.state === 'nothing' ? null : found.entry.token
    this.#stale = null
    if (found.state !== 'entry' || freshness(found.entry, this.#plan.grace) !== 'stale') return
    const left = Math.min(found.entry.staleFor, this.#plan.grace + found.entry.freshFor)
    this.#stale = { value: found.value, age: found.entry.age, token: found.entry.token, until: found.at + left }
  }

  #servable(): Stale | null {
    return this.#stale !== null && this.#shared.clock.now() < this.#stale.until ? this.#stale : null
  }
}

import { CacheError, closedError, quoted } from '../errors.ts'
import type { Events } from '../observe/events.ts'
import type { Clock, Timer } from '../time/clock.ts'
import { always } from './answer.ts'
import type { Caller } from './caller.ts'
import type { KeyFlight, WaitEnd } from './key-flight.ts'
import type { LostFlight, UnleasedFlight } from './unleased-flight.ts'

/**
 * The loads of one key: at most two run, beside those that have lost a lease, unless loaders wait for more; and one has
 * yet to begin.
 */
interface Line {
  /** The newest load that runs. */
  running: KeyFlight | null
  /** How many loads run, and how many of them have lost a lease. */
  count: number
  lost: number
  /** Resolves when all loads that have lost a lease have ended. */
  lostEnded: Promise<null>
  next: UnleasedFlight | null
  impatience: Timer | 'over' | null
}

const nothing = Promise.resolve(null)

/**
 * The loads without a lease of one cache: the fallback while the store is away. This is the only place that bounds them.
 *
 * A caller that asked after a load began cannot have its answer. It joins the next load, which begins when the running
 * one ends, or beside it after `patience`. So every caller is answered within `patience`, or half a load if that is
 * longer, plus one load. Over all keys, at most `most` loads run and `mostQueued` wait for a place; a further caller gets
 * OVERLOADED at once, which is better than an answer too late.
 *
 * A caller that is itself a loader waits for `patience` at most: loads that wait for each other could occupy all places,
 * or both loads of their key.
 */
export class UnleasedLoads {
  readonly #most: number
  readonly #mostQueued: number
  readonly #patience: number
  readonly #clock: Clock
  readonly #events: Events
  readonly #lines = new Map<string, Line>()
  readonly #queue = new Set<UnleasedFlight>()
  readonly #open = new Set<KeyFlight>()
  /** Those of them that have begun, and how many places they take: at most `most`, unless loaders wait for more. */
  readonly #begun = new Set<KeyFlight>()
  #places = 0
  /** Those that wait for a permit of their source. */
  readonly #entering = new Set<UnleasedFlight>()

  /** @param options.patience in milliseconds */
  constructor(options: { most: number; mostQueued: number; patience: number; clock: Clock; events: Events }) {
    this.#most = options.most
    this.#mostQueued = options.mostQueued
    this.#patience = options.patience
    this.#clock = options.clock
    this.#events = options.events
  }

  /**
   * Adds a caller to the load whose answer counts for it: one that runs, or one that has yet to begin.
   * @param create makes a new one
   * @returns the end of its wait
   */
  join(caller: Caller, until: number, create: () => UnleasedFlight): Promise<WaitEnd> {
    const line = this.#line(caller.key)
    if (line.running?.admits(caller)) return line.running.join(caller, until)
    const isNew = line.next === null
    const flight = (line.next ??= this.#launched(create()))
    const ended = flight.join(caller, until)
    flight.isUrgent ||= caller.parent !== null
    flight.isRefresh ||= caller.refresh !== null
    if (mayBegin(line, flight) && (isNew || flight.isUrgent)) this.#start(line, flight)
    else if (isNew) {
      line.impatience = this.#clock.after(this.#patience, () => {
        line.impatience = 'over'
        if (mayBegin(line, flight)) this.#start(line, flight)
      })
    }
    return ended
  }

  /** Begins a load for one caller alone, beside all others: none joins it. */
  async beginAlone(flight: UnleasedFlight): Promise<void> {
    this.#launched(flight)
    if (!flight.isLimited || (await flight.enters())) flight.begin()
  }

  /**
   * Takes over a load that began with a lease and goes on without one.
   * @param flight for the callers that may have its value; `null` if it was voided
   * @param ended resolves at its end
   */
  adopt(key: string, flight: LostFlight | null, ended: Promise<unknown>): void {
    const line = this.#line(key)
    line.count++
    line.lost++
    line.lostEnded = Promise.all([line.lostEnded, ended]).then(() => null)
    line.running = flight
    if (flight !== null) this.#launched(flight)
    void ended.then(() => {
      line.lost--
      this.#ended(key, line, flight)
    })
  }

  /** Resolves when all loads of a key that have lost a lease have ended; `null` if none is under way. */
  untilLostEnd(key: string): Promise<null> | null {
    const line = this.#lines.get(key)
    return line === undefined || line.lost === 0 ? null : line.lostEnded
  }

  /** How many loads of a key run or queue. */
  count(key: string): number {
    const line = this.#lines.get(key)
    return line === undefined ? 0 : line.count + (line.next === null ? 0 : 1)
  }

  /** How many callers wait for loads of a key. */
  callersOf(key: string): number {
    let callers = 0
    for (const flight of this.#open) if (flight.key === key) callers += flight.callers
    return callers
  }

  /** Gives up all of them. */
  giveUp(): void {
    for (const flight of this.#open) flight.giveUp(closedError(flight.key))
  }

  #launched<Flight extends KeyFlight>(flight: Flight): Flight {
    this.#open.add(flight)
    void flight.start(() => this.#over(flight))
    return flight
  }

  /** Begins a load, or queues it for a place, or refuses it. */
  #start(line: Line, flight: UnleasedFlight): void {
    if (line.next !== flight) return
    if (line.count === 0 && !this.#entering.has(flight) && flight.endsWithCopy()) {
      this.#queue.delete(flight)
      this.#leaveNext(line)
      return this.#freeKey(flight.key, line)
    }
    if (flight.isLimited) return void this.#enter(line, flight)
    if (flight.isUrgent) return this.#begin(line, flight)
    if (this.#queue.has(flight)) return
    if (this.#places < this.#most && this.#queue.size === 0) return this.#begin(line, flight)
    if (this.#queue.size >= this.#mostQueued) return this.#refuse(line, flight)
    this.#queue.add(flight)
  }

  /** Begins a load, or refuses it, as its source allows: that bounds the loads of the whole fleet. */
  async #enter(line: Line, flight: UnleasedFlight): Promise<void> {
    if (this.#entering.has(flight)) return
    this.#entering.add(flight)
    const may = await flight.enters()
    this.#entering.delete(flight)
    if (may) return this.#begin(line, flight)
    this.#leaveNext(line)
    this.#freeKey(flight.key, line)
  }

  #begin(line: Line, flight: UnleasedFlight): void {
    this.#leaveNext(line)
    this.#queue.delete(flight)
    if (flight.callers === 0) {
      flight.refuse({ state: 'again' })
      return this.#freeKey(flight.key, line)
    }
    line.count++
    line.running = flight
    this.#begun.add(flight)
    if (!flight.isLimited) this.#places++
    flight.begin()
  }

  #over(flight: KeyFlight): void {
    this.#open.delete(flight)
    if (!this.#begun.delete(flight)) return this.#forget(flight)
    if (!(flight as UnleasedFlight).isLimited) this.#places--
    this.#ended(flight.key, this.#line(flight.key), flight)
    this.#fillPlaces()
  }

  /** One that was given up must not begin when its turn comes. */
  #forget(flight: KeyFlight): void {
    const line = this.#lines.get(flight.key)
    if (line === undefined || line.next !== flight) return
    this.#queue.delete(line.next)
    this.#leaveNext(line)
    this.#freeKey(flight.key, line)
  }

  #refuse(line: Line, flight: UnleasedFlight): void {
    const { key } = flight
    this.#leaveNext(line)
    this.#freeKey(key, line)
    const queued = this.#queue.size
    this.#events.emit('overloaded', { key, queued })
    const message = `${this.#most} loads run without a lease and ${queued} wait: too many to load ${quoted(key)} as well`
    const error = new CacheError('OVERLOADED', message, { key })
    flight.refuse({ state: 'failed', error, currentAsOf: always })
  }

  #line(key: string): Line {
    const line = this.#lines.get(key) ?? {
      running: null,
      count: 0,
      lost: 0,
      lostEnded: nothing,
      next: null,
      impatience: null,
    }
    this.#lines.set(key, line)
    return line
  }

  #ended(key: string, line: Line, flight: KeyFlight | null): void {
    line.count--
    if (line.running === flight) line.running = null
    this.#freeKey(key, line)
  }

  #leaveNext(line: Line): void {
    line.next = null
    if (line.impatience !== 'over') line.impatience?.cancel()
    line.impatience = null
  }

  #freeKey(key: string, line: Line): void {
    const { next, count } = line
    if (next === null && count === 0) this.#lines.delete(key)
    else if (next !== null && mayBegin(line, next)) this.#start(line, next)
  }

  #fillPlaces(): void {
    for (const flight of this.#queue) {
      if (this.#places >= this.#most) return
      this.#begin(this.#line(flight.key), flight)
    }
  }
}

/** Whether the next load of a key may begin: alone, or beside another that its callers have waited for. */
function mayBegin({ count, lost, impatience }: Line, next: UnleasedFlight): boolean {
  return count === 0 || (impatience === 'over' && (count - lost < 2 || next.isUrgent))
}

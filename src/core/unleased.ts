import type { Clock, Timer } from './clock.ts'
import { CacheError, quoted } from './errors.ts'
import type { Events } from './events.ts'
import type { Ended, Loaded } from './load.ts'
import type { Moment } from './moment.ts'

/** A caller's part in a load without a lease. */
export interface Share {
  /**
   * What comes of the load; `null` if it was a load that had lost its lease, and it brought no value. Never settles if the
   * caller has left and nobody else wanted it.
   */
  readonly loaded: Promise<Loaded | null>
  /** The caller waits no more: a load that nobody waits for is not begun. */
  readonly leave: () => void
}

interface Generation {
  /** When its loader started; `null` while it waits for its turn, and may be joined by anyone. */
  began: Moment | null
  callers: number
  /** Whether a loader waits for it: then it does not queue. */
  urgent: boolean
  readonly loaded: Promise<Loaded | null>
  /** Takes its turn, or a place in the queue for it. */
  readonly start: () => void
}

/** The loads of one key: at most two run unless a loader waits for more, and one has yet to begin. */
interface Line {
  /** The newest that runs. */
  running: Generation | null
  /** How many run, and how many of those had a lease once. */
  count: number
  adopted: number
  /** Resolves when all that are adopted have ended. */
  allEnded: Promise<null>
  next: Generation | null
  impatience: Timer | 'over' | null
}

const nothing = Promise.resolve(null)

/**
 * Loads without a lease, collapsed in this process: what is left of the one load when the store is away.
 *
 * A caller never joins a load that began before it asked, for an invalidation may lie between (this process could not
 * have heard of it). It joins the next one, which begins when the running one ends, or beside it after `patience`; a
 * key never has more than two. So everybody is answered within `patience`, or half a load where that is longer, and
 * one load. Over all keys, at most `most` run at once and as many as `mostQueued` wait for a place; whoever comes then is told
 * OVERLOADED at once, which is better than an answer too late.
 *
 * A caller that is itself a loader waits for `patience` and no longer: loads that wait for each other could fill all
 * places, or be the two of their key.
 */
export class Unleased {
  readonly #most: number
  readonly #mostQueued: number
  readonly #patience: number
  readonly #clock: Clock
  readonly #events: Events
  readonly #moment: () => Moment
  readonly #lines = new Map<string, Line>()
  readonly #queue = new Set<() => void>()
  #running = 0

  constructor(options: {
    most: number
    mostQueued: number
    patience: number
    clock: Clock
    events: Events
    moment: () => Moment
  }) {
    this.#most = options.most
    this.#mostQueued = options.mostQueued
    this.#events = options.events
    this.#patience = options.patience
    this.#clock = options.clock
    this.#moment = options.moment
  }

  /**
   * A share in a load that begins after `asked`.
   * @param nested whether the caller is itself a loader
   * @param run runs the loader; called if it is this caller who makes the load
   */
  share(key: string, asked: Moment, nested: boolean, run: () => Promise<Loaded>): Share {
    const line = this.#line(key)
    const { running } = line
    if (running !== null && running.began !== null && asked < running.began) return joined(running)
    const isNew = line.next === null
    const generation = (line.next ??= this.#generation(key, line, run))
    const share = joined(generation)
    generation.urgent ||= nested
    const isItsTurn = line.count === 0 || (generation.urgent && line.impatience === 'over')
    if (isItsTurn && (isNew || generation.urgent)) generation.start()
    else if (isNew) {
      line.impatience = this.#clock.after(this.#patience, () => {
        line.impatience = 'over'
        if (line.count - line.adopted < 2 || generation.urgent) generation.start()
      })
    }
    return share
  }

  /**
   * A load that was started with a lease goes on without it, and counts as one that never had it.
   * @param began `null` if its value is for nobody, because it was voided
   */
  adopt(key: string, began: Moment | null, ended: Promise<Ended>): void {
    const line = this.#line(key)
    const loaded = ended.then((loaded) => (loaded.state === 'value' ? loaded : null))
    const generation: Generation = { began, callers: 0, urgent: false, loaded, start: () => undefined }
    line.count++
    line.adopted++
    line.allEnded = Promise.all([line.allEnded, ended]).then(() => null)
    line.running = generation
    void loaded.finally(() => {
      line.adopted--
      this.#ended(key, line, generation)
    })
  }

  /** Resolves when no load of a key that had a lease once goes on any more; `null` if none does. */
  voided(key: string): Promise<null> | null {
    const line = this.#lines.get(key)
    return line === undefined || line.adopted === 0 ? null : line.allEnded
  }

  /** How many loads of a key run or queue. */
  count(key: string): number {
    const line = this.#lines.get(key)
    return line === undefined ? 0 : line.count + (line.next === null ? 0 : 1)
  }

  #generation(key: string, line: Line, run: () => Promise<Loaded>): Generation {
    let settle!: (loaded: Promise<Loaded>) => void
    let state: 'idle' | 'queued' | 'begun' = 'idle'
    const begin = (): void => {
      state = 'begun'
      this.#queue.delete(begin)
      this.#leaveNext(line, generation)
      if (generation.callers === 0) return this.#freeKey(key, line)
      this.#running++
      line.count++
      line.running = generation
      generation.began = this.#moment()
      const loaded = run()
      settle(loaded)
      void loaded.finally(() => {
        this.#running--
        this.#ended(key, line, generation)
        this.#fillPlaces()
      })
    }
    const refuse = (): void => {
      state = 'begun'
      this.#leaveNext(line, generation)
      this.#freeKey(key, line)
      const queued = this.#queue.size
      this.#events.emit('overloaded', { key, queued })
      const message = `${this.#most} loads run without a lease and ${queued} wait: too many to load ${quoted(key)} as well`
      settle(Promise.resolve({ state: 'failed', error: new CacheError('OVERLOADED', message, { key }) }))
    }
    const generation: Generation = {
      began: null,
      callers: 0,
      urgent: false,
      loaded: new Promise((resolve) => (settle = resolve)),
      start: () => {
        if (generation.urgent && state !== 'begun') return begin()
        if (state !== 'idle') return
        if (this.#running < this.#most && this.#queue.size === 0) return begin()
        if (this.#queue.size >= this.#mostQueued) return refuse()
        state = 'queued'
        this.#queue.add(begin)
      },
    }
    return generation
  }

  #line(key: string): Line {
    const line = this.#lines.get(key) ?? {
      running: null,
      count: 0,
      adopted: 0,
      allEnded: nothing,
      next: null,
      impatience: null,
    }
    this.#lines.set(key, line)
    return line
  }

  #ended(key: string, line: Line, generation: Generation): void {
    line.count--
    if (line.running === generation) line.running = null
    this.#freeKey(key, line)
  }

  #leaveNext(line: Line, generation: Generation): void {
    if (line.next !== generation) return
    line.next = null
    if (line.impatience !== 'over') line.impatience?.cancel()
    line.impatience = null
  }

  #freeKey(key: string, line: Line): void {
    if (line.next !== null && (line.count === 0 || line.impatience === 'over')) line.next.start()
    else if (line.next === null && line.count === 0) this.#lines.delete(key)
  }

  #fillPlaces(): void {
    for (const begin of this.#queue) {
      if (this.#running >= this.#most) return
      begin()
    }
  }
}

function joined(generation: Generation): Share {
  generation.callers++
  return { loaded: generation.loaded, leave: () => void generation.callers-- }
}

import type { Clock, Timer, CausalTime } from '../time/clock.ts'
import { CacheError, quoted, closedError } from '../errors.ts'
import type { Events } from '../observe/events.ts'
import type { LoadFailures } from './failures.ts'
import {
  type CallRequest,
  type LoadedFacts,
  type LoadResult,
  type LoadRun,
  Loss,
  runLoader,
  type Stale,
} from './loader.ts'
import type { LoadNode } from './circular-load.ts'
import { encodeValue, type UnstoredValues } from './payload.ts'
import type { Codec } from '../codec/codec.ts'
import type { Kind } from '../codec/schema.ts'
import type { Keyspace } from '../entry/key.ts'
import type { Tracing } from '../observe/tracing.ts'

/** A caller's share in a load without a lease. */
export interface Share {
  /**
   * The result of the load; `null` for a load that had lost its lease and brought no value. Never settles if the caller
   * left and no other caller wanted the load.
   */
  readonly loaded: Promise<LoadRun | null>
  /** The caller stops waiting. A load without callers is not begun. */
  readonly leave: () => void
}

interface Generation {
  /** When its loader started; `null` before, while any caller may join it. */
  began: CausalTime | null
  callers: number
  /** Whether a loader waits for it: then it does not queue. */
  urgent: boolean
  readonly loaded: Promise<LoadRun | null>
  /** Begins the load, or queues it for a place. */
  readonly start: () => void
}

/** The loads of one key: at most two run unless loaders wait for more, and one has yet to begin. */
interface Line {
  /** The newest load that runs. */
  running: Generation | null
  /** How many loads run, and how many of them began with a lease. */
  count: number
  adopted: number
  /** Resolves when all adopted loads have ended. */
  allEnded: Promise<null>
  next: Generation | null
  impatience: Timer | 'over' | null
}

const nothing = Promise.resolve(null)

/**
 * Loads without a lease, with single flight in this process only: the fallback while the store is away.
 *
 * A caller never joins a load that began before it asked, because an invalidation that this process could not hear of
 * may lie between the two. It joins the next load, which begins when the running one ends, or beside it after
 * `patience`. A key never has more than two loads, so every caller is answered within `patience`, or half a load if
 * that is longer, plus one load. Over all keys, at most `most` loads run and `mostQueued` wait for a place; a further
 * caller gets OVERLOADED at once, which is better than an answer too late.
 *
 * A caller that is itself a loader waits for `patience` at most: loads that wait for each other could occupy all
 * places, or both loads of their key.
 */
export class LeaselessQueue {
  readonly #most: number
  readonly #mostQueued: number
  readonly #patience: number
  readonly #clock: Clock
  readonly #events: Events
  readonly #causalNow: () => CausalTime
  readonly #lines = new Map<string, Line>()
  readonly #queue = new Set<() => void>()
  #running = 0

  constructor(options: {
    most: number
    mostQueued: number
    patience: number
    clock: Clock
    events: Events
    causalNow: () => CausalTime
  }) {
    this.#most = options.most
    this.#mostQueued = options.mostQueued
    this.#events = options.events
    this.#patience = options.patience
    this.#clock = options.clock
    this.#causalNow = options.causalNow
  }

  /**
   * A share in a load that begins after `asked`.
   * @param nested whether the caller is itself a loader
   * @param run runs the loader; called if this caller's load begins
   */
  share(key: string, asked: CausalTime, nested: boolean, run: () => Promise<LoadRun>): Share {
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
   * Takes over a load that began with a lease and goes on without one.
   * @param began `null` if no caller may have its value, because it was voided
   */
  adopt(key: string, began: CausalTime | null, ended: Promise<LoadResult>): void {
    const line = this.#line(key)
    const loaded = ended.then((result) => (result.state === 'value' ? result : null))
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

  /** Resolves when all loads of a key that once had a lease have ended; `null` if none is under way. */
  untilAdoptedEnd(key: string): Promise<null> | null {
    const line = this.#lines.get(key)
    return line === undefined || line.adopted === 0 ? null : line.allEnded
  }

  /** How many loads of a key run or queue. */
  count(key: string): number {
    const line = this.#lines.get(key)
    return line === undefined ? 0 : line.count + (line.next === null ? 0 : 1)
  }

  #generation(key: string, line: Line, run: () => Promise<LoadRun>): Generation {
    let settle!: (loaded: Promise<LoadRun>) => void
    let state: 'idle' | 'queued' | 'begun' = 'idle'
    const begin = (): void => {
      state = 'begun'
      this.#queue.delete(begin)
      this.#leaveNext(line, generation)
      if (generation.callers === 0) return this.#freeKey(key, line)
      this.#running++
      line.count++
      line.running = generation
      generation.began = this.#causalNow()
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
      const error = new CacheError('OVERLOADED', message, { key })
      settle(Promise.resolve({ state: 'failed', error, cooldown: 0, tags: [] }))
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

/** A value that becomes a copy. */
export type LoadedCopy = LoadedFacts & { readonly payload: Buffer; readonly kind: Kind }

/** The near copies of this process, which may keep the values of leaseless loads. */
export interface LeaselessCopies {
  /** Announces the load; returns a mark for the calls below. */
  expectAlone(key: string): symbol
  /** Keeps its value, unless the mark is gone because the key was dropped meanwhile. */
  loaded(key: string, expected: symbol | null, loaded: LoadedCopy): void
  /** Withdraws the mark of a load that brought no value. */
  forgo(key: string, expected: symbol | null): boolean
}

/** The parts that the leaseless loads of one cache share. */
export interface LeaselessParts {
  /** Identifies the cache: two caches may use the same key for different values. */
  readonly store: object
  readonly keyspace: Keyspace
  readonly codec: Codec
  readonly events: Events
  readonly unstored: UnstoredValues
  readonly failures: LoadFailures
  readonly clock: Clock
  readonly tracing: Tracing
  readonly near: LeaselessCopies | null
}

/** The loads without a lease of one cache. None of their values is stored. */
export class LeaselessLoads {
  readonly #parts: LeaselessParts
  readonly #running = new Set<() => void>()

  constructor(parts: LeaselessParts) {
    this.#parts = parts
  }

  /**
   * Runs a loader without a lease.
   * @param parent the load whose loader waits for this one
   */
  async run({ key, loader, plan, tags }: CallRequest, stale: Stale | null, parent: LoadNode | null): Promise<LoadRun> {
    const { clock, codec, events, store, near, keyspace, tracing, unstored, failures } = this.#parts
    const began = clock.now()
    events.emit('load', { key, leased: false })
    const loss = new Loss()
    const giveUp = (): void => loss.lose(closedError(key))
    const node = { key, cache: store, parent, waitsFor: new Set<{ to: LoadNode }>(), running: true }
    const expected = near?.expectAlone(key) ?? null
    const trace = tracing.begin('load', key)
    this.#running.add(giveUp)
    try {
      const own = { node, fence: null, stale, loss }
      const loaded = await trace.run(() => runLoader({ key, loader, plan, tags, clock, ...own }))
      // A value that the store would refuse is refused here too: the outcome must not depend on the store being away.
      const kept = loaded.state === 'value' ? encodeValue(loaded.value, key, plan.maxValueSize, codec) : null
      const outcome: LoadRun = kept instanceof CacheError ? { state: 'failed', error: kept, cooldown: 0, tags } : loaded
      if (outcome.state === 'failed') {
        failures.noteOwn(outcome.error, key)
        events.emit('failure', { key, error: outcome.error, duration: clock.now() - began })
      }
      if (outcome.state === 'value' && kept !== null) {
        const payload = Buffer.from(kept as Uint8Array)
        unstored.add(key, began, payload)
        const itsTags = keyspace.tagsOf(key, outcome.tags, plan.version)
        near?.loaded(key, expected, { ...outcome, tags: itsTags, payload })
      }
      trace.end(outcome.state, 'error' in outcome ? outcome.error : undefined)
      return outcome
    } finally {
      near?.forgo(key, expected)
      node.running = false
      this.#running.delete(giveUp)
    }
  }

  /** Gives up the running loads. */
  giveUp(): void {
    for (const giveUp of this.#running) giveUp()
  }
}

import type { Clock, Timer } from '../time/clock.ts'
import { CacheError, quoted, closedError } from '../errors.ts'
import type { Events } from '../observe/events.ts'
import { type CallRequest, type LoadedFacts, type LoadResult, type LoadRun, runLoader, type Stale } from './loader.ts'
import type { CausalTime } from './causal-order.ts'
import { loadContextStorage, type LoadNode } from './circular-load.ts'
import { encodeValue, type UnstoredValues } from './payload.ts'
import type { Codec } from '../codec/codec.ts'
import type { Keyspace } from '../entry/key.ts'
import type { Tracing } from '../observe/tracing.ts'

/** A caller's part in a load without a lease. */
export interface Share {
  /**
   * What comes of the load; `null` if it was a load that had lost its lease, and it brought no value. Never settles if the
   * caller has left and nobody else wanted it.
   */
  readonly loaded: Promise<LoadRun | null>
  /** The caller waits no more: a load that nobody waits for is not begun. */
  readonly leave: () => void
}

interface Generation {
  /** When its loader started; `null` while it waits for its turn, and may be joined by anyone. */
  began: CausalTime | null
  callers: number
  /** Whether a loader waits for it: then it does not queue. */
  urgent: boolean
  readonly loaded: Promise<LoadRun | null>
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
   * @param run runs the loader; called if it is this caller who makes the load
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
   * A load that was started with a lease goes on without it, and counts as one that never had it.
   * @param began `null` if its value is for nobody, because it was voided
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

/** Copies in this process, which may keep the values of such loads. */
export interface LeaselessCopies {
  /** Before the load; the returned mark is for what follows. */
  expectAlone(key: string): symbol
  /** Keeps its value, unless that has gone meanwhile. */
  loaded(key: string, expected: symbol | null, loaded: LoadedFacts & { readonly payload: Buffer }): void
  /** It brought no value. */
  forgo(key: string, expected: symbol | null): boolean
}

/** What the loads without a lease of one cache work with. */
export interface LeaselessParts {
  /** Names the cache: two caches may use the same key for different things. */
  readonly store: object
  readonly keyspace: Keyspace
  readonly codec: Codec
  readonly events: Events
  readonly unstored: UnstoredValues
  readonly clock: Clock
  readonly tracing: Tracing
  readonly near: LeaselessCopies | null
}

/** Loads that run without a lease in one cache; nothing of them is stored. */
export class LeaselessLoads {
  readonly #parts: LeaselessParts
  readonly #running = new Set<() => void>()

  constructor(parts: LeaselessParts) {
    this.#parts = parts
  }

  /** @param parent the load whose loader waits for this one */
  async run({ key, loader, plan }: CallRequest, stale: Stale | null, parent: LoadNode | null): Promise<LoadRun> {
    const { clock, codec, events, store, near, keyspace, tracing, unstored } = this.#parts
    const began = clock.now()
    events.emit('load', { key, leased: false })
    let giveUp!: () => void
    const lost = new Promise<CacheError>((resolve) => (giveUp = () => resolve(closedError(key))))
    const node = { key, cache: store, parent, waitsFor: new Set<{ to: LoadNode }>(), running: true }
    const expected = near?.expectAlone(key) ?? null
    const trace = tracing.begin('load', key)
    this.#running.add(giveUp)
    try {
      const run = (): Promise<LoadRun> => runLoader({ key, loader, plan, clock, fence: null, stale, lost })
      const loaded = await trace.run(() => loadContextStorage.run(node, run))
      // What could not be stored is refused here too: a value must not depend on whether the store happens to be away.
      const kept = loaded.state === 'value' ? encodeValue(loaded.value, key, plan.maxValueSize, codec) : null
      const outcome: LoadRun = kept instanceof CacheError ? { state: 'failed', error: kept } : loaded
      if (outcome.state === 'failed')
        events.emit('failure', { key, error: outcome.error, duration: clock.now() - began })
      if (outcome.state === 'value' && kept !== null) {
        const payload = Buffer.from(kept as Uint8Array)
        unstored.add(key, began, payload)
        near?.loaded(key, expected, { ...outcome, tags: keyspace.tagsOf(key, outcome.tags), payload })
      }
      trace.end(outcome.state, 'error' in outcome ? outcome.error : undefined)
      return outcome
    } finally {
      near?.forgo(key, expected)
      node.running = false
      this.#running.delete(giveUp)
    }
  }

  /** Gives up those that are running. */
  giveUp(): void {
    for (const giveUp of this.#running) giveUp()
  }
}

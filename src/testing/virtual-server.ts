import type { Clock } from '../core/time/clock.ts'
import { placeKept } from '../core/contract/lock-backend.ts'
import type { Copies, Store } from '../core/contract/store.ts'
import { MemoryLocks } from '../memory/lock.ts'
import { memoryStore, type MemoryStoreOptions } from '../memory/memory-store.ts'
import type { Silence, Way } from './way.ts'

/** The one store of a virtual fleet, as its tests see it: what may happen to a Redis. */
export interface VirtualServer {
  /** Loses all values, leases and locks, as a Redis that is restarted empty. Whoever waits is not told. */
  wipe(): void

  /** Loses the lease of a key of the fleet's own caches, as a Redis without memory may, and tells nobody. */
  evictLease(key: string): Promise<void>

  /** Sets its clock ahead by so many milliseconds, or back if negative. Throws TypeError for what is no number. */
  shiftClock(ms: number): void

  /**
   * Is reached by nobody until it is started.
   * @param how `'refuse'` (default): every command is rejected at once, as when it is down; `'stall'` and `'drop'`: it is
   *   silent, see `partition` of a process
   * @returns what takes this alone back
   */
  stop(how?: Silence): () => void

  /** Is reached again, after however many `stop`. */
  start(): void
}

/** The store, and all ways to it. */
export class Server implements VirtualServer {
  store!: Store
  locks!: MemoryLocks
  readonly ways: Way[] = []
  readonly #watches = new Map<Copies, { readonly namespace: string; close: () => void }>()
  /** Tokens whose loads nobody is told about. */
  readonly muted: Set<string> = new Set()
  readonly #clock: Clock
  readonly #bounds: MemoryStoreOptions
  readonly #named: (key: string) => string
  readonly #stops = new Set<() => void>()
  #ahead = 0

  /** @param named a key as the fleet's own caches have it in the store */
  constructor(world: Clock, bounds: MemoryStoreOptions, named: (key: string) => string) {
    this.#clock = {
      now: () => world.now() + this.#ahead,
      after: (ms, run, background) => world.after(ms, run, background),
    }
    this.#bounds = bounds
    this.#named = named
    this.wipe()
  }

  wipe(): void {
    this.store = memoryStore({ ...this.#bounds, clock: this.#clock })
    this.locks = new MemoryLocks(this.#clock, placeKept)
    for (const [copies, { namespace, close }] of this.#watches) {
      close()
      this.watch(namespace, copies)
      copies.dropAll()
    }
  }

  /** Tells whoever keeps copies what goes; returns what stops it. */
  watch(namespace: string, copies: Copies): () => void {
    const watch = this.store.watch?.(namespace, copies)
    this.#watches.set(copies, { namespace, close: () => watch?.close() })
    return () => {
      this.#watches.get(copies)?.close()
      this.#watches.delete(copies)
    }
  }

  async evictLease(key: string): Promise<void> {
    const named = this.#named(key)
    const claim = await this.store.claim({ key: named, token: 'evictor', leaseTtl: 1 })
    if (claim.state === 'lease') await this.store.release(claim.lease)
    if (claim.state !== 'wait') return
    claim.leave()
    this.muted.add(claim.token)
    await this.store.release({ key: named, token: claim.token })
  }

  shiftClock(ms: number): void {
    if (!Number.isFinite(ms)) throw new TypeError(`Expected a number of milliseconds to set the clock by, got ${ms}`)
    this.#ahead += ms
  }

  stop(how: Silence = 'refuse'): () => void {
    const undo = this.ways.map((way) => way.block(how))
    const start = (): void => {
      this.#stops.delete(start)
      for (const each of undo) each()
    }
    this.#stops.add(start)
    return start
  }

  start(): void {
    for (const start of this.#stops) start()
  }
}

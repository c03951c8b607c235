import type { Clock } from '../../core/time/clock.ts'
import { placeKept } from '../../core/contract/lock-backend.ts'
import type { Copies, Store } from '../../core/contract/store.ts'
import { MemoryLocks } from '../../memory/lock.ts'
import { memoryStore, type MemoryStoreOptions } from '../../memory/memory-store.ts'
import type { Silence, Way } from './way.ts'

/** The store of a virtual fleet, with the faults of a Redis. */
export interface VirtualServer {
  /** Loses all values, leases and locks, like a Redis that restarts empty. Waiters are not told. */
  wipe(): void

  /** Loses the lease of a key of the fleet's caches, like a Redis under memory pressure. No process is told. */
  evictLease(key: string): Promise<void>

  /** Sets its clock ahead by `ms` milliseconds, or back if negative. Throws TypeError unless it is a number. */
  shiftClock(ms: number): void

  /**
   * Stops the server until it is started.
   * @param how `'refuse'` (default): every command is rejected at once, as when it is down; `'stall'` and `'drop'`: it
   *   is silent, see `partition` of a process
   * @returns a function that ends this stop
   */
  stop(how?: Silence): () => void

  /** Ends all stops. */
  start(): void
}

/** The store, and the connections of all processes to it. */
export class Server implements VirtualServer {
  store!: Store
  locks!: MemoryLocks
  readonly ways: Way[] = []
  readonly #watches = new Map<Copies, { readonly namespace: string; close: () => void }>()
  /** The tokens of loads about which no message is sent. */
  readonly muted: Set<string> = new Set()
  readonly #clock: Clock
  readonly #bounds: MemoryStoreOptions
  readonly #named: (key: string) => string
  readonly #stops = new Set<() => void>()
  #ahead = 0

  /** @param named converts a key of the fleet's caches to its name in the store */
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

  /** Watches a namespace for copies; returns a function that stops it. */
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

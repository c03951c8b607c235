import type { Cache } from '../../core/cache/cache.ts'
import { oneOf } from '../../core/options/checks.ts'
import type { Clock } from '../../core/time/clock.ts'
import { longestTimer, parseDuration, formatValue, type Duration } from '../../core/time/duration.ts'
import { openCache } from '../../core/cache/open-cache.ts'
import { FleetLock } from '../../core/lock/fleet-lock.ts'
import type { Lock } from '../../core/contract/lock.ts'
import type { Store } from '../../core/contract/store.ts'
import { memoryStore } from '../../memory/memory-store.ts'
import { FarLocks } from './far-locks.ts'
import type { FleetPlan } from './fleet-plan.ts'
import type { Lane, Process } from './process.ts'
import type { Server } from './virtual-server.ts'
import { VirtualStore } from './virtual-store.ts'
import type { Silence, Way } from './way.ts'

/** A process of a virtual fleet. */
export interface VirtualProcess {
  /** 1 for the first process. */
  readonly number: number
  readonly state: 'running' | 'paused' | 'killed'
  /** Its cache, as made by `createCache`. */
  readonly cache: Cache
  /** Its lock; the locks of all processes exclude each other. */
  readonly lock: Lock
  /** Its connection to the store, for further caches: `createCache({ store, clock })`. */
  readonly store: Store
  /** Its clock, for code that waits in it: it runs no timer while the process is paused. */
  readonly clock: Clock

  /**
   * Resolves after `duration` by its clock; never if the process is killed before. It may be passed on without the
   * process.
   */
  readonly sleep: (duration: Duration) => Promise<void>

  /** Runs work in the process, at once or when it resumes; the promise never settles if the process is killed. */
  run<T>(work: () => T | PromiseLike<T>): Promise<T>

  /**
   * Pauses the process, like SIGSTOP or a long garbage collection: until it resumes, no timer runs, no answer arrives,
   * and nothing is sent. Throws Error if it was killed.
   */
  pause(): void

  /**
   * Resumes the process with its overdue events.
   * @param first the events that run first: `'timers'` (default), or the `'answers'` that have arrived meanwhile
   * @throws Error if it was killed
   */
  resume(first?: 'timers' | 'answers'): void

  /** Kills the process, like SIGKILL: the events that it waits for never happen. */
  kill(): void

  /**
   * Cuts the process off from the store.
   * @param how messages in both directions arrive when the partition ends (`'stall'`, default) or never (`'drop'`), or
   *   every command is rejected at once (`'refuse'`). Messages that are already under way arrive.
   * @returns a function that ends this partition
   */
  partition(how?: Silence): () => void

  /** Ends all partitions. */
  heal(): void
}

/** The parts of a virtual process. */
export interface Parts {
  readonly process: Process
  readonly way: Way
  readonly server: Server
  readonly plan: FleetPlan
}

export class FleetProcess implements VirtualProcess {
  readonly cache: Cache
  readonly lock: Lock
  readonly store: Store
  readonly #process: Process
  readonly #way: Way
  readonly #partitions = new Set<() => void>()

  constructor({ process, way, server, plan }: Parts) {
    this.#process = process
    this.#way = way
    const clock = process
    this.store = new VirtualStore(way, server, () => process.now())
    this.cache = openCache({ ...plan.cache, store: this.store, clock }, () => memoryStore({ clock }))
    const { commandTimeout } = plan.cachePlan
    this.lock = new FleetLock(new FarLocks(way, server), { plan: plan.lock, commandTimeout, clock })
  }

  // Not a method, so that it can be passed on alone.
  readonly sleep = (duration: Duration): Promise<void> => {
    const ms = parseDuration('duration', duration, { least: 0, most: longestTimer })
    return new Promise((resolve) => this.#process.after(ms, resolve))
  }

  get number(): number {
    return this.#process.number
  }

  get state(): VirtualProcess['state'] {
    return this.#process.state
  }

  get clock(): Clock {
    return this.#process
  }

  run<T>(work: () => T | PromiseLike<T>): Promise<T> {
    if (typeof work !== 'function') throw new TypeError(`Expected the work to be a function, got ${formatValue(work)}`)
    return new Promise((resolve) => this.#process.receive(() => resolve((async () => work())())))
  }

  pause(): void {
    this.#checkAlive()
    this.#process.pause()
  }

  resume(first: Lane = 'timers'): void {
    oneOf('timers', 'answers')('first', first)
    this.#checkAlive()
    this.#process.resume(first)
  }

  kill(): void {
    this.#process.kill()
  }

  partition(how: Silence = 'stall'): () => void {
    const open = this.#way.block(how)
    const heal = (): void => {
      this.#partitions.delete(heal)
      open()
    }
    this.#partitions.add(heal)
    return heal
  }

  heal(): void {
    for (const heal of this.#partitions) heal()
  }

  #checkAlive(): void {
    if (this.state === 'killed') throw new Error(`Process ${this.number} was killed`)
  }
}

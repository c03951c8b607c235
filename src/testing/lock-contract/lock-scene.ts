import { strict as assert } from 'node:assert'
import type { CacheErrorCode } from '../../core/errors.ts'
import type { Lock, LockLease } from '../../core/contract/lock.ts'
import { inTime, pause, until } from '../waiting.ts'

/** The locks of one test. */
export interface OpenLocks {
  /**
   * At least two locks that share only the backend; the suite closes them. Their deadline of a command should be longer
   * than a busy machine is blocked.
   */
  readonly locks: readonly Lock[]
  readonly close: () => Promise<void>
  /**
   * The number of waiters for a lock in its queue, if that can be observed; if not, each waiter is given a moment to
   * enlist.
   */
  readonly waiting?: ((name: string) => Promise<number>) | undefined
}

/** One test of the contract. */
export interface LockTest {
  readonly title: string
  readonly run: (scene: LockScene) => Promise<void>
}

/** The locks and helpers of one test. */
export class LockScene {
  readonly locks: readonly Lock[]
  /** Whether the locks can keep the order of waiters. */
  readonly fair: boolean
  readonly #close: () => Promise<void>
  readonly #waiting: OpenLocks['waiting']
  readonly #timeout: number
  readonly #prefix = `contract ${Math.random().toString(36).slice(2)} ${Date.now()}`
  #names = 0

  private constructor({ locks, close, waiting }: OpenLocks, options: { fair: boolean; timeout: number }) {
    if (locks.length < 2) throw new TypeError('Expected `open` of lockContract to open two locks or more')
    this.locks = locks
    this.#close = close
    this.#waiting = waiting
    this.fair = options.fair
    this.#timeout = options.timeout
  }

  static async open(open: () => Promise<OpenLocks>, options: { fair: boolean; timeout: number }): Promise<LockScene> {
    return new LockScene(await open(), options)
  }

  get a(): Lock {
    return this.locks[0] as Lock
  }

  get b(): Lock {
    return this.locks[1] as Lock
  }

  /** A name that is unique to this test. */
  name(): string {
    return `${this.#prefix} ${++this.#names}`
  }

  async held(lock: Lock, name: string, ttl = 30_000): Promise<LockLease> {
    const lease = await lock.tryAcquire(name, { ttl })
    assert(lease !== null, 'a lock that nobody has is given to who asks')
    return lease
  }

  /** The result of a promise, which must settle within the timeout of the suite. */
  inTime<T>(promise: Promise<T>, what: string): Promise<T> {
    return inTime(promise, what, this.#timeout)
  }

  /** Resolves when `count` waiters for a lock are in its queue, of which the last one has asked through `lock`. */
  async enlisted(lock: Lock, name: string, count: number): Promise<void> {
    const waiting = this.#waiting
    if (waiting !== undefined) {
      const enough = async (): Promise<true | undefined> => (await waiting(name)) >= count || undefined
      await until('whoever waits has its place', enough, this.#timeout)
      return
    }
    await pause(100)
    // What is asked through one lock arrives in its order, as a rule.
    assert.equal(await lock.tryAcquire(name), null, 'the lock is held')
  }

  /** Resolves with the abort reason of a lease's signal. */
  lost(lease: LockLease): Promise<unknown> {
    const { signal } = lease
    const lost = new Promise<unknown>((resolve) => {
      if (signal.aborted) resolve(signal.reason)
      else signal.addEventListener('abort', () => resolve(signal.reason), { once: true })
    })
    return this.inTime(lost, 'the signal of a lease that is lost is aborted')
  }

  async close(): Promise<void> {
    await Promise.all(this.locks.map((lock) => lock.close()))
    await this.#close()
  }
}

/** Asserts that a promise rejects with an error of this code. */
export async function rejects(promise: Promise<unknown>, code: CacheErrorCode): Promise<void> {
  await assert.rejects(promise, (error: { code?: unknown }) => {
    assert.equal(error.code, code)
    return true
  })
}

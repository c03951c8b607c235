import type { Duration } from '../time/duration.ts'

/**
 * A distributed lock: one lease per name at a time, held for a ttl that is renewed while the holder lives. Made by
 * `redisLock`, `redlock`, `memoryLock`, `postgresLock` and `zookeeperLock`, which differ in the failures they survive.
 *
 * A lock makes concurrent work rare, not impossible: a holder may be paused for longer than its ttl without noticing.
 * Where it must be impossible, the resource itself must check the fencing token `fence` (Kleppmann, "How to do
 * distributed locking", 2016).
 */
export interface Lock extends AsyncDisposable {
  /**
   * Requests the lock once.
   * @param name the lock, 1 to 65 536 characters
   * @returns the lease, or `null` if another lease holds the lock
   * @throws TypeError for a wrong argument; the signal's reason; `CacheError` STORE_UNAVAILABLE, CLOSED
   */
  tryAcquire(name: string, options?: HoldOptions): Promise<LockLease | null>

  /**
   * Requests the lock, and waits for up to `wait` while another lease holds it.
   * @returns the lease
   * @throws as `tryAcquire`, and `CacheError` LOCK_TIMEOUT if `wait` ends first
   */
  acquire(name: string, options?: AcquireOptions): Promise<LockLease>

  /**
   * Runs `work` under the lock, and releases the lock when `work` settles.
   * @param names several locks are acquired one after the other, in the order of their characters, so that two callers
   *   with the same names never deadlock
   * @param work receives the lease, or the leases in the order of `names`; it should observe their `signal`
   * @returns the result of `work`
   * @throws the error of `work`; else as `acquire`
   */
  run<T>(name: string, work: (lease: LockLease) => T | PromiseLike<T>, options?: AcquireOptions): Promise<T>
  run<T>(
    names: readonly string[],
    work: (leases: readonly LockLease[]) => T | PromiseLike<T>,
    options?: AcquireOptions,
  ): Promise<T>

  /**
   * Rejects pending and later requests with CLOSED, releases the held leases (their signals abort with CLOSED), and
   * closes the connections that the lock opened itself. Your client stays open.
   */
  close(): Promise<void>
}

/** The options of one lease. */
export interface HoldOptions {
  /** The ttl of the lease without renewal, after which a dead holder blocks the lock no longer. Default `'60s'`. */
  readonly ttl?: Duration | undefined
  /**
   * When the lease is renewed, or `false` for a lease that ends after its ttl. Default: every third of its ttl while
   * held.
   */
  readonly renew?: RenewOptions | false | undefined
  /** Whether work under the lock may request it again in the same asynchronous context. Default `false`. */
  readonly reentrant?: boolean | undefined
  /** Ends the request with the signal's reason; a lease that is already held stays held. */
  readonly signal?: AbortSignal | undefined
}

/** How a lease is renewed. */
export interface RenewOptions {
  /** The part of the ttl after which the lease is renewed, between 0 and 1. Default 1/3. */
  readonly at?: number | undefined
  /** The longest time the lease is held in all; after it, renewal stops and the lease ends. Default: unlimited. */
  readonly maxHold?: Duration | undefined
}

/** The options of a request that waits. */
export interface AcquireOptions extends HoldOptions {
  /** How long to wait while another lease holds the lock. Default `'3s'`. */
  readonly wait?: Duration | undefined
  /** How often to request again if the backend pushes no releases, ± 25 %. Default 10 ms. */
  readonly retryEvery?: Duration | undefined
  /** Whether waiters get the lock in the order of their requests. Default `false`: in any order. */
  readonly fair?: boolean | undefined
}

/** A lease of a lock: the right to use the guarded resource. */
export interface LockLease extends AsyncDisposable {
  readonly name: string
  /** Unique to this lease for all time; the backend stores it. */
  readonly token: string
  /** The fencing token, greater than that of every earlier lease of this name; `null` if the backend provides none. */
  readonly fence: bigint | null
  /**
   * Aborts with LEASE_LOST when the lease is lost, at the latest when its ttl may have ended, whether or not the
   * backend can be reached; with CLOSED when the lock is closed.
   */
  readonly signal: AbortSignal

  /**
   * How long the lease is certainly valid, in milliseconds by the monotonic clock of this process; 0 once it is over.
   */
  remaining(): number

  /**
   * Whether the lease is certainly valid for another `margin` milliseconds (default 0).
   * @throws TypeError unless the margin is a number of 0 or more
   */
  isValid(margin?: number): boolean

  /** Throws LEASE_LOST unless `isValid(margin)`. */
  assertValid(margin?: number): void

  /**
   * Extends the lease by another ttl from now.
   * @param ttl replaces the ttl of the lease; later renewals use it. Default: the current ttl
   * @returns whether the lease is still held; if not, `signal` is aborted
   * @throws `CacheError` STORE_UNAVAILABLE if the backend does not answer
   */
  extend(ttl?: Duration): Promise<boolean>

  /**
   * Releases the lease. May be called any number of times; never throws.
   * @returns `'lost'` if the lease was lost before, `'unknown'` if the backend did not answer: then it ends with its
   *   ttl
   */
  release(): Promise<Released>
}

/** The result of a release. */
export type Released = 'released' | 'lost' | 'unknown'

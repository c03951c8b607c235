import type { Duration } from '../time/duration.ts'

/**
 * Only one of us runs this: a lock for the whole fleet, held for a ttl that is renewed as long as its holder lives.
 * Made by `redisLock`, `redlock`, `memoryLock`, `postgresLock` and `zookeeperLock`, which differ in what they survive.
 *
 * A lock makes it rare that two do the same work. Where that must never happen, what the work writes to must check the
 * `fence`: a holder may stand still for longer than its ttl, and not know it yet (Kleppmann, "How to do distributed
 * locking", 2016).
 */
export interface Lock extends AsyncDisposable {
  /**
   * Asks once.
   * @param name what is locked: 1 to 65 536 characters
   * @returns the lease, or `null` where somebody else holds it
   * @throws TypeError for a wrong argument; the signal's reason; `CacheError` STORE_UNAVAILABLE, CLOSED
   */
  tryAcquire(name: string, options?: HoldOptions): Promise<LockLease | null>

  /**
   * Asks, and waits for up to `wait` while somebody else holds it.
   * @throws as `tryAcquire`, and `CacheError` LOCK_TIMEOUT where it was held all the time
   */
  acquire(name: string, options?: AcquireOptions): Promise<LockLease>

  /**
   * Runs `work` under the lock, and gives it back however that ends.
   * @param names several are acquired one after the other, in the order of their characters: two who ask for the same
   *   ones never wait for each other in a circle
   * @param work is given the lease, or the leases in the order of `names`; it should look at their `signal`
   * @returns what `work` returns
   * @throws what `work` throws; else as `acquire`
   */
  run<T>(name: string, work: (lease: LockLease) => T | PromiseLike<T>, options?: AcquireOptions): Promise<T>
  run<T>(
    names: readonly string[],
    work: (leases: readonly LockLease[]) => T | PromiseLike<T>,
    options?: AcquireOptions,
  ): Promise<T>

  /**
   * Refuses who asks or waits with CLOSED, gives back what is held (its signal is aborted with CLOSED), and ends what the
   * lock opened by itself. A client of yours stays open.
   */
  close(): Promise<void>
}

/** What may be said of a lease. */
export interface HoldOptions {
  /** How long it lives without renewal; a dead holder blocks others no longer. Default `'60s'`. */
  readonly ttl?: Duration | undefined
  /** When it is renewed, or `false`: it ends after its ttl. Default: every third of its ttl, for as long as it is held. */
  readonly renew?: RenewOptions | false | undefined
  /** Whether work under the lock may ask for it again, in the same asynchronous context. Default `false`. */
  readonly reentrant?: boolean | undefined
  /** Ends the asking with the signal's reason; a lease that is held stays held. */
  readonly signal?: AbortSignal | undefined
}

/** How a lease is renewed. */
export interface RenewOptions {
  /** After which part of its ttl, between 0 and 1. Default 1/3. */
  readonly at?: number | undefined
  /** How long it may be held in all; then it is renewed no more, and ends. Default: no bound. */
  readonly maxHold?: Duration | undefined
}

/** What may be said of the waiting. */
export interface AcquireOptions extends HoldOptions {
  /** How long to wait while somebody else holds it. Default `'3s'`. */
  readonly wait?: Duration | undefined
  /** Where nobody tells when it is free: how often to ask again, give or take a quarter. Default 10 ms. */
  readonly retryEvery?: Duration | undefined
  /** Whether those who wait get it in the order in which they asked. Default `false`: whoever comes first. */
  readonly fair?: boolean | undefined
}

/** The right to do what a lock guards. */
export interface LockLease extends AsyncDisposable {
  readonly name: string
  /** Nobody else has it, nor ever will; it is what the backend keeps. */
  readonly token: string
  /** Greater than that of every lease of this name before; `null` where the backend has none to give. */
  readonly fence: bigint | null
  /** Aborted with LEASE_LOST when the lease is lost: at the latest when its ttl could have ended, whether or not the
   *  backend can be heard; with CLOSED when the lock is closed. */
  readonly signal: AbortSignal

  /** For how long it is certainly ours, in milliseconds by this process's monotonic clock; 0 once it is over. */
  remaining(): number

  /** Whether it is certainly ours, and will be for another `margin` milliseconds (default 0). */
  isValid(margin?: number): boolean

  /** Throws LEASE_LOST unless `isValid(margin)`. */
  assertValid(margin?: number): void

  /**
   * Lets it live for another ttl from now.
   * @param ttl instead of that it was acquired with; renewals go by it from then on
   * @returns whether it is still ours; if not, `signal` is aborted
   * @throws `CacheError` STORE_UNAVAILABLE where that cannot be told
   */
  extend(ttl?: Duration): Promise<boolean>

  /**
   * Gives it back. May be called any number of times, and never throws.
   * @returns `'lost'` if it was not ours any more, `'unknown'` if the backend did not answer: then it ends with its ttl
   */
  release(): Promise<Released>
}

/** What came of giving a lease back. */
export type Released = 'released' | 'lost' | 'unknown'

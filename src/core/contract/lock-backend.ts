import type { Diagnosis } from '../errors.ts'

/**
 * The backend of a lock. Waiting, renewal and deadlines are common to all backends and live in core/lock;
 * `herdless/testing` has the suite that every backend must pass.
 *
 * All times are milliseconds. A method rejects if the backend cannot be reached, and only then.
 */
export interface LockBackend {
  /** The longest ttl of a lease without renewal, in milliseconds. */
  readonly longest: number

  /**
   * Requests a lock, and grants it if it is free, in one atomic step. Idempotent: a request that is sent twice with the
   * same token gets the same result.
   */
  take(request: TakeRequest): Promise<TakeResult>

  /**
   * Extends leases by another ttl, in as few commands as possible. Resolves with `false` for each lease that is lost.
   */
  renew(holds: readonly Hold[]): Promise<boolean>[]

  /** Releases a lease. `false`: the lease was lost before, and nothing was changed. */
  release(hold: Hold): Promise<boolean>

  /**
   * Why a command failed, as far as it is known.
   * @param rejection the error of the command; absent if the command was not answered in time
   */
  diagnose?(rejection?: unknown): Diagnosis | null

  /** A lock begins to use the backend. */
  open(): void

  /** A lock ends its use; closes the connections that the backend opened itself. */
  close(): Promise<void>
}

export interface TakeRequest {
  readonly name: string
  /** Unique per lease, never reused. */
  readonly token: string
  readonly ttl: number
  /**
   * Whether the caller waits in the order of requests (`fair`), waits in any order (`any`), or requests once (`no`).
   */
  readonly waits: 'fair' | 'any' | 'no'
}

/** The result of a request. */
export type TakeResult = { readonly state: 'held'; readonly hold: Hold } | Busy

/**
 * Another lease holds the lock. The request has enlisted the waiter already, so no release can slip in between the two.
 */
export interface Busy {
  readonly state: 'busy'
  /** Resolves when a new request may win, if the backend pushes releases; it may never resolve: then request again. */
  readonly freed: Promise<void>
  /** Whether the backend pushes releases; if not, a new request is the only way to notice one. */
  readonly pushed: boolean
  /** The milliseconds after which a new request may win without a message. */
  readonly left: number
  /** Stops listening; must be called when this wait is over. A waiter that requests again keeps its place. */
  leave(): void
  /** Leaves the queue as well; rejects if the backend cannot be reached. */
  giveUp(): Promise<void>
}

/** A granted lease of a lock. */
export interface Hold {
  readonly name: string
  readonly token: string
  readonly ttl: number
  readonly fence: bigint | null
  /** Resolves when the lease is taken away before its time; absent if the backend never does that. */
  readonly lost?: Promise<void>
}

/**
 * How long a waiter keeps its place in the queue without requesting again, in milliseconds; waiters request far more
 * often.
 */
export const placeKept = 5_000

/** How long the first waiter keeps its place after the message that the lock is free, in milliseconds. */
export const placeKeptOnceTold = 250

/** Another lease holds the lock, and the backend sends no message when it is free. */
export function busyUntold(left: number = Number.POSITIVE_INFINITY): Busy {
  const nothing = (): void => undefined
  return {
    state: 'busy',
    freed: new Promise(nothing),
    pushed: false,
    left,
    leave: nothing,
    giveUp: async () => undefined,
  }
}

/**
 * Where locks live. What waits, renews and counts time is the same for all of them; `herdless/testing` has the suite that
 * each must pass.
 *
 * All times are milliseconds. All methods reject when the backend cannot be reached, and only then.
 */
export interface LockBackend {
  /** The longest that a lease may live without renewal, in milliseconds. */
  readonly longest: number

  /**
   * Asks for a lock and perhaps gets it, in one step.
   * Asking again with the same token is answered as before: a command that was sent twice loses nothing.
   */
  take(request: TakeRequest): Promise<TakeResult>

  /** Holds leases for another ttl, with as few commands as can be; for each, `false` when it is no longer ours. */
  renew(holds: readonly Hold[]): Promise<boolean>[]

  /** Gives a lease back. `false`: it was no longer ours, and nothing was done. */
  release(hold: Hold): Promise<boolean>

  /** Somebody begins to use it. */
  open(): void

  /** Ends what it opened by itself. */
  close(): Promise<void>
}

export interface TakeRequest {
  readonly name: string
  /** One per lease, never reused for another. */
  readonly token: string
  readonly ttl: number
  /** Whether whoever asks will wait, in the order of asking (`fair`) or as it comes (`any`), or asks only once (`no`). */
  readonly waits: 'fair' | 'any' | 'no'
}

/** The answer to a request. */
export type TakeResult = { readonly state: 'held'; readonly hold: Hold } | Busy

/** Somebody else has it. The wait is enlisted already: it cannot become free between asking and listening. */
export interface Busy {
  readonly state: 'busy'
  /** Resolves when asking again may win, if a message says so; it may never resolve: then ask again. */
  readonly freed: Promise<void>
  /** Whether the backend tells; if not, asking again is the only way to learn of it. */
  readonly pushed: boolean
  /** After this many milliseconds asking again may win, if nothing was heard by then. */
  readonly left: number
  /** Stops listening; must be called when this wait is over. Whoever asks again keeps its place. */
  leave(): void
  /** Gives up the place in the queue as well; rejects when the backend cannot be reached. */
  giveUp(): Promise<void>
}

/** A lock that is held. */
export interface Hold {
  readonly name: string
  readonly token: string
  readonly ttl: number
  readonly fence: bigint | null
  /** Resolves when it was taken away before its time; absent where that is not done. */
  readonly lost?: Promise<void>
}

/** For how long whoever waits keeps its place in a queue unless it asks again, in milliseconds: it does so far more often. */
export const placeKept = 5_000

/** For how long the next one keeps its place once it has been told that the lock is free, in milliseconds. */
export const placeKeptOnceTold = 250

/** Somebody else has it, and nobody will tell when it is free. */
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

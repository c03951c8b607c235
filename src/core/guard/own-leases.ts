import { Backlog } from './backlog.ts'
import type { Clock } from '../time/clock.ts'
import type { LeaseName } from '../contract/store.ts'
import { TokenSource } from '../lease/token.ts'

/** The most ended leases that are remembered (for a moment a tenth more), and the most whose release is repeated. */
const most = 10_000

/** The shortest time between two rounds that forget what is over, in milliseconds, while no more than `most` are kept. */
const pauseBeforeForgetting = 1_000

/** How long to repeat the release of a lease whose ttl is forgotten, in milliseconds. */
const unknownTtl = 10_000

/**
 * The shortest time between two rounds that release all ended leases, in milliseconds: where one came back, others
 * probably have.
 */
const pauseBetweenRounds = 100

/** A lease with its ttl, in milliseconds. */
interface LeaseWithTtl extends LeaseName {
  readonly ttl: number
}

/** A lease whose load has ended. */
interface EndedLease extends LeaseWithTtl {
  /** The time, by the clock, after which no store can still hold it. */
  readonly until: number
}

/**
 * The leases of one process, live and ended: a lease must not outlive its load. The race that this survives, with
 * holder A and waiter B during a failover:
 *
 * 1. A claims a key under token a, and loads. B claims the key and is enlisted as a waiter of a.
 * 2. A sends its fill. Redis refuses it with READONLY, because it is being demoted.
 * 3. A sends the release of a. Redis refuses that as well.
 * 4. No load runs under a, but Redis still holds it, and no takeover frees it, because A is alive. B would wait for the
 *    rest of the lease ttl.
 * 5. A repeats the release every 250 ms, until it is answered or the ttl of a is over.
 * 6. The new master accepts the release and wakes B.
 * 7. B claims the key under token b, and loads.
 *
 * Redis may also accept the end of a load and then forget it, in a failover or a restart from an older snapshot. So
 * ended leases are remembered for their ttl and released again when the store may have forgotten something; and a lease
 * that the store reports under an ended token of this process is released at once.
 */
export class OwnLeases {
  readonly #tokens = new TokenSource()
  /** The tokens of claims on their way and of loads that run or are being ended. */
  readonly #live = new Set<string>()
  /** By token, oldest first. */
  readonly #ended = new Map<string, EndedLease>()
  /** The releases that the store has not answered yet. */
  readonly #owed: Backlog<EndedLease>
  readonly #release: (lease: LeaseName) => Promise<boolean>
  readonly #clock: Clock
  /** When a lease last came back and caused a round. */
  #cameBackAt = Number.NEGATIVE_INFINITY
  #forgetsAt = Number.NEGATIVE_INFINITY

  /**
   * @param options.release releases a lease in the store
   * @param options.sharded whether the silence of one server says nothing about the others
   */
  constructor(options: { release: (lease: LeaseName) => Promise<boolean>; sharded: boolean; clock: Clock }) {
    const { release, sharded, clock } = options
    this.#release = release
    this.#clock = clock
    this.#owed = new Backlog({
      most,
      send: (_, lease) =>
        release(lease).then(
          () => true,
          () => false,
        ),
      isUseless: ({ until }) => until <= clock.now(),
      independent: sharded,
      clock,
    })
  }

  /** A token for a new load or value. */
  newToken(): string {
    return this.#tokens.next()
  }

  /** A claim is sent: from now on the store may grant it. */
  beginClaim(token: string): void {
    this.#live.add(token)
  }

  /** A claim was answered without a lease. */
  endClaim(token: string): void {
    this.#live.delete(token)
  }

  /** The store has answered the end of a load: it has dropped the lease, now or before. */
  endLease(lease: LeaseWithTtl): void {
    this.#remember(lease)
  }

  /**
   * Releases a lease, repeatedly until the store answers or the ttl of the lease is over.
   * @returns the result of the first attempt
   */
  async giveBack(lease: LeaseWithTtl): Promise<boolean> {
    const ended = this.#remember(lease)
    try {
      return await this.#release(ended)
    } catch (error) {
      this.#owed.add(lease.token, ended)
      throw error
    }
  }

  /** Whether a claim with this token is on its way, or its load runs or is being ended. */
  isLive(token: string): boolean {
    return this.#live.has(token)
  }

  /** Whether a token was issued by this process and no load runs under it. */
  isOver(token: string): boolean {
    return !this.#live.has(token) && this.#tokens.issued(token)
  }

  /**
   * Handles a lease that the store holds although its load has ended: the store has forgotten that, and perhaps more.
   * @returns resolves when the first attempt to release it is over
   */
  async cameBack(lease: LeaseName): Promise<void> {
    const { ttl = unknownTtl } = this.#ended.get(lease.token) ?? {}
    await this.giveBack({ ...lease, ttl }).catch(() => false)
    const now = this.#clock.now()
    if (now < this.#cameBackAt + pauseBetweenRounds) return
    this.#cameBackAt = now
    this.giveBackAgain()
  }

  /** Releases all ended leases that could have come back once more. */
  giveBackAgain(): void {
    const now = this.#clock.now()
    for (const lease of this.#ended.values()) {
      // A new object, so that the answer to a release under way, perhaps from the previous server, does not settle it.
      if (lease.until > now) this.#owed.add(lease.token, { ...lease })
    }
    void this.#owed.retry()
  }

  /** Resolves when every unanswered release has been sent once more. */
  async drain(): Promise<void> {
    if (this.#owed.size > 0) await this.#owed.retry()
  }

  close(): void {
    this.#owed.stop()
  }

  #remember({ key, token, ttl }: LeaseWithTtl): EndedLease {
    const now = this.#clock.now()
    const lease = { key, token, ttl, until: now + ttl }
    this.#live.delete(token)
    this.#ended.set(token, lease)
    if (now >= this.#forgetsAt || this.#ended.size > most + most / 10) this.#forgetOldest(now)
    return lease
  }

  /** Forgets many at once, because an iteration of a Map passes over all that was deleted from its beginning. */
  #forgetOldest(now: number): void {
    this.#forgetsAt = now + pauseBeforeForgetting
    for (const [oldest, { until }] of this.#ended) {
      if (until > now && this.#ended.size <= most) break
      this.#ended.delete(oldest)
    }
  }
}

import { Backlog } from './backlog.ts'
import type { Clock } from '../time/clock.ts'
import type { LeaseName } from '../contract/store.ts'
import { TokenSource } from '../lease/token.ts'

/** The most leases that are remembered when their load has ended, and the most whose release is made up for. */
const most = 10_000

/** How long the release of a lease is tried whose ttl is forgotten, in milliseconds. */
const unknownTtl = 10_000

/** Where one lease has come back, others probably have: all are given back, but at most once in this time, in milliseconds. */
const pauseBetweenRounds = 100

/** A lease with its ttl. */
interface Ending extends LeaseName {
  readonly ttl: number
}

/** A lease whose load has ended. */
interface EndedLease extends Ending {
  /** From then on, by the clock, no store can still hold it. */
  readonly until: number
}

/**
 * The leases that one process has asked for, and which of them are over: a lease must not outlive its load.
 *
 * It can, where the store refuses to take it back or its answer is lost; and where the store took it back and then forgot
 * that, in a failover or a restart from an older snapshot. Then nobody loads under it, and everybody would wait for its
 * end. So a release is repeated until the store has answered; what has ended is remembered for as long as the store
 * could hold it, and given back once more when the store may have forgotten something; and a lease that comes up with a
 * token of this process under which it does not load is given back at once.
 */
export class OwnLeases {
  readonly #tokens = new TokenSource()
  /** The tokens under which a claim is on its way, or a load runs or is being ended. */
  readonly #live = new Set<string>()
  /** By token, oldest first. */
  readonly #ended = new Map<string, EndedLease>()
  /** Those that the store has yet to take back. */
  readonly #owed: Backlog<EndedLease>
  readonly #release: (lease: LeaseName) => Promise<boolean>
  readonly #clock: Clock
  /** When one last came back, and all were given back because of it. */
  #cameBackAt = Number.NEGATIVE_INFINITY

  /**
   * @param options.release gives a lease back to the store
   * @param options.sharded whether the silence of one server says nothing of the others
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
  begin(token: string): void {
    this.#live.add(token)
  }

  /** A claim was answered with something else than a lease. */
  end(token: string): void {
    this.#live.delete(token)
  }

  /** The store has answered the end of a load: it has taken the lease back, or had lost it before. */
  ended(lease: Ending): void {
    this.#remember(lease)
  }

  /**
   * Gives a lease back, again and again until the store has answered or its ttl is over.
   * @returns what came of the first attempt
   */
  async giveBack(lease: Ending): Promise<boolean> {
    const ended = this.#remember(lease)
    try {
      return await this.#release(ended)
    } catch (error) {
      this.#owed.add(lease.token, ended)
      throw error
    }
  }

  /** Whether a claim with this token is on its way, or a load runs under it or is being ended. */
  isLive(token: string): boolean {
    return this.#live.has(token)
  }

  /** Whether a lease has a token of this process, under which nothing loads. */
  isOver(token: string): boolean {
    return !this.#live.has(token) && this.#tokens.issued(token)
  }

  /**
   * The store holds a lease that is over: it has forgotten that, and perhaps more.
   * @returns resolves when the first attempt to give it back is over
   */
  async cameBack(lease: LeaseName): Promise<void> {
    const { ttl = unknownTtl } = this.#ended.get(lease.token) ?? {}
    await this.giveBack({ ...lease, ttl }).catch(() => false)
    const now = this.#clock.now()
    if (now < this.#cameBackAt + pauseBetweenRounds) return
    this.#cameBackAt = now
    this.giveBackAgain()
  }

  /** Gives back once more what has ended and could have come back. */
  giveBackAgain(): void {
    const now = this.#clock.now()
    for (const lease of this.#ended.values()) {
      // A new object: the answer to a release that is on its way may be that of the server before.
      if (lease.until > now) this.#owed.add(lease.token, { ...lease })
    }
    void this.#owed.retry()
  }

  /** Resolves when what the store has yet to be told has been sent once more. */
  async settled(): Promise<void> {
    if (this.#owed.size > 0) await this.#owed.retry()
  }

  close(): void {
    this.#owed.stop()
  }

  #remember({ key, token, ttl }: Ending): EndedLease {
    const now = this.#clock.now()
    const lease = { key, token, ttl, until: now + ttl }
    this.#live.delete(token)
    this.#ended.set(token, lease)
    for (const [oldest, { until }] of this.#ended) {
      if (until > now && this.#ended.size <= most) break
      this.#ended.delete(oldest)
    }
    return lease
  }
}

import { systemClock, TickBatch } from '../../core/time/clock.ts'
import type { Lease, Renewed } from '../../core/contract/store.ts'
import type { Inbox } from '../push/inbox.ts'

interface Held {
  readonly lease: Lease
  /** The epoch of tags when it was granted. */
  readonly since: number
  /** Whether it replaces a value that is still fresh. */
  readonly replaces: boolean
  readonly lose: () => void
  /** When it was granted, by the server's clock, and when the grant arrived, by ours; in milliseconds. */
  readonly granted: number
  readonly learned: number
}

/** The facts of a grant that the end of its load needs. */
export interface Grant {
  /** Now, by the clock of the server that granted the lease (in a cluster each node has its own), in milliseconds. */
  readonly sentAt: number
  /** The epoch of tags at the grant. */
  readonly since: number
  /** Whether the load replaces a value that is still fresh. */
  readonly replaces: boolean
}

/** The leases of this process, by token. */
export class HeldLeases {
  readonly #inbox: Inbox | null
  readonly #renew: (leases: readonly Lease[]) => Promise<Renewed>[]
  readonly #held = new Map<string, Held>()
  readonly #unconfirmed = new TickBatch<string>((tokens) => this.#confirmHeld(tokens))

  constructor(inbox: Inbox | null, renew: (leases: readonly Lease[]) => Promise<Renewed>[]) {
    this.#inbox = inbox
    this.#renew = renew
  }

  /**
   * Adds a granted lease.
   * @param about.micros the server's time in the reply that granted it, in microseconds
   * @param about.since the epoch of tags at the grant
   * @param about.replaces whether it replaces a value that is still fresh
   */
  add(
    { key, token, ttl, fence }: Omit<Lease, 'lost'>,
    { micros, since, replaces }: { micros: number; since: number; replaces: boolean },
  ): Lease {
    let lose!: () => void
    const lost = new Promise<void>((resolve) => (lose = resolve))
    const lease: Lease = { key, token, ttl, fence, lost }
    const held: Held = { lease, since, replaces, lose, granted: micros / 1_000, learned: systemClock.now() }
    this.#held.set(lease.token, held)
    this.#inbox?.hold(lease.token, lose)
    return lease
  }

  /** Removes a lease that is about to end; returns `null` for one that is not held. */
  end(token: string): Grant | null {
    const held = this.#held.get(token)
    if (held === undefined) return null
    this.#held.delete(token)
    this.#inbox?.letGo(token)
    const { granted, learned, since, replaces } = held
    return { sentAt: granted + systemClock.now() - learned, since, replaces }
  }

  /**
   * Renews every held lease, and reports those that are lost. Without a subscription this takes our inbox off them, so
   * that no process takes this one for dead.
   */
  confirmAll(): void {
    this.#confirmHeld([...this.#held.keys()])
  }

  /** Renews one lease, together with others of the same tick, unless its load ends before. */
  confirm({ token }: Lease): void {
    this.#unconfirmed.add(token)
  }

  #confirmHeld(tokens: readonly string[]): void {
    const held = tokens.flatMap((token) => this.#held.get(token) ?? [])
    for (const [index, renewal] of this.#renew(held.map(({ lease }) => lease)).entries()) {
      // Without a reply, the watchdog's next renewal or its deadline decides.
      renewal.then(
        (ours) => ours || this.#lose(held[index]),
        () => undefined,
      )
    }
  }

  /** Redis does not hold it: its load may have ended long ago, in an outage in which Redis could not be told. */
  #lose(held: Held | undefined): void {
    if (held === undefined) return
    held.lose()
    this.end(held.lease.token)
  }
}

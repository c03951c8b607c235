import { systemClock } from '../core/time/clock.ts'
import type { Lease } from '../core/contract/store.ts'
import type { Inbox } from './inbox.ts'

interface Held {
  readonly lease: Lease
  /** The epoch of tags when it was granted. */
  readonly since: number
  /** Whether there was a fresh value, which was not wanted. */
  readonly replaces: boolean
  readonly lose: () => void
  /** When it was granted, by the server's clock, and when we learned of it, by ours; milliseconds. */
  readonly granted: number
  readonly learned: number
}

/** The leases of this process, by token, and how each learns that it was voided. */
export class HeldLeases {
  readonly #inbox: Inbox | null
  readonly #held = new Map<string, Held>()

  constructor(inbox: Inbox | null) {
    this.#inbox = inbox
  }

  /**
   * @param about.micros the time of the server in the reply that granted it
   * @param about.since the epoch of its tags
   * @param about.replaces whether there is a fresh value, which is not wanted
   */
  add(granted: Omit<Lease, 'lost'>, about: { micros: number; since: number; replaces: boolean }): Lease {
    const { micros, since, replaces } = about
    let lose!: () => void
    const lost = new Promise<void>((resolve) => (lose = resolve))
    const lease: Lease = { ...granted, lost }
    const held: Held = { lease, since, replaces, lose, granted: micros / 1_000, learned: systemClock.now() }
    this.#held.set(lease.token, held)
    this.#inbox?.hold(lease.token, lose)
    return lease
  }

  /**
   * A lease is about to end. Returns the time on the clock of the very server that granted it (in a cluster each has
   * its own), in milliseconds, and what was known when it was granted; `null` for a lease that is not held.
   */
  end(token: string): { sentAt: number; since: number; replaces: boolean } | null {
    const held = this.#held.get(token)
    if (held === undefined) return null
    this.#held.delete(token)
    this.#inbox?.letGo(token)
    const { granted, learned, since, replaces } = held
    return { sentAt: granted + systemClock.now() - learned, since, replaces }
  }

  /** Asks `renew` about every held lease, and tells those that are no longer ours. */
  confirm(renew: (leases: readonly Lease[]) => Promise<boolean>[]): void {
    const all = [...this.#held.values()]
    for (const [index, answer] of renew(all.map(({ lease }) => lease)).entries()) {
      // Where there is no answer, the watchdog's next renewal tells, or its deadline.
      answer.then(
        (ours) => ours || all[index]?.lose(),
        () => undefined,
      )
    }
  }
}

import type { Clock, Timer } from '../time/clock.ts'

/** What is held for a ttl. */
export interface Leased {
  readonly ttl: number
  /** Resolves when it was taken away before its time; absent where that is not done. */
  readonly lost?: Promise<void>
}

/** When a lease is renewed: after which part of its ttl, and for how long it is held in all, in milliseconds. */
export interface Renewal {
  readonly at: number
  readonly maxHold: number
}

/** A lease in the care of a watchdog. */
export interface WatchedLease<Lease extends Leased> {
  /** By our own monotonic clock, the store may let the lease go from here on. */
  readonly deadline: number
  /** It is being renewed by somebody else's hand, with another ttl: until that is known, it may end with the shorter one. */
  changes(lease: Lease, sentAt: number): void
  /** It was, with what was sent then. */
  renewed(lease: Lease, sentAt: number): void
  /** Ends the watch. */
  end(): void
}

/** As long as its holder lives. */
export const always: Renewal = { at: 1 / 3, maxHold: Number.POSITIVE_INFINITY }

interface Losing {
  readonly lose: (why: string) => void
}

/** What a lease asks of the watchdog that cares for it. */
interface Care<Lease extends Leased> {
  wake(at: number): void
  forget(held: Held<Lease>): void
}

class Held<Lease extends Leased> implements WatchedLease<Lease> {
  lease: Lease
  deadline: number
  renewAt: number
  readonly lose: (why: string) => void
  readonly #care: Care<Lease>
  readonly #at: number
  readonly #until: number

  constructor(care: Care<Lease>, lease: Lease, askedAt: number, { lose, at, maxHold }: Renewal & Losing) {
    this.lease = lease
    this.lose = lose
    this.#care = care
    this.#at = at
    this.#until = askedAt + maxHold
    this.deadline = this.ends(askedAt)
    this.renewAt = this.after(askedAt)
  }

  /** When what was renewed then may be over; at the latest when it has been held for long enough. */
  ends(sentAt: number): number {
    return Math.min(sentAt + this.lease.ttl, this.#until)
  }

  /** When to renew what was renewed then; never once it has been held for long enough. */
  after(sentAt: number): number {
    const next = sentAt + this.lease.ttl * this.#at
    return next < this.#until ? next : Number.POSITIVE_INFINITY
  }

  changes(now: Lease, sentAt: number): void {
    this.lease = now
    this.deadline = Math.min(this.deadline, this.ends(sentAt))
    this.renewAt = this.after(sentAt)
    this.#care.wake(Math.min(this.renewAt, this.deadline))
  }

  renewed(now: Lease, sentAt: number): void {
    if (this.lease === now) this.deadline = Math.max(this.deadline, this.ends(sentAt))
  }

  end(): void {
    this.#care.forget(this)
  }
}

/**
 * Renews the leases that this process holds, all due ones in one go, every third of their ttl, and tells the holder
 * when one is lost: at the latest when it could have run out, counted from the moment the last confirmed renewal was
 * *sent*. So the holder knows before the store lets go, whether or not the store can be heard.
 */
export class Watchdog<Lease extends Leased> {
  readonly #renew: (leases: readonly Lease[]) => Promise<boolean>[]
  readonly #clock: Clock
  readonly #held = new Set<Held<Lease>>()
  readonly #care: Care<Lease> = {
    wake: (at) => this.#wake(at),
    forget: (held) => void this.#held.delete(held),
  }
  #timer: Timer | null = null
  #wakeAt = Number.POSITIVE_INFINITY

  constructor(renew: (leases: readonly Lease[]) => Promise<boolean>[], clock: Clock) {
    this.#renew = renew
    this.#clock = clock
  }

  /**
   * Takes a lease into its care.
   * @param askedAt when the claim was sent that won the lease, by the clock: its life is counted from there
   * @param lose called once if the lease is gone or can no longer be relied on
   */
  watch(lease: Lease, askedAt: number, lose: (why: string) => void, renewal: Renewal = always): WatchedLease<Lease> {
    const held = new Held(this.#care, lease, askedAt, { lose, ...renewal })
    this.#held.add(held)
    void lease.lost?.then(() => this.#lost(held, 'it was voided, or somebody else has it now'))
    this.#wake(Math.min(held.renewAt, held.deadline))
    return held
  }

  close(): void {
    this.#timer?.cancel()
    this.#held.clear()
  }

  #lost(held: Held<Lease>, why: string): void {
    if (this.#held.delete(held)) held.lose(why)
  }

  #wake(at: number): void {
    // Overdue: the answer that granted it was read late, and the loop may be held up again before a timer runs.
    if (at <= this.#clock.now()) return queueMicrotask(this.#round)
    if (at >= this.#wakeAt) return
    this.#timer?.cancel()
    this.#wakeAt = at
    this.#timer = this.#clock.after(Math.max(0, at - this.#clock.now()), this.#round, 'background')
  }

  readonly #round = (): void => {
    this.#timer?.cancel()
    this.#timer = null
    this.#wakeAt = Number.POSITIVE_INFINITY
    const now = this.#clock.now()
    const due: Held<Lease>[] = []
    let next = Number.POSITIVE_INFINITY
    for (const held of this.#held) {
      const { ttl } = held.lease
      if (held.deadline <= now) {
        this.#lost(held, `it could not be renewed within its ${ttl} ms`)
        continue
      }
      // What falls due within a tenth of its ttl goes along: one command for many leases, and few wake-ups.
      if (held.renewAt - ttl / 10 <= now) {
        due.push(held)
        // Tried again this soon unless the answer says otherwise.
        held.renewAt = now + ttl / 6
      }
      next = Math.min(next, held.renewAt, held.deadline)
    }
    if (next < Number.POSITIVE_INFINITY) this.#wake(next)
    if (due.length > 0) this.#renewAll(due, now)
  }

  #renewAll(due: readonly Held<Lease>[], sentAt: number): void {
    const answers = this.#renew(due.map((held) => held.lease))
    for (const [index, held] of due.entries()) {
      const { lease } = held
      answers[index]?.then(
        (ours) => {
          if (!ours) return this.#lost(held, 'it expired, was evicted or belongs to somebody else now')
          // Nothing is known of a lease whose ttl is another by now.
          if (held.lease !== lease) return
          // An answer may be overtaken by that of a later renewal.
          held.deadline = Math.max(held.deadline, held.ends(sentAt))
          held.renewAt = Math.max(held.renewAt, held.after(sentAt))
        },
        // Tried again at `renewAt`, until the deadline decides.
        () => undefined,
      )
    }
  }
}

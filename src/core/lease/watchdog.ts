/*
 * Room: lease. Keeps leases alive while their holder lives, for loads and locks alike.
 *
 * Reading order: watchdog.ts (renewal, and the moment at which a lease counts as lost), token.ts (the names of leases).
 */
import type { Renewed } from '../contract/store.ts'
import { type Clock, type Timer, timers } from '../time/clock.ts'

/** A lease with a ttl. */
export interface Leased {
  readonly ttl: number
  /** Resolves when the lease is taken away before its time; absent if that never happens. */
  readonly lost?: Promise<void>
}

/** When a lease is renewed: after which part of its ttl, and for how long it is held in all, in milliseconds. */
export interface Renewal {
  readonly at: number
  readonly maxHold: number
  /** Called when a renewal says that an urgent claim waits for the lease. */
  readonly hurry?: (() => void) | undefined
}

/** A lease in the care of a watchdog. */
export interface WatchedLease<Lease extends Leased> {
  /** The moment, by the monotonic clock of this process, from which the store may let the lease go. */
  readonly deadline: number
  /** The user extends the lease with another ttl: until the reply arrives, it may end with the shorter of the two. */
  changes(lease: Lease, sentAt: number): void
  /** The extension that was sent at `sentAt` was confirmed. */
  renewed(lease: Lease, sentAt: number): void
  /** Ends the watch. */
  end(): void
}

/** Renewal every third of the ttl, for as long as the holder lives. */
export const everyThird: Renewal = { at: 1 / 3, maxHold: Number.POSITIVE_INFINITY }

/** Called when a lease is lost; `blocked` is how long the process was blocked at least, in ms, if that is why. */
export type Lose = (why: string, blocked?: number) => void

interface Losing {
  readonly lose: Lose
}

/** The part of a watchdog that its leases call. */
interface Care<Lease extends Leased> {
  wake(at: number): void
  forget(held: Held<Lease>): void
}

class Held<Lease extends Leased> implements WatchedLease<Lease> {
  lease: Lease
  /** The ttl to count on: until a change is confirmed, the shorter of the two. */
  ttl: number
  deadline: number
  renewAt: number
  readonly lose: Lose
  readonly hurry: Renewal['hurry']
  readonly #care: Care<Lease>
  readonly #at: number
  readonly #until: number

  constructor(care: Care<Lease>, lease: Lease, askedAt: number, { lose, at, maxHold, hurry }: Renewal & Losing) {
    this.lease = lease
    this.ttl = lease.ttl
    this.lose = lose
    this.hurry = hurry
    this.#care = care
    this.#at = at
    this.#until = askedAt + maxHold
    this.deadline = this.ends(askedAt)
    this.renewAt = this.after(askedAt)
  }

  /** When a lease that was renewed at `sentAt` may end; bounded by `maxHold`. */
  ends(sentAt: number): number {
    return Math.min(sentAt + this.ttl, this.#until)
  }

  /** When to renew a lease that was renewed at `sentAt`; never after `maxHold`. */
  after(sentAt: number): number {
    const next = sentAt + this.ttl * this.#at
    return next < this.#until ? next : Number.POSITIVE_INFINITY
  }

  /** When to renew a lease again whose renewal was sent at `sentAt`, unless its reply comes before. */
  retryAt(sentAt: number): number {
    return sentAt + this.ttl / 6
  }

  changes(now: Lease, sentAt: number): void {
    this.lease = now
    this.ttl = Math.min(this.ttl, now.ttl)
    this.deadline = Math.min(this.deadline, this.ends(sentAt))
    this.renewAt = Math.min(Math.max(this.renewAt, this.retryAt(sentAt)), this.after(sentAt))
    this.#care.wake(Math.min(this.renewAt, this.deadline))
  }

  renewed(now: Lease, sentAt: number): void {
    // The ttl has changed since: this reply says nothing about the new lease.
    if (this.lease !== now) return
    this.ttl = now.ttl
    // The reply to a later renewal may have overtaken this one.
    this.deadline = Math.max(this.deadline, this.ends(sentAt))
    this.renewAt = Math.max(this.renewAt, this.after(sentAt))
  }

  end(): void {
    this.#care.forget(this)
  }
}

/**
 * Renews the leases of this process, all due ones in one command, every third of their ttl, and reports each lost
 * lease.
 *
 * A lease counts from the moment its last confirmed claim or renewal was *sent*, so the holder gives up before the
 * store does. The race that this survives, with holder A, claimer B and a lease of 10 s:
 *
 * 1. A sends a renewal at 0 s. The store extends the lease to 10 s or a little later.
 * 2. The reply is delayed: A's connection stalls, or A's event loop is blocked.
 * 3. The lease ends. B claims the key, wins, and loads.
 * 4. At 11 s, A reads the reply to step 1: the lease was extended. Counted from its arrival, A would trust the lease
 *    until 21 s, beside B.
 * 5. Counted from step 1, the deadline was 10 s. If A was not blocked, its timer has reported the loss at 10 s, and the
 *    reply changes nothing. If A was blocked, its next round reports the loss.
 */
export class Watchdog<Lease extends Leased> {
  readonly #renew: (leases: readonly Lease[]) => Promise<Renewed>[]
  readonly #clock: Clock
  readonly #held = new Set<Held<Lease>>()
  readonly #care: Care<Lease> = {
    wake: (at) => this.#wake(at),
    forget: (held) => void this.#held.delete(held),
  }
  #timer: Timer | null = null
  #wakeAt = Number.POSITIVE_INFINITY

  constructor(renew: (leases: readonly Lease[]) => Promise<Renewed>[], clock: Clock) {
    this.#renew = renew
    this.#clock = clock
  }

  /**
   * Takes a lease into care.
   * @param askedAt when the winning claim was sent, by the clock: the ttl counts from there
   * @param lose called once, when the lease is gone or can no longer be relied on
   */
  watch(lease: Lease, askedAt: number, lose: Lose, renewal: Renewal = everyThird): WatchedLease<Lease> {
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

  #lost(held: Held<Lease>, why: string, blocked?: number): void {
    if (this.#held.delete(held)) held.lose(why, blocked)
  }

  #wake(at: number): void {
    // Overdue: the grant was read late, and the event loop may block again before a timer runs.
    if (at <= this.#clock.now()) return timers.queueMicrotask(this.#round)
    if (at >= this.#wakeAt) return
    this.#timer?.cancel()
    this.#wakeAt = at
    this.#timer = this.#clock.after(Math.max(0, at - this.#clock.now()), this.#round, 'background')
  }

  readonly #round = (): void => {
    this.#timer?.cancel()
    this.#timer = null
    const now = this.#clock.now()
    const late = now - this.#wakeAt
    this.#wakeAt = Number.POSITIVE_INFINITY
    const due: Held<Lease>[] = []
    let next = Number.POSITIVE_INFINITY
    for (const held of this.#held) {
      const { ttl } = held
      if (held.deadline <= now) {
        if (held.renewAt === Number.POSITIVE_INFINITY) {
          this.#lost(held, 'its time is over, and it was not to be renewed')
          continue
        }
        const why = `it could not be renewed within its ${ttl} ms`
        // In time it would have been renewed, and would have been tried again a sixth of its ttl later.
        if (late < ttl / 6) this.#lost(held, why)
        else this.#lost(held, `${why}, because this process was blocked for ${Math.round(late)} ms`, late)
        continue
      }
      // Renew a lease that falls due within a tenth of its ttl along with the others: fewer commands, fewer wake-ups.
      if (held.renewAt - ttl / 10 <= now) {
        due.push(held)
        held.renewAt = held.retryAt(now)
      }
      next = Math.min(next, held.renewAt, held.deadline)
    }
    if (next < Number.POSITIVE_INFINITY) this.#wake(next)
    if (due.length > 0) this.#renewAll(due, now)
  }

  #renewAll(due: readonly Held<Lease>[], sentAt: number): void {
    const renewals = this.#renew(due.map((held) => held.lease))
    for (const [index, held] of due.entries()) {
      const { lease } = held
      renewals[index]?.then(
        (ours) => {
          if (ours === false) return this.#lost(held, 'it expired, was evicted or belongs to somebody else now')
          if (ours === 'urgent') held.hurry?.()
          held.renewed(lease, sentAt)
        },
        // The next attempt is at `renewAt`, until the deadline decides.
        () => undefined,
      )
    }
  }
}

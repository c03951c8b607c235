import type { Clock, Timer } from './clock.ts'
import type { Lease } from './store.ts'

interface Held {
  readonly lease: Lease
  readonly lose: (why: string) => void
  /** By our own monotonic clock, the store may let the lease go from here on. */
  deadline: number
  renewAt: number
}

/**
 * Renews the leases that this process holds, all due ones in one go, every third of their ttl, and tells the holder
 * when one is lost: at the latest when it could have run out, counted from the moment the last confirmed renewal was
 * *sent*. So the holder knows before the store lets go, whether or not the store can be heard.
 */
export class Watchdog {
  readonly #renew: (leases: readonly Lease[]) => Promise<boolean>[]
  readonly #clock: Clock
  readonly #held = new Set<Held>()
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
   * @returns what ends the watch
   */
  watch(lease: Lease, askedAt: number, lose: (why: string) => void): () => void {
    const held: Held = { lease, lose, deadline: askedAt + lease.ttl, renewAt: askedAt + lease.ttl / 3 }
    this.#held.add(held)
    void lease.lost.then(() => this.#lost(held, 'an invalidation or another holder voided it'))
    this.#wake(held.renewAt)
    return () => this.#held.delete(held)
  }

  close(): void {
    this.#timer?.cancel()
    this.#held.clear()
  }

  #lost(held: Held, why: string): void {
    if (this.#held.delete(held)) held.lose(why)
  }

  #wake(at: number): void {
    if (at >= this.#wakeAt) return
    this.#timer?.cancel()
    this.#wakeAt = at
    this.#timer = this.#clock.after(Math.max(0, at - this.#clock.now()), this.#round, 'background')
  }

  readonly #round = (): void => {
    this.#timer = null
    this.#wakeAt = Number.POSITIVE_INFINITY
    const now = this.#clock.now()
    const due: Held[] = []
    let next = Number.POSITIVE_INFINITY
    for (const held of this.#held) {
      if (held.deadline <= now) {
        this.#lost(held, `it could not be renewed within its ${held.lease.ttl} ms`)
        continue
      }
      // What falls due within a tenth of its ttl goes along: one command for many leases, and few wake-ups.
      if (held.renewAt - held.lease.ttl / 10 <= now) {
        due.push(held)
        // Tried again this soon unless the answer says otherwise.
        held.renewAt = now + held.lease.ttl / 6
      }
      next = Math.min(next, held.renewAt, held.deadline)
    }
    if (next < Number.POSITIVE_INFINITY) this.#wake(next)
    if (due.length > 0) this.#renewAll(due, now)
  }

  #renewAll(due: readonly Held[], sentAt: number): void {
    const answers = this.#renew(due.map((held) => held.lease))
    for (const [index, held] of due.entries()) {
      answers[index]?.then(
        (ours) => {
          if (!ours) return this.#lost(held, 'it expired, was evicted or belongs to another load now')
          // An answer may be overtaken by that of a later renewal.
          held.deadline = Math.max(held.deadline, sentAt + held.lease.ttl)
          held.renewAt = Math.max(held.renewAt, sentAt + held.lease.ttl / 3)
        },
        // Tried again at `renewAt`, until the deadline decides.
        () => undefined,
      )
    }
  }
}

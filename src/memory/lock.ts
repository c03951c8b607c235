import { microseconds, systemClock, type Clock } from '../core/time/clock.ts'
import { busyUntold, placeKeptOnceTold } from '../core/contract/lock-backend.ts'
import type { Busy, Hold, LockBackend, TakeResult, TakeRequest } from '../core/contract/lock-backend.ts'

interface Held {
  readonly hold: Hold
  until: number
}

interface Waiter {
  readonly token: string
  readonly tell: () => void
  /** When it loses its place, unless it requests again. */
  until: number
}

/** Locks in the memory of this process: they exclude only callers in it. */
export class MemoryLocks implements LockBackend {
  readonly longest: number = Number.POSITIVE_INFINITY
  readonly #clock: Clock
  readonly #held = new Map<string, Held>()
  readonly #placeKept: number
  readonly #queues = new Map<string, Map<string, Waiter>>()
  #fence = 0n

  /**
   * @param placeKept how long a waiter keeps its place without requesting again, in milliseconds, if waiters can die
   */
  constructor(clock: Clock = systemClock, placeKept: number = Number.POSITIVE_INFINITY) {
    this.#clock = clock
    this.#placeKept = placeKept
  }

  async take({ name, token, ttl, waits }: TakeRequest): Promise<TakeResult> {
    const now = this.#clock.now()
    const held = this.#heldNow(name, now)
    if (held?.hold.token === token) return { state: 'held', hold: held.hold }
    const first = this.#first(name, now)
    if (held === undefined && (waits !== 'fair' || first === undefined || first.token === token)) {
      const hold = this.#grant(name, token, ttl, now)
      this.#dequeue(name, token)
      return { state: 'held', hold }
    }
    // Free for the first waiter: until its place ends if it may have died, else only for a moment.
    const left = (held?.until ?? (mortal(first) ? first.until : now)) - now
    return waits === 'no' ? busyUntold(left) : this.#busy(name, token, left)
  }

  renew(holds: readonly Hold[]): Promise<boolean>[] {
    return holds.map(async ({ name, token, ttl }) => {
      const held = this.#heldNow(name, this.#clock.now())
      if (held?.hold.token !== token) return false
      held.until = this.#clock.now() + ttl
      return true
    })
  }

  async release({ name, token }: Hold): Promise<boolean> {
    const held = this.#heldNow(name, this.#clock.now())
    if (held?.hold.token !== token) return false
    this.#held.delete(name)
    this.#wakeNext(name)
    return true
  }

  open(): void {}

  async close(): Promise<void> {}

  #grant(name: string, token: string, ttl: number, now: number): Hold {
    const least = BigInt(microseconds(this.#clock))
    this.#fence = least > this.#fence ? least : this.#fence + 1n
    const hold: Hold = { name, token, ttl, fence: this.#fence }
    this.#held.set(name, { hold, until: now + ttl })
    return hold
  }

  #busy(name: string, token: string, left: number): Busy {
    const leave = (): void => undefined
    const queue = this.#queues.get(name) ?? new Map<string, Waiter>()
    this.#queues.set(name, queue)
    let tell!: () => void
    const freed = new Promise<void>((resolve) => (tell = resolve))
    // A waiter that requests again keeps its place.
    queue.set(token, { token, tell, until: this.#clock.now() + this.#placeKept })
    return { state: 'busy', freed, pushed: true, left, leave, giveUp: async () => this.#dequeue(name, token) }
  }

  #dequeue(name: string, token: string): void {
    const queue = this.#queues.get(name)
    if (queue === undefined || !queue.delete(token)) return
    if (queue.size === 0) this.#queues.delete(name)
    // The waiter that left may have been the one that was told.
    else if (this.#heldNow(name, this.#clock.now()) === undefined) this.#wakeNext(name)
  }

  #wakeNext(name: string): void {
    const now = this.#clock.now()
    const next = this.#first(name, now)
    if (next === undefined) return
    if (mortal(next)) next.until = Math.min(next.until, now + placeKeptOnceTold)
    next.tell()
  }

  /** The first waiter; waiters that have not requested for too long are removed. */
  #first(name: string, now: number): Waiter | undefined {
    const queue = this.#queues.get(name)
    for (const waiter of queue?.values() ?? []) {
      if (waiter.until > now) return waiter
      queue?.delete(waiter.token)
    }
    this.#queues.delete(name)
    return undefined
  }

  #heldNow(name: string, now: number): Held | undefined {
    const held = this.#held.get(name)
    if (held === undefined || held.until > now) return held
    this.#held.delete(name)
    return undefined
  }
}

/** Whether a waiter may have died unnoticed. */
function mortal(waiter: Waiter | undefined): waiter is Waiter {
  return waiter !== undefined && waiter.until < Number.POSITIVE_INFINITY
}

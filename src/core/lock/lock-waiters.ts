import { drawRandom, spread, type Clock, type Timer } from '../time/clock.ts'
import type { LockPlan } from '../options/lock-plan.ts'
import type { Busy } from '../contract/lock-backend.ts'

/** How long a waiter waits for a message before it requests again, in milliseconds, in case the message was lost. */
const messageLost = 1_500

/** The waiters of a lock in this process. */
export class LockWaiters {
  readonly #clock: Clock
  /** Each waiter's function that ends its wait with an error. */
  readonly #waiting = new Set<(error: unknown) => void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Pauses a waiter. Resolves when the lock may be free, when it is time to request again, or after `most`
   * milliseconds.
   * @param busy the answer to the last request; `null` if there was none
   * @throws the signal's reason, or the error of `callOff`
   */
  async pause(busy: Busy | null, plan: LockPlan, most: number): Promise<void> {
    plan.signal?.throwIfAborted()
    if (most <= 0) return
    const again = busy?.pushed ? messageLost : plan.retryEvery
    const sleep = Math.min(spread(again, drawRandom(this.#clock)), (busy?.left ?? Number.POSITIVE_INFINITY) + 1, most)
    let timer: Timer | undefined
    const timeout = new Promise<void>((resolve) => {
      timer = this.#clock.after(sleep, resolve)
    })
    let end!: (reason: unknown) => void
    const ended = new Promise<never>((_, reject) => (end = reject))
    const aborted = (): void => end(plan.signal?.reason)
    this.#waiting.add(end)
    plan.signal?.addEventListener('abort', aborted)
    try {
      await Promise.race([timeout, ended, ...(busy === null ? [] : [busy.freed])])
    } finally {
      timer?.cancel()
      this.#waiting.delete(end)
      plan.signal?.removeEventListener('abort', aborted)
    }
  }

  /** Ends all waits with an error. */
  callOff(error: unknown): void {
    for (const end of this.#waiting) end(error)
  }
}

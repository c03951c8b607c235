import { drawRandom, type Clock, type Timer } from '../time/clock.ts'
import type { LockPlan } from '../options/lock-plan.ts'
import type { Busy } from '../contract/lock-backend.ts'

/** After so many milliseconds whoever waits asks again, in case that nobody has told it. */
const messageLost = 1_500

/** Those who wait for a lock. */
export class LockWaiters {
  readonly #clock: Clock
  /** Each by what ends its wait with an error. */
  readonly #waiting = new Set<(error: unknown) => void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Resolves when the lock may be free, it is time to ask again, or `most` milliseconds are over.
   * @param busy what was said when it was asked for; `null` if there was no answer
   * @throws the signal's reason, or what all were called off with
   */
  async pause(busy: Busy | null, plan: LockPlan, most: number): Promise<void> {
    plan.signal?.throwIfAborted()
    if (most <= 0) return
    const again = busy?.pushed ? messageLost : plan.retryEvery
    const sleep = Math.min(
      again * (0.75 + drawRandom(this.#clock) / 2),
      (busy?.left ?? Number.POSITIVE_INFINITY) + 1,
      most,
    )
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

  /** Nobody waits any more. */
  callOff(error: unknown): void {
    for (const end of this.#waiting) end(error)
  }
}

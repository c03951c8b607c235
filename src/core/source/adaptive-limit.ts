import type { SourcePlan } from '../options/source-plan.ts'
import type { Clock } from '../time/clock.ts'

/** The least time between two changes of one direction, in milliseconds. */
const interval = 1_000

/** What a decrease leaves of the limit. */
const decrease = 0.7

/** What a limit that follows the refusals of its source goes by. */
type AdaptivePlan = NonNullable<SourcePlan['adaptive']>

/**
 * A limit that a source sets by its refusals: each second with one multiplies it, each second with loads and without one
 * adds 1 (AIMD, Chiu and Jain 1989). Load times say nothing here: those of different keys cannot be compared.
 */
export class AdaptiveLimit {
  readonly #clock: Clock
  #limit = Number.POSITIVE_INFINITY
  /** When the present interval began, by the clock, and whether a load was refused in it. */
  #since: number
  #isRefused = false

  constructor(clock: Clock) {
    this.#clock = clock
    this.#since = clock.now()
  }

  /** The limit now, of which `most` is the most. */
  under(most: number): number {
    return Math.min(most, Math.floor(this.#limit))
  }

  /** @param error what the loader threw; absent for a success */
  ended({ least, isRefusal }: AdaptivePlan, most: number, error?: unknown): void {
    const now = this.#clock.now()
    if (now >= this.#since + interval) {
      if (!this.#isRefused) this.#limit = Math.min(most, this.#limit + 1)
      this.#begin(now, false)
    }
    if (error === undefined || this.#isRefused || !isRefusal(error)) return
    // At once, and for the interval from now on: loads that began under the old limit may still be refused.
    this.#limit = Math.max(least, Math.min(most, this.#limit) * decrease)
    this.#begin(now, true)
  }

  #begin(now: number, isRefused: boolean): void {
    this.#since = now
    this.#isRefused = isRefused
  }
}

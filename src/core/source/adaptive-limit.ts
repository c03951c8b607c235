import type { Clock } from '../time/clock.ts'

/** The least time between two decreases, and between two increases, in milliseconds. */
const interval = 1_000

/** What a decrease leaves of the limit. */
const decrease = 0.7

/** The bounds of a limit that follows the refusals of its source. */
export interface AdaptivePlan {
  readonly least: number
  readonly most: number
  readonly isRefusal: (error: unknown) => boolean
}

/**
 * A limit that a source sets by its refusals: each second with one multiplies it, each second with loads and without one
 * adds 1 (AIMD, Chiu and Jain 1989). Load times say nothing here: those of different keys cannot be compared.
 */
export class AdaptiveLimit {
  readonly #plan: AdaptivePlan
  readonly #clock: Clock
  #limit: number
  #changedAt: number

  constructor(plan: AdaptivePlan, clock: Clock) {
    this.#plan = plan
    this.#clock = clock
    this.#limit = plan.most
    this.#changedAt = clock.now()
  }

  get now(): number {
    return Math.floor(this.#limit)
  }

  /** @param error what the loader threw; absent for a success */
  ended(error?: unknown): void {
    const now = this.#clock.now()
    if (now < this.#changedAt + interval) return
    if (error === undefined) this.#limit = Math.min(this.#plan.most, this.#limit + 1)
    else if (this.#plan.isRefusal(error)) this.#limit = Math.max(this.#plan.least, this.#limit * decrease)
    else return
    this.#changedAt = now
  }
}

import type { Clock } from '../time/clock.ts'

/** How far back the loads of a source are looked at, in milliseconds, and in how many parts. */
const window = 2_000
const parts = 10

/** The number of loads in the window below which none is held back: one key that fails is no failing source. */
const fewest = 20

/** How many loads are let through for each that succeeds: the source may fail half of the time. */
const perSuccess = 2

/** The most that is held back: the rest tells when the source has healed. */
const mostShare = 0.9

interface Part {
  readonly at: number
  loads: number
  successes: number
}

/**
 * Holds back loads of a source that fails. Each load is let through by chance, the less likely the more of the last two
 * seconds failed; so a source that is down sees few loads, and one that has healed sees more with each success, without
 * a state between closed and open (client-side throttling, Site Reliability Engineering, chapter 21).
 */
export class Throttle {
  readonly #clock: Clock
  readonly #parts: Part[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** A load has ended, or was held back. */
  count(isSuccess: boolean): void {
    const part = this.#part()
    part.loads++
    if (isSuccess) part.successes++
  }

  /** The part of the loads that is held back now, from 0 to 1. */
  get share(): number {
    this.#part()
    const loads = this.#parts.reduce((sum, part) => sum + part.loads, 0)
    const successes = this.#parts.reduce((sum, part) => sum + part.successes, 0)
    if (loads < fewest) return 0
    return Math.min(mostShare, Math.max(0, (loads - perSuccess * successes) / (loads + 1)))
  }

  #part(): Part {
    const step = window / parts
    const at = Math.floor(this.#clock.now() / step) * step
    while (this.#parts.length > 0 && (this.#parts[0]?.at ?? 0) <= at - window) this.#parts.shift()
    const last = this.#parts.at(-1)
    if (last?.at === at) return last
    const part = { at, loads: 0, successes: 0 }
    this.#parts.push(part)
    return part
  }
}

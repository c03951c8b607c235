import { drawRandom, spread, type Clock } from '../time/clock.ts'

/** The time without voided loads after which a streak ends, in milliseconds. */
const streakEndsAfter = 10_000

/** The shortest and the longest pause, in milliseconds. */
const shortest = 10
const longest = 320

/** The most keys whose voided loads, or whose rests, are remembered. */
const mostKeys = 1_000

/** Consecutive voided loads of a key. */
interface Streak {
  readonly voided: number
  /** When the last of them was voided, by the clock. */
  readonly at: number
}

/**
 * Backoff with jitter against storms of invalidations. A voided load is void for all its callers, which claim again at
 * once: a thousand invalidations a second would mean a thousand loads.
 *
 * So from the second voided load of a streak on, the holder of the lease pauses before it loads, twice as long each time.
 * An invalidation during the pause costs no load.
 *
 * A source that has failed rests: while there is a stale value, it is not asked again for the cool-down.
 */
export class Pacing {
  readonly #clock: Clock
  /** By key; the streak that grew last is at the end. */
  readonly #streaks = new Map<string, Streak>()
  /** The keys whose source rests after a failure, and until when, by the clock; the last of them is at the end. */
  readonly #resting = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts a voided load of a key, of this process or of one that it waited for. */
  countVoided(key: string): void {
    const at = this.#clock.now()
    const voided = 1 + this.#voidedInStreak(key)
    this.#streaks.delete(key)
    this.#streaks.set(key, { voided, at })
    const [oldest] = this.#streaks.keys()
    if (this.#streaks.size > mostKeys && oldest !== undefined) this.#streaks.delete(oldest)
  }

  /** Ends the streak of a key: a load of it was accepted. */
  endStreak(key: string): void {
    if (this.#streaks.size > 0) this.#streaks.delete(key)
  }

  /** How long to hold the lease before the load begins, in milliseconds. */
  pauseFor(key: string): number {
    const voided = this.#voidedInStreak(key)
    if (voided < 2) return 0
    return spread(Math.min(longest, shortest * 2 ** (voided - 2)), drawRandom(this.#clock))
  }

  /** The source of a key has failed: for `ms` milliseconds its stale value is not refreshed in the background. */
  rest(key: string, ms: number): void {
    if (ms === 0) return
    const now = this.#clock.now()
    this.#resting.delete(key)
    this.#resting.set(key, now + ms)
    for (const [oldest, until] of this.#resting) {
      if (until > now && this.#resting.size <= mostKeys) break
      this.#resting.delete(oldest)
    }
  }

  endRest(key: string): void {
    if (this.#resting.size > 0) this.#resting.delete(key)
  }

  isResting(key: string): boolean {
    return this.#resting.size > 0 && this.#clock.now() < (this.#resting.get(key) ?? 0)
  }

  #voidedInStreak(key: string): number {
    if (this.#streaks.size === 0) return 0
    const streak = this.#streaks.get(key)
    return streak !== undefined && this.#clock.now() < streak.at + streakEndsAfter ? streak.voided : 0
  }
}

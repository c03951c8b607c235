import type { Outcome, Wait } from '../contract/store.ts'
import type { CacheError } from '../errors.ts'
import { drawRandom, spread, type Clock, type Timer } from '../time/clock.ts'
import type { Loss } from './loader.ts'

/** The time without voided loads after which a row ends, in milliseconds. */
const rowEndsAfter = 10_000

/** The shortest and the longest pause, in milliseconds. */
const shortest = 10
const longest = 320

/** The most keys whose voided loads are counted. */
const mostKeys = 1_000

/** The number of sleeps of a waiter after which it claims again, although the load is still under way. */
const mostChecks = 8

/** Consecutive voided loads of a key. */
interface Row {
  readonly voided: number
  /** When the last of them was voided, by the clock. */
  readonly at: number
}

/**
 * Backoff with jitter against storms of invalidations. A voided load is void for all its callers, which claim again at
 * once: a thousand invalidations a second would mean a thousand loads.
 *
 * So from the second voided load in a row on, the holder of the lease pauses before it loads, twice as long each time.
 * An invalidation during the pause costs no load.
 */
export class Pacing {
  readonly #clock: Clock
  /** By key; the row that grew last is at the end. */
  readonly #rows = new Map<string, Row>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts a voided load of a key, of this process or of one that it waited for. */
  countVoided(key: string): void {
    const at = this.#clock.now()
    const voided = 1 + this.#voidedInRow(key)
    this.#rows.delete(key)
    this.#rows.set(key, { voided, at })
    const [oldest] = this.#rows.keys()
    if (this.#rows.size > mostKeys && oldest !== undefined) this.#rows.delete(oldest)
  }

  /** Ends the row of a key: a load of it was accepted. */
  endRow(key: string): void {
    if (this.#rows.size > 0) this.#rows.delete(key)
  }

  /** How long to hold the lease before the load begins, in milliseconds. */
  pauseFor(key: string): number {
    const voided = this.#voidedInRow(key)
    if (voided < 2) return 0
    return spread(Math.min(longest, shortest * 2 ** (voided - 2)), drawRandom(this.#clock))
  }

  #voidedInRow(key: string): number {
    if (this.#rows.size === 0) return 0
    const row = this.#rows.get(key)
    return row !== undefined && this.#clock.now() < row.at + rowEndsAfter ? row.voided : 0
  }
}

/**
 * How long a waiter sleeps before it asks again, in milliseconds.
 *
 * With push, a message wakes the waiter, and asking again only covers a lost message or a dead holder: every 350 ms ±
 * 25 %, so that neither costs more than half a second. Without push, polling starts at 25 ms and grows by half each
 * time, up to 350 ms, ± 25 %.
 *
 * @param asked how often this waiter has asked already, from 1
 * @param pushed whether an outcome would be pushed to this process
 * @param random a number in [0, 1)
 */
export function reaskDelay(asked: number, pushed: boolean, random: number): number {
  const base = pushed ? 350 : Math.min(350, 25 * 1.5 ** (asked - 1))
  return spread(base, random)
}

/** A waiter of a load in another process. */
interface Waiter {
  /** How often it has asked already, from 1. */
  readonly asked: number
  readonly clock: Clock
  /** Ends the wait. */
  readonly loss: Loss
  /** Whether a caller waits for the outcome. */
  readonly isWanted: () => boolean
}

/**
 * Waits for the message with the outcome of a load, and checks from time to time whether it may have been lost.
 * @returns the outcome, the reason of the loss, or `ask again` if the message may have been lost
 */
export async function awaitOutcome(
  { outcome, pushed, leaseLeft, stillLoads }: Wait,
  { asked, clock, loss, isWanted }: Waiter,
): Promise<Outcome | CacheError | 'ask again'> {
  const delay = (): number => reaskDelay(asked, pushed, drawRandom(clock))
  const ended = loss.promise()
  let sleep = Math.min(delay(), leaseLeft + 1)
  // Then the lease may have ended, and only a claim can win it.
  const mayEnd = sleep > leaseLeft
  for (let checks = mayEnd ? mostChecks : 1; ; checks++) {
    let timer: Timer | undefined
    const timeout = new Promise<'ask again'>((resolve) => {
      timer = clock.after(sleep, () => resolve('ask again'))
    })
    const heard = await Promise.race([outcome, timeout, ended])
    timer?.cancel()
    if (heard !== 'ask again' || stillLoads === undefined || checks === mostChecks || !isWanted()) return heard
    const isUnderWay = await stillLoads().catch(() => false)
    // The message may have arrived meanwhile.
    if (!isUnderWay) return await Promise.race([outcome, ended, Promise.resolve('ask again' as const)])
    sleep = delay()
  }
}

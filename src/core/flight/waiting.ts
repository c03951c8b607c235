import type { Outcome, Wait } from '../contract/store.ts'
import type { CacheError } from '../errors.ts'
import { drawRandom, spread, type Clock } from '../time/clock.ts'
import { atMost } from '../time/deadline.ts'
import type { Loss } from './loss.ts'

/** The number of sleeps of a waiter after which it claims again, although the load is still under way. */
const mostChecks = 8

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
function reaskDelay(asked: number, pushed: boolean, random: number): number {
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
    const heard = await atMost<Outcome | CacheError, 'ask again'>(sleep, clock, [outcome, ended], 'ask again')
    if (heard !== 'ask again' || stillLoads === undefined || checks === mostChecks || !isWanted()) return heard
    const isUnderWay = await stillLoads().catch(() => false)
    // The message may have arrived meanwhile.
    if (!isUnderWay) return await Promise.race([outcome, ended, Promise.resolve('ask again' as const)])
    sleep = delay()
  }
}

import type { CacheError } from '../errors.ts'
import type { CausalTime } from '../time/clock.ts'
import type { AnswerFacts } from '../entry/freshness.ts'
import type { Caller } from './caller.ts'

/** The end of a flight. */
export type Answer =
  /** A value, which was fresh until a moment of the clock; `token` is that of its load. */
  | {
      readonly state: 'value'
      readonly value: unknown
      readonly currentAsOf: CausalTime
      readonly freshUntil: number
      readonly token: string
      readonly facts: AnswerFacts
    }
  /** An error. */
  | { readonly state: 'failed'; readonly error: CacheError; readonly currentAsOf: CausalTime }
  /** A result that is not shared; `own` is for the caller whose loader ran, if that was a caller of this process. */
  | { readonly state: 'pass'; readonly own?: { readonly value: unknown; readonly caller: CausalTime } }
  /** The load was voided: ask again. */
  | { readonly state: 'again' }
  /** The store does not answer. */
  | { readonly state: 'away'; readonly error: CacheError }

/** Good for callers whenever they asked, or fresh whenever they joined. */
export const always: number = Number.POSITIVE_INFINITY

/**
 * The tolerance for the estimated store clock, in milliseconds: a value that expired this shortly before a caller began
 * to wait for it still counts. Otherwise a ttl shorter than that would mean one load per process.
 */
export const clockTolerance = 25

/**
 * The rule that keeps every promise about invalidations: an answer counts for the callers that asked before it was
 * current. It handles this race between processes A and B:
 *
 * 1. Caller 1 asks in A for a key that B loads. A claims it at moment 7 of A's causal order, and is enlisted as a
 *    waiter.
 * 2. B's fill is accepted. The message with the value is on its way to A.
 * 3. B invalidates the key: Redis deletes the value, and the call resolves.
 * 4. Caller 2 asks in A, at moment 8. It may know of the invalidation. A's flight still waits, and caller 2 joins it.
 * 5. The message arrives. The flight's value is current as of its claim, moment 7.
 * 6. Caller 1 asked before moment 7, and is given the value. Caller 2 asked after it, reads again, finds nothing, and
 *    its next flight loads a new value.
 */
export function askedBefore({ askedAt }: Pick<Caller, 'askedAt'>, currentAsOf: CausalTime): boolean {
  return askedAt < currentAsOf
}

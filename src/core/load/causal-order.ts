import type { CacheError } from '../errors.ts'

/**
 * A position in the order of events in this process; a higher one is later.
 *
 * It carries the one rule of which answer a caller may have. A caller notes when it *asked*. An answer is current *as
 * of* a moment: when its read or claim was sent; when a load without a lease began; or, for a load whose fill was
 * accepted, when the load ended, because a lease that survived until then proves that nothing was invalidated since it
 * was granted. An answer is good for callers that asked before its moment. A later caller may have asked after an
 * invalidation that the answer does not reflect, so it asks again.
 */
export type CausalTime = number

/** A source of increasing positions. */
export function causalClock(): () => CausalTime {
  let last = 0
  return () => ++last
}

/** The end of a flight. */
export type FlightOutcome =
  /**
   * A value, good for the callers that asked before `currentAsOf` and joined before `freshUntil` (by the clock);
   * `token` is that of its load.
   */
  | {
      readonly state: 'value'
      readonly value: unknown
      readonly currentAsOf: CausalTime
      readonly freshUntil: number
      readonly token: string
    }
  /** An error, good for the callers that asked before `currentAsOf`. */
  | { readonly state: 'failed'; readonly error: CacheError; readonly currentAsOf: CausalTime }
  /** A result that is not shared; `own` is for the caller whose loader ran, if that was a caller of this process. */
  | { readonly state: 'pass'; readonly own?: { readonly value: unknown; readonly caller: CausalTime } }
  /** The load was voided: ask again. */
  | { readonly state: 'again' }
  /** The store does not answer. */
  | { readonly state: 'away'; readonly error: CacheError }

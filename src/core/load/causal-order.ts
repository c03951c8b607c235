import type { CacheError } from '../errors.ts'

/**
 * A place in the order of what happens in this process: the higher, the later.
 *
 * It carries the one rule of who may have which answer. Each caller notes the moment it *asked*; each answer has a
 * moment *as of* which it is known to be current: when the read or the claim it came from was sent, when a load without
 * a lease began, or, for a load whose fill was accepted, when the load ended (a lease that survived until then proves
 * that nothing was invalidated since it was granted). An answer is good for those who asked before. Whoever asked later
 * may have asked after an invalidation that the answer does not know of, and asks again.
 */
export type CausalTime = number

/** A source of moments. */
export function causalClock(): () => CausalTime {
  let last = 0
  return () => ++last
}

/** How a flight ended. */
export type FlightOutcome =
  /**
   * A value, good for the callers that asked before `asOf` and joined before `freshUntil` (by the clock); `token`: of the
   * load that brought it.
   */
  | {
      readonly state: 'value'
      readonly value: unknown
      readonly currentAsOf: CausalTime
      readonly freshUntil: number
      readonly token: string
    }
  /** An error, likewise. */
  | { readonly state: 'failed'; readonly error: CacheError; readonly currentAsOf: CausalTime }
  /** The result is not for sharing: `own` is for the caller whose loader ran, if it was one of ours. */
  | { readonly state: 'pass'; readonly own?: { readonly value: unknown; readonly caller: CausalTime } }
  /** The load was voided: ask again. */
  | { readonly state: 'again' }
  /** The store does not answer. */
  | { readonly state: 'away'; readonly error: CacheError }

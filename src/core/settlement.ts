import type { CacheError } from './errors.ts'
import type { Moment } from './moment.ts'

/** How a flight ended. */
export type Settlement =
  /**
   * A value, good for the callers that asked before `asOf` and joined before `freshUntil` (by the clock); `token`: of the
   * load that brought it.
   */
  | {
      readonly state: 'value'
      readonly value: unknown
      readonly asOf: Moment
      readonly freshUntil: number
      readonly token: string
    }
  /** An error, likewise. */
  | { readonly state: 'failed'; readonly error: CacheError; readonly asOf: Moment }
  /** The result is not for sharing: `own` is for the caller whose loader ran, if it was one of ours. */
  | { readonly state: 'pass'; readonly own?: { readonly value: unknown; readonly caller: Moment } }
  /** The load was voided: ask again. */
  | { readonly state: 'again' }
  /** The store does not answer. */
  | { readonly state: 'away'; readonly error: CacheError }

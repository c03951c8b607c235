import type { CacheError } from './errors.ts'
import type { Ended } from './load.ts'
import type { Moment } from './moment.ts'

/** How a flight ended. */
export type Settlement =
  /** A value, good for those who asked before `asOf`; `token`: of the load that brought it. */
  | { readonly state: 'value'; readonly value: unknown; readonly asOf: Moment; readonly token: string }
  /** An error, likewise. */
  | { readonly state: 'failed'; readonly error: CacheError; readonly asOf: Moment }
  /** The result is not for sharing: `own` is for the caller whose loader ran, if it was one of ours. */
  | { readonly state: 'pass'; readonly own?: { readonly value: unknown; readonly caller: Moment } }
  /** The load was voided: ask again. */
  | { readonly state: 'again' }
  /** The store does not answer. A load that began before it fell silent may still end, for those who asked in time. */
  | {
      readonly state: 'away'
      readonly error: CacheError
      readonly late?: { readonly began: Moment; readonly ended: Promise<Ended> }
    }

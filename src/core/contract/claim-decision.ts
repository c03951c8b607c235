import type { ClaimRequest } from './store.ts'

/** The state of a key, as far as a claim asks for it. Times are those of the clock of the store, in milliseconds. */
export interface ClaimRecord {
  /** The value, unless a tag has voided it. */
  readonly value?:
    | { readonly token: string; readonly freshUntil: number; readonly outdated?: boolean | undefined }
    | undefined
  /** The lease of the load that was granted last, unless that load has ended. */
  readonly held?: { readonly token: string; readonly until: number } | undefined
  /** The outcome of the last load, if that was an error or nothing to store. */
  readonly rest?: { readonly token: string; readonly until: number } | undefined
}

/**
 * The result of a claim. `fresh`: the value. `again`: the lease that this very claim was granted before, and whose result was lost.
 * `wait`: the lease of another claim. `rest`: the outcome of the last load. `lease`: a new lease.
 */
export type ClaimDecision = 'fresh' | 'again' | 'wait' | 'rest' | 'lease'

/**
 * Decides a claim, as claim.lua does on Redis. An outcome that the caller has waited for counts even if its time is over; an
 * outcome that is to be replaced counts never, nor does a value whose ttl an invalidation has ended.
 * @param now by the clock of the store, in milliseconds
 */
export function decideClaim(
  { value, held, rest }: ClaimRecord,
  { token, unwanted, awaited }: Pick<ClaimRequest, 'token' | 'unwanted' | 'awaited'>,
  now: number,
): ClaimDecision {
  const counts = (its: string, until: number): boolean => its === awaited || until > now
  const isGood = value !== undefined && value.outdated !== true && value.token !== unwanted
  if (isGood && counts(value.token, value.freshUntil)) return 'fresh'
  if (held !== undefined && held.until > now) return held.token === token ? 'again' : 'wait'
  return rest !== undefined && rest.token !== unwanted && counts(rest.token, rest.until) ? 'rest' : 'lease'
}

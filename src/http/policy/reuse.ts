import { directivesOf, secondsOf, type Directives } from './directives.ts'
import { fieldOf } from './fields.ts'
import { millisecondsOf, type StaleRules } from './stale.ts'
import type { Request } from './message.ts'

/** A stored response as the decision sees it: its `staleRules`, its age now and its lifetime. */
export interface Stored extends StaleRules {
  /** In milliseconds; see `ageAt`. */
  readonly age: number
  /** In milliseconds; see `lifetimeOf`. */
  readonly lifetime: number
}

/**
 * How a request is answered. `fresh`: from the store. `stale`: from the store, because the request accepts it.
 * `stale-while-revalidate`: from the store, with a background refresh. `validate`: by the handler, asked whether the
 * stored response still holds, or for a new one if the stored response has no validator. `load`: by the handler.
 * `refused`: by a 504, because the request accepts stored responses only.
 */
export type Reuse =
  | { readonly use: 'fresh' | 'stale' | 'stale-while-revalidate' | 'validate' | 'load' }
  | { readonly use: 'refused'; readonly status: 504 }

/**
 * Decides how a request is answered (RFC 9111 section 4).
 * @param stored `null` if nothing is stored
 * @param options.honor whether the Cache-Control of the request is heeded
 */
export function reuse(request: Request, stored: Stored | null, { honor }: { readonly honor: boolean }): Reuse {
  const directives = honor ? requestDirectives(request) : nothing
  const use = stored === null ? 'load' : useOf(stored, directives)
  // RFC 9111 section 5.2.1.7
  const isOnlyCached = directives.has('only-if-cached')
  if (isOnlyCached && (use === 'load' || use === 'validate')) return { use: 'refused', status: 504 }
  return { use }
}

const nothing: Directives = new Map()
const noCache: Directives = new Map([['no-cache', [null]]])

/** RFC 9111 section 5.4: `Pragma: no-cache` counts only in a request without Cache-Control. */
function requestDirectives({ fields }: Request): Directives {
  const cacheControl = fieldOf(fields, 'cache-control')
  if (cacheControl !== null) return directivesOf(cacheControl)
  return directivesOf(fieldOf(fields, 'pragma')).has('no-cache') ? noCache : nothing
}

function useOf(stored: Stored, request: Directives): 'fresh' | 'stale' | 'stale-while-revalidate' | 'validate' {
  const { age, lifetime, mustRevalidate, whileRevalidate } = stored
  // RFC 9111 sections 5.2.1.4 and 5.2.2.4
  if (stored.noCache || request.has('no-cache')) return 'validate'
  // RFC 9111 section 5.2.1.1. `max-age=0` asks for a validation even of a response that was stored in the same
  // millisecond.
  const maxAge = millisecondsOf(request, 'max-age')
  if (maxAge !== null && (maxAge === 0 || age > maxAge)) return 'validate'
  // RFC 9111 section 5.2.1.3
  const minFresh = secondsOf(request, 'min-fresh')
  if (minFresh === 'invalid' || (minFresh !== null && lifetime - age < minFresh * 1_000)) return 'validate'
  // RFC 9111 section 4.2
  if (lifetime > age) return 'fresh'
  if (mustRevalidate) return 'validate'
  const staleFor = age - lifetime
  if (staleFor <= mostStale(request)) return 'stale'
  // RFC 9111 section 5.2.1.1: a request with max-age and without max-stale does not accept a stale response.
  return maxAge === null && staleFor < whileRevalidate ? 'stale-while-revalidate' : 'validate'
}

/**
 * The greatest staleness that a request accepts, in milliseconds (max-stale, RFC 9111 section 5.2.1.2); negative if the
 * request does not say.
 */
function mostStale(request: Directives): number {
  const said = request.get('max-stale')
  if (said === undefined) return -1
  if (said.every((argument) => argument === null)) return Number.POSITIVE_INFINITY
  return millisecondsOf(request, 'max-stale') ?? -1
}

/**
 * Whether a status is an error that a stale response may replace (RFC 5861 section 4). The absence of any answer counts
 * as one, too.
 */
export function isServerError(status: number): boolean {
  return status === 500 || status === 502 || status === 503 || status === 504
}

/**
 * Whether a stored response is served in place of an error (RFC 5861 section 4, RFC 9111 section 4.2.4).
 * @param defaults.honor whether the Cache-Control of the request is heeded
 * @param defaults.ifError stale-if-error of a response that has none, in milliseconds
 */
export function usableOnError(
  request: Request,
  stored: Stored,
  defaults: { readonly honor: boolean; readonly ifError: number },
): boolean {
  const { age, lifetime, mustRevalidate, ifError } = stored
  if (stored.noCache) return false
  if (lifetime > age) return true
  if (mustRevalidate) return false
  const accepted = defaults.honor ? millisecondsOf(requestDirectives(request), 'stale-if-error') : null
  return age - lifetime < Math.max(ifError ?? defaults.ifError, accepted ?? 0)
}

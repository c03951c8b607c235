import { directivesOf, secondsOf, type Directives } from './directives.ts'
import { fieldOf } from './fields.ts'
import { millisecondsOf, type StaleRules } from './stale.ts'
import type { Request } from './message.ts'

/** What has to be known of a stored response to decide: `staleRules` of it, and how old it is at this moment. */
export interface Stored extends StaleRules {
  /** Milliseconds; see `ageAt`. */
  readonly age: number
  /** Milliseconds; see `lifetimeOf`. */
  readonly lifetime: number
}

/**
 * What is done for a request: serve what is stored, `'fresh'` or because the request takes it `'stale'`; serve it stale and
 * validate it meanwhile; validate it first, which for one without a validator is to load it anew; load what is not stored;
 * or refuse, as a request that wants nothing but what is stored asks for.
 */
export type Reuse =
  | { readonly use: 'fresh' | 'stale' | 'stale-while-revalidate' | 'validate' | 'load' }
  | { readonly use: 'refused'; readonly status: 504 }

/** RFC 9111 section 4: what is done for a request with a stored response, or with none. */
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

/** RFC 9111 section 5.4: in a request without Cache-Control, and only there, Pragma says no-cache. */
function requestDirectives({ fields }: Request): Directives {
  const cacheControl = fieldOf(fields, 'cache-control')
  if (cacheControl !== null) return directivesOf(cacheControl)
  return directivesOf(fieldOf(fields, 'pragma')).has('no-cache') ? noCache : nothing
}

function useOf(stored: Stored, request: Directives): 'fresh' | 'stale' | 'stale-while-revalidate' | 'validate' {
  const { age, lifetime, mustRevalidate, whileRevalidate } = stored
  // RFC 9111 sections 5.2.1.4 and 5.2.2.4
  if (stored.noCache || request.has('no-cache')) return 'validate'
  // RFC 9111 section 5.2.1.1; one of 0 asks to validate, however short ago it was stored.
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
  // RFC 9111 section 5.2.1.1: whoever sends max-age without max-stale does not want it stale.
  return maxAge === null && staleFor < whileRevalidate ? 'stale-while-revalidate' : 'validate'
}

/** RFC 9111 section 5.2.1.2: how stale it may be, in milliseconds; less than nothing where the request does not say. */
function mostStale(request: Directives): number {
  const said = request.get('max-stale')
  if (said === undefined) return -1
  if (said.every((argument) => argument === null)) return Number.POSITIVE_INFINITY
  return millisecondsOf(request, 'max-stale') ?? -1
}

/** RFC 5861 section 4: the answers of a handler that a stale response may stand in for; no answer at all is one more. */
export function isServerError(status: number): boolean {
  return status === 500 || status === 502 || status === 503 || status === 504
}

/**
 * RFC 5861 section 4, RFC 9111 section 4.2.4: whether a stored response is served instead of an error.
 * @param defaults `ifError`: milliseconds that a response may be stale which says nothing of errors
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

import { allows, mostSeconds, secondsOf } from './directives.ts'
import { fieldOf } from './fields.ts'
import { dateOf } from './http-date.ts'
import type { Response } from './message.ts'

/**
 * Which responses of a status may be stored: every one (`'always'`), only one with an explicit freshness lifetime
 * (`'explicit'`), or none (`'never'`).
 */
export type StatusRule = 'always' | 'explicit' | 'never'

/** The freshness lifetime of a response in milliseconds, and its source. With `'none'` the response is never fresh. */
export interface Lifetime {
  readonly ms: number
  readonly from: 's-maxage' | 'max-age' | 'expires' | 'default' | 'heuristic' | 'none'
}

/** The rules for responses without an explicit freshness lifetime. */
export interface LifetimeRules {
  /** The rule of each final status; `statusRule` is the rule of the standard. */
  readonly statuses: (status: number) => StatusRule
  /** The default freshness lifetime in milliseconds; `null` for the heuristic of RFC 9111 section 4.2.2. */
  readonly defaultTtl: number | null
}

// RFC 9110 section 15.1, without 206: partial content is not stored.
const heuristicallyCacheable: ReadonlySet<number> = new Set([200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501])

/**
 * The rule of the standard for a status: a heuristically cacheable status (RFC 9110 section 15.1) needs no explicit
 * lifetime, and every other status does.
 */
export function statusRule(status: number): StatusRule {
  return heuristicallyCacheable.has(status) ? 'always' : 'explicit'
}

const dayLong = 86_400_000

/**
 * The freshness lifetime of a response in a shared cache (RFC 9111 section 4.2.1): s-maxage before max-age before
 * Expires, explicit before assumed. An invalid value means 0.
 * @param receivedAt when the head arrived, in milliseconds since the epoch
 */
export function lifetimeOf(response: Response, rules: LifetimeRules, receivedAt: number): Lifetime {
  const { directives, field } = response.control
  for (const from of ['s-maxage', 'max-age'] as const) {
    const seconds = secondsOf(directives, from)
    if (seconds !== null) return { ms: seconds === 'invalid' ? 0 : seconds * 1_000, from }
  }
  const expires = field === 'cache-control' ? fieldOf(response.fields, 'expires') : null
  if (expires !== null) return { ms: untilExpiry(response, expires, receivedAt), from: 'expires' }
  return assumed(response, rules, receivedAt)
}

/** RFC 9111 section 5.3: the lifetime runs from Date to Expires; an Expires that is not a date lies in the past. */
function untilExpiry(response: Response, expires: string, receivedAt: number): number {
  const end = dateOf(expires, receivedAt)
  if (end === null) return 0
  return Math.min(Math.max(0, end - originatedAt(response, receivedAt)), mostSeconds * 1_000)
}

/** RFC 9111 section 4.2.2: a heuristic lifetime requires a status that allows it, or an explicit `public`. */
function assumed(response: Response, { statuses, defaultTtl }: LifetimeRules, receivedAt: number): Lifetime {
  const rule = statuses(response.status)
  const isPublic = allows(response.control.directives, 'public')
  if (rule === 'never' || (rule === 'explicit' && !isPublic)) return { ms: 0, from: 'none' }
  if (defaultTtl !== null) return { ms: defaultTtl, from: 'default' }
  if (!isPublic && !heuristicallyCacheable.has(response.status)) return { ms: 0, from: 'none' }
  const modifiedAt = dateOf(fieldOf(response.fields, 'last-modified'), receivedAt)
  if (modifiedAt === null) return { ms: 0, from: 'none' }
  // RFC 9111 section 4.2.2 suggests a tenth of the time since the last change; it is capped at a day here.
  const unchanged = Math.max(0, originatedAt(response, receivedAt) - modifiedAt)
  return { ms: Math.min(Math.floor(unchanged / 10), dayLong), from: 'heuristic' }
}

/** RFC 9110 section 6.6.1: the origination time of a response is its Date, or its arrival if it has none. */
function originatedAt(response: Response, receivedAt: number): number {
  return dateOf(fieldOf(response.fields, 'date'), receivedAt) ?? receivedAt
}

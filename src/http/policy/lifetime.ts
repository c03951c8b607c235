import { allows, mostSeconds, secondsOf } from './directives.ts'
import { fieldOf } from './fields.ts'
import { dateOf } from './http-date.ts'
import type { Response } from './message.ts'

/**
 * What may be stored of responses of one status: also those that say nothing of how long they are fresh (`'always'`), only
 * those that do (`'explicit'`), none (`'never'`).
 */
export type StatusRule = 'always' | 'explicit' | 'never'

/** How long a response is fresh, in milliseconds, and who says so; from `'none'` it is not fresh at any time. */
export interface Lifetime {
  readonly ms: number
  readonly from: 's-maxage' | 'max-age' | 'expires' | 'default' | 'heuristic' | 'none'
}

/** What is assumed of responses that do not say how long they are fresh. */
export interface LifetimeRules {
  /** For each final status, how much a response has to say; `statusRule` is that of the standard. */
  readonly statuses: (status: number) => StatusRule
  /** Milliseconds that a response is fresh for which says nothing; `null` where the standard's guess is made. */
  readonly defaultTtl: number | null
}

// RFC 9110 section 15.1, without 206: what is partial is not stored.
const heuristicallyCacheable: ReadonlySet<number> = new Set([200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501])

/** RFC 9110 section 15.1: a response of these statuses may be stored without a word, one of another only with one. */
export function statusRule(status: number): StatusRule {
  return heuristicallyCacheable.has(status) ? 'always' : 'explicit'
}

const dayLong = 86_400_000

/**
 * RFC 9111 section 4.2.1, for a shared cache: s-maxage before max-age before Expires, what is said before what is assumed,
 * and what is said in a way that is not valid is 0.
 * @param receivedAt when its header came, in milliseconds since the epoch
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

/** RFC 9111 section 5.3: from Date to Expires; one that is no date is in the past. */
function untilExpiry(response: Response, expires: string, receivedAt: number): number {
  const end = dateOf(expires, receivedAt)
  if (end === null) return 0
  return Math.min(Math.max(0, end - originatedAt(response, receivedAt)), mostSeconds * 1_000)
}

/** RFC 9111 section 4.2.2: only for a status that allows it, or for what is explicitly public. */
function assumed(response: Response, { statuses, defaultTtl }: LifetimeRules, receivedAt: number): Lifetime {
  const rule = statuses(response.status)
  const isPublic = allows(response.control.directives, 'public')
  if (rule === 'never' || (rule === 'explicit' && !isPublic)) return { ms: 0, from: 'none' }
  if (defaultTtl !== null) return { ms: defaultTtl, from: 'default' }
  if (!isPublic && !heuristicallyCacheable.has(response.status)) return { ms: 0, from: 'none' }
  const modifiedAt = dateOf(fieldOf(response.fields, 'last-modified'), receivedAt)
  if (modifiedAt === null) return { ms: 0, from: 'none' }
  // A tenth of the time since it changed, as the standard proposes, and not for longer than a day.
  const unchanged = Math.max(0, originatedAt(response, receivedAt) - modifiedAt)
  return { ms: Math.min(Math.floor(unchanged / 10), dayLong), from: 'heuristic' }
}

/** RFC 9110 section 6.6.1: the Date of a response, and without one when it came. */
function originatedAt(response: Response, receivedAt: number): number {
  return dateOf(fieldOf(response.fields, 'date'), receivedAt) ?? receivedAt
}

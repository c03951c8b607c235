import type { Entry } from '../contract/store.ts'

/** `fresh` within its ttl; `stale` within ttl + grace: servable while a refresh runs, or instead of an error. */
export type Freshness = 'fresh' | 'stale' | 'expired'

/**
 * What an entry is good for, to a reader that accepts up to `grace` milliseconds of staleness.
 * The writer's grace bounds it too: beyond it the store may have dropped the value already.
 */
export function freshnessOf(entry: Entry, grace: number): Freshness {
  if (entry.freshFor > 0) return 'fresh'
  return entry.staleFor > 0 && -entry.freshFor < grace ? 'stale' : 'expired'
}

/** What is known of a value besides. */
export type EntryFacts = Pick<Entry, 'token' | 'age' | 'freshFor' | 'loadTime' | 'validators'>

/** When a value is refreshed before its ttl ends: after that part of it, or by XFetch. */
export type RefreshAhead = { readonly after: number } | { readonly beta: number }

/**
 * Whether a fresh entry is to be refreshed before its ttl ends. XFetch draws by how long its load took, so that hardly
 * anybody comes too late and hardly anybody too soon (Vattani, Chierichetti, Lowenstein: Optimal Probabilistic Cache
 * Stampede Prevention, VLDB 2015).
 * @param random more than 0, at most 1
 */
export function isRefreshDue(seen: EntryFacts, ahead: RefreshAhead, random: number): boolean {
  if ('after' in ahead) return seen.age >= ahead.after * (seen.age + seen.freshFor)
  return -seen.loadTime * ahead.beta * Math.log(random) >= seen.freshFor
}

/** How long a value is fresh that nobody has said more of: nothing may be remembered for another time than something. */
export function ttlOf(
  value: unknown,
  { ttl, negativeTtl }: { ttl: number; negativeTtl: { readonly null?: number; readonly undefined?: number } },
): number {
  return (value === null ? negativeTtl.null : value === undefined ? negativeTtl.undefined : undefined) ?? ttl
}

/** Shortened by a random part. @param random at least 0, less than 1 */
export function applyJitter(ttl: number, jitter: number, random: number): number {
  return Math.max(1, ttl * (1 - jitter * random))
}

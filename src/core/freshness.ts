import type { Entry } from './store.ts'

/** `fresh` within its ttl; `stale` within ttl + grace: servable while a refresh runs, or instead of an error. */
export type Freshness = 'fresh' | 'stale' | 'expired'

/**
 * What an entry is good for, to a reader that accepts up to `grace` milliseconds of staleness.
 * The writer's grace bounds it too: beyond it the store may have dropped the value already.
 */
export function freshness(entry: Entry, grace: number): Freshness {
  if (entry.freshFor > 0) return 'fresh'
  return entry.staleFor > 0 && -entry.freshFor < grace ? 'stale' : 'expired'
}

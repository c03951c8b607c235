/*
 * Room: entry. The properties of a cached value apart from its bytes: its freshness, its key and its tags.
 *
 * Reading order: freshness.ts (fresh, stale, expired, and when to refresh ahead), key.ts (keys and namespaces), tags.ts
 * (the epochs of tags), arguments-key.ts (keys of wrapped functions).
 */
import type { Entry } from '../contract/store.ts'

/**
 * `fresh` within the ttl; `stale` within ttl + grace: servable during a refresh (stale-while-revalidate) or after an
 * error.
 */
export type Freshness = 'fresh' | 'stale' | 'expired'

/**
 * The freshness of an entry for a reader that accepts up to `grace` milliseconds of staleness. The writer's grace is a
 * bound too: beyond it, the store may have dropped the value.
 */
export function freshnessOf(entry: Entry, grace: number): Freshness {
  if (entry.freshFor > 0) return 'fresh'
  return entry.staleFor > 0 && -entry.freshFor < grace ? 'stale' : 'expired'
}

/** The metadata of a value that a hit needs. */
export type EntryFacts = Pick<Entry, 'token' | 'age' | 'freshFor' | 'loadTime' | 'validators'>

/** When a fresh value is refreshed ahead: after this part of its ttl, or at random by XFetch. */
export type RefreshAhead = number | 'xfetch'

/**
 * Whether a fresh entry is due for a refresh ahead of its end. XFetch draws with the load time, so that a refresh
 * rarely begins too late, and rarely long before it is needed (Vattani, Chierichetti, Lowenstein: Optimal Probabilistic
 * Cache Stampede Prevention, VLDB 2015).
 * @param random more than 0, at most 1
 */
export function isRefreshDue(seen: EntryFacts, ahead: RefreshAhead, random: number): boolean {
  if (ahead !== 'xfetch') return seen.age >= ahead * (seen.age + seen.freshFor)
  return -seen.loadTime * Math.log(random) >= seen.freshFor
}

/** The ttls of what does not exist, in milliseconds. */
export interface NegativeTtls {
  readonly null?: number
  readonly undefined?: number
  readonly error?: number
}

/** The ttl of a value by the options; `null` and `undefined` may have their own (negative caching). */
export function ttlOf(value: unknown, { ttl, negativeTtl }: { ttl: number; negativeTtl: NegativeTtls }): number {
  return (value === null ? negativeTtl.null : value === undefined ? negativeTtl.undefined : undefined) ?? ttl
}

/** The ttl of an error that is an answer, by the options. */
export function errorTtlOf({ ttl, negativeTtl }: { ttl: number; negativeTtl: NegativeTtls }): number {
  return negativeTtl.error ?? negativeTtl.null ?? ttl
}

/**
 * The ttl, shortened by a random part of up to `jitter`.
 * @param random at least 0, less than 1
 */
export function applyJitter(ttl: number, jitter: number, random: number): number {
  return Math.max(1, ttl * (1 - jitter * random))
}

/** The metadata of an answer; times are milliseconds. */
export interface AnswerFacts {
  /** `fresh` or `stale`: it was found so. `loaded`: its load ended while the caller waited, in any process. */
  readonly state: 'fresh' | 'stale' | 'loaded'
  /** How long ago it was written. */
  readonly age: number
  /** What is left of its ttl; 0 if it is stale, or is not stored. */
  readonly ttl: number
  /** The tags of the stored value: within the library, as the store names them. */
  readonly tags: readonly string[]
}

/** The metadata of a value that is not stored. */
export const unstoredFacts: AnswerFacts = { state: 'loaded', age: 0, ttl: 0, tags: [] }

/** The metadata of a value in the store. */
export function factsOf(
  { age, freshFor, tags }: Pick<Entry, 'age' | 'freshFor' | 'tags'>,
  state: AnswerFacts['state'],
): AnswerFacts {
  return { state, age, ttl: state === 'stale' ? 0 : Math.max(0, freshFor), tags }
}

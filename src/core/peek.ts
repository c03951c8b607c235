import type { Peeked } from './cache.ts'
import { freshness } from './freshness.ts'
import type { Found } from './reads.ts'

/** What `peek` says of what was read. @param grace that of the cache */
export function peeked<T>(found: Found, grace: number): Peeked<T> {
  if (!('value' in found)) return { state: 'missing' }
  const { entry, value } = found
  const state = freshness(entry, grace)
  if (state === 'expired') return { state: 'missing' }
  return { state, value: value as T, age: entry.age, ttl: Math.max(0, entry.freshFor) }
}

import { answerOf } from '../codec/error-answer.ts'
import type { Keyspace } from '../entry/key.ts'
import { freshnessOf, type AnswerFacts } from '../entry/freshness.ts'
import type { ReadResult } from '../flight/reads.ts'
import type { Loaded, Peeked } from './cache.ts'

/**
 * The answer of `peek` for a read; the `ttl` of a stale value is below zero.
 * @param grace the grace of the cache, in milliseconds
 * @throws what the loader threw, if that is the answer
 */
export function peeked<T>(found: ReadResult, grace: number): Peeked<T> {
  if (!('value' in found)) return { state: 'missing' }
  const { entry, value } = found
  const state = freshnessOf(entry, grace)
  if (state === 'expired') return { state: 'missing' }
  return { state, value: answerOf(value) as T, age: entry.age, ttl: entry.freshFor }
}

/** The answer of `getOrLoadEntry`, without the tags that this library has added: of prefixes, and of versions. */
export function loadedOf<T>(answer: AnswerFacts & { readonly value: unknown }, keyspace: Keyspace): Loaded<T> {
  return { ...answer, value: answer.value as T, tags: keyspace.ownTags(answer.tags) }
}

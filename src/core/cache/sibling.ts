import type { Cache, Peeked } from './cache.ts'
import type { Codec } from '../codec/codec.ts'
import { formatValue } from '../time/duration.ts'
import type { Events } from '../observe/events.ts'
import type { Near } from '../near/near.ts'
import type { CachePlan } from '../options/plan.ts'

/** A cache that can be told not to look for what has just been looked for in vain. */
interface SiblingCache extends Cache {
  load: Cache['getOrLoad']
}

/** What a sibling does otherwise. */
export interface SiblingChanges {
  readonly codec: Codec
}

/**
 * A cache for values of another kind, beside one of the user's: with the same store, namespace, tags, events and life, and
 * with a near tier of its own if that one has one, in which values are shared as they are.
 */
export class Sibling {
  readonly cache: SiblingCache
  readonly events: Events
  /** The `ttl`, the `waitTimeout` and the `hardTimeout` of the cache that it is beside, in milliseconds. */
  readonly defaultTtl: number
  readonly defaultWaitTimeout: number
  readonly defaultHardTimeout: number
  readonly #near: Near | null
  readonly #store: { readonly away: boolean }

  constructor(
    cache: SiblingCache,
    { events, near, store }: { events: Events; near: Near | null; store: { readonly away: boolean } },
    { ttl, waitTimeout, hardTimeout }: Pick<CachePlan, 'ttl' | 'waitTimeout' | 'hardTimeout'>,
  ) {
    this.cache = cache
    this.events = events
    this.defaultTtl = ttl
    this.defaultWaitTimeout = waitTimeout
    this.defaultHardTimeout = hardTimeout
    this.#store = store
    this.#near = near
  }

  /** Whether the store does not answer, so that loads have no lease. */
  get isAway(): boolean {
    return this.#store.away
  }

  /** What is there, fresh or stale, from a copy in this process if there is one. Rejects as `peek` does. */
  look<T>(key: string): Peeked<T> | Promise<Peeked<T>> {
    const copy = this.#near?.get(key)
    if (copy === undefined || this.#near === null) return this.cache.peek<T>(key)
    const { age, freshFor } = this.#near.aged(copy)
    return { state: 'fresh', value: copy.value as T, age, ttl: freshFor }
  }
}

/** Throws TypeError for what is no cache of ours. */
export function siblingOf(cache: Cache, changes: SiblingChanges): Sibling {
  const { sibling } = (cache ?? {}) as { sibling?: (changes: SiblingChanges) => Sibling }
  if (typeof sibling === 'function') return sibling.call(cache, changes)
  throw new TypeError(`Expected a cache made by createCache(), got ${formatValue(cache)}`)
}

import type { CacheParts } from './assembly.ts'
import type { Cache, Peeked } from './cache.ts'
import type { Codec } from '../codec/codec.ts'
import type { Kind } from '../codec/schema.ts'
import { formatValue } from '../time/duration.ts'
import type { Mode } from '../contract/mode.ts'
import type { Events } from '../observe/events.ts'
import type { Near } from '../near/near.ts'
import type { ErrorKind } from '../options/options.ts'
import type { CachePlan } from '../options/plan.ts'

/** A cache with two more methods. */
interface SiblingCache extends Cache {
  /** As `getOrLoad`, for a key that was just read without success. */
  load: Cache['getOrLoad']
  /** As `peek`, with a `ttl` below zero for a stale value. */
  look<T>(key: string): Promise<Peeked<T>>
}

/** The differences between a sibling and its cache. */
export interface SiblingChanges {
  readonly codec: Codec
  /** As the option of the same name, which the user's cache does not hand down. */
  readonly errorKind?: (error: unknown) => ErrorKind
}

/**
 * A cache for values of another kind beside a cache of the user. It shares the store, namespace, tags, events and
 * lifetime; if the user's cache has a near cache, it has one of its own, with shared values.
 */
export class Sibling {
  readonly cache: SiblingCache
  readonly events: Events
  /** The `ttl`, `waitTimeout` and `hardTimeout` of the user's cache, in milliseconds. */
  readonly defaultTtl: number
  readonly defaultWaitTimeout: number
  readonly defaultHardTimeout: number
  /** The sources of the user's cache. */
  readonly sources: CachePlan['sources']
  readonly #near: Near | null
  readonly #kind: Kind
  readonly #store: { readonly unavailable: boolean }
  readonly #modes: { readonly current: Mode }

  constructor(
    cache: SiblingCache,
    { events, near, store, modes }: Pick<CacheParts, 'events' | 'near' | 'store' | 'modes'>,
    plan: CachePlan,
  ) {
    const { ttl, waitTimeout, hardTimeout, sources } = plan
    this.sources = sources
    this.#kind = plan
    this.cache = cache
    this.events = events
    this.defaultTtl = ttl
    this.defaultWaitTimeout = waitTimeout
    this.defaultHardTimeout = hardTimeout
    this.#store = store
    this.#modes = modes
    this.#near = near
  }

  get mode(): Mode {
    return this.#modes.current
  }

  /** Whether the circuit breaker is open, or the cache is switched off, so that loads have no lease. */
  get isStoreUnavailable(): boolean {
    return this.#store.unavailable || this.mode !== 'cache'
  }

  /**
   * The fresh or stale value of a key, from a near copy if there is one; the `ttl` of a stale value is below zero.
   * Rejects as `peek` does.
   */
  look<T>(key: string): Peeked<T> | Promise<Peeked<T>> {
    const copy = this.#near?.get(key, this.#kind)
    if (copy === undefined || this.#near === null) return this.cache.look<T>(key)
    const { age, freshFor } = this.#near.aged(copy)
    return { state: 'fresh', value: copy.value as T, age, ttl: freshFor }
  }
}

/** A cache that can make siblings, as every cache that `createCache` makes. */
export interface Elder extends Cache {
  sibling(changes: SiblingChanges): Sibling
}

/**
 * The sibling of a user's cache.
 * @throws TypeError unless `createCache` made the cache
 */
export function siblingOf(cache: Cache | Elder, changes: SiblingChanges): Sibling {
  if (typeof cache === 'object' && cache !== null && 'sibling' in cache) return cache.sibling(changes)
  throw new TypeError(`Expected a cache made by createCache(), got ${formatValue(cache)}`)
}

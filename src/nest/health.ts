import type { Cache } from '../core/cache/cache.ts'
import { CacheError } from '../core/errors.ts'

/** The result of a health indicator of Terminus: the state, under its key. */
export type HealthOf<Key extends string> = Record<Key, { status: 'up' | 'down'; message?: string }>

/** A health indicator for Terminus of Nest: whether the store of a cache answers. */
export class HerdlessHealth {
  readonly #cache: Cache

  constructor(cache: Cache) {
    this.#cache = cache
  }

  /**
   * Asks the store of a cache, for up to its `commandTimeout`. Never rejects: a cache whose store is away still answers.
   * @param key the name of the state in the result
   * @param cache default: the cache without a name
   */
  async isHealthy<const Key extends string>(key: Key, cache: Cache = this.#cache): Promise<HealthOf<Key>> {
    const state = await cache.peek('herdless:health').then(
      () => ({ status: 'up' }),
      (error: unknown) => ({ status: 'down', message: error instanceof CacheError ? error.code : String(error) }),
    )
    return { [key]: state } as HealthOf<Key>
  }
}

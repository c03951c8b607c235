import type { Cache } from './core/cache/cache.ts'
import { openCache } from './core/cache/open-cache.ts'
import type { CacheOptions } from './core/options/options.ts'
import { memoryStore } from './memory/memory-store.ts'
import { warnOfTrouble } from './warnings.ts'

/**
 * Creates a cache with single flight across the fleet.
 * @param options all optional; without a `store`, values live in the memory of this process
 * @returns the cache; call `close` when it is no longer needed
 * @throws TypeError for an unknown option or a wrong value
 * @example
 * import { Redis } from 'ioredis'
 * import { createCache } from 'herdless'
 * import { redisStore } from 'herdless/redis'
 *
 * const cache = createCache({ store: redisStore(new Redis()), namespace: 'shop', ttl: '5m' })
 */
export function createCache(options: CacheOptions = {}): Cache {
  return openCache(options, (clock) => memoryStore({ clock }), warnOfTrouble)
}

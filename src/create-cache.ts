import type { Cache } from './core/cache/cache.ts'
import { openCache } from './core/cache/create.ts'
import type { CacheOptions } from './core/options/options.ts'
import { memoryStore } from './memory/memory-store.ts'

/**
 * A cache whose misses are loaded once in the whole fleet.
 * @param options each with a default; without a `store`, values live in the memory of this process
 * @throws TypeError for an unknown option or a value it cannot have
 */
export function createCache(options: CacheOptions = {}): Cache {
  return openCache(options, (clock) => memoryStore({ clock }))
}

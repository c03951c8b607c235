import type { Cache } from '../core/cache/cache.ts'
import { formatValue } from '../core/time/duration.ts'
import { isrHandler, type IsrHandler } from './isr.ts'
import { sharedCache } from './shared-cache.ts'
import { useCacheHandler, type UseCacheHandler } from './use-cache.ts'

/** Both handlers of Next in one: a class for `cacheHandler`, whose own methods are those of `cacheHandlers`. */
export interface NextCacheHandler extends UseCacheHandler {
  new (context?: { serverDistDir?: string }): IsrHandler
}

/**
 * The cache handlers of Next 15 and 16, for all processes of an app: each entry is rendered once in the fleet. For the
 * default export of a file that `cacheHandler` and `cacheHandlers` of next.config name.
 * @param make makes the cache when the first request needs it, once for a process; not called by `next build`
 * @throws TypeError unless `make` is a function
 */
export function nextCache(make: () => Cache): NextCacheHandler {
  if (typeof make !== 'function')
    throw new TypeError(`Expected \`nextCache\` to be given a function that makes the cache, got ${formatValue(make)}`)
  const shared = (): ReturnType<typeof sharedCache> => sharedCache(make)
  function Handler(context?: { serverDistDir?: string }): IsrHandler {
    return isrHandler(shared, context?.serverDistDir)
  }
  return Object.assign(Handler, useCacheHandler(shared)) as unknown as NextCacheHandler
}

export { nextCache, type NextCacheHandler } from './next-cache.ts'
export type { CacheEntry, UseCacheHandler } from './use-cache.ts'
export type { IsrContext, IsrHandler, IsrValue } from './isr.ts'

export {
  HerdlessModule,
  type HerdlessDynamicModule,
  type HerdlessModuleAsyncOptions,
  type HerdlessModuleOptions,
} from './module.ts'
export { Cached, cacheToken, InjectCache, Invalidates } from './decorators.ts'
export type { CachedOptions, InvalidatesOptions, ProviderDecorator } from './decorators.ts'
export { CACHE_MANAGER, CacheManager, CacheManager as Cache } from './cache-manager.ts'
export type { ManagerWrapOptions, OfValue } from './cache-manager.ts'
export { CacheFor, CacheInterceptor, CacheKey, CacheTTL, type OfContext } from './interceptor.ts'
export { HerdlessHealth, type HealthOf } from './health.ts'

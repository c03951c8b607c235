import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Cache } from '../core/cache.ts'
import { ResponseCache } from './response-cache.ts'
import type { CacheResponsesOptions } from './response-options.ts'

export { cachedServer } from './cached-server.ts'
export { purge, type Purge } from './purge.ts'
export type { CacheInfo } from './cache-info.ts'
export type { CacheResponsesOptions, PerRequest } from './response-options.ts'

/** What is used of a context of Koa 2.15 or newer, or 3. */
export interface KoaContext {
  readonly req: IncomingMessage & { originalUrl?: string }
  readonly res: ServerResponse
  readonly request: { accept: unknown }
  readonly originalUrl: string
  respond?: boolean | undefined
}

/** A middleware of Koa. */
export type KoaMiddleware = (context: KoaContext, next: () => Promise<unknown>) => Promise<void>

/**
 * A middleware that caches whole responses: what stands behind it runs once for the whole fleet. `Cache-Control` of a response
 * decides (RFC 9111, for a shared cache).
 * @param cache made by `createCache`; responses live in its store, with its namespace and tags
 * @param options each with a default; functions are given requests of node:http (`ctx.req`)
 * @throws TypeError for what is no such cache, an unknown option or a value it cannot have
 */
export function cacheResponses(cache: Cache, options: CacheResponsesOptions = {}): KoaMiddleware {
  const responses = new ResponseCache('cacheResponses', cache, options)
  return async (context, next) => {
    const { req, res } = context
    const { statusCode } = res
    // What mounts an app takes the beginning off the URL.
    req.originalUrl ??= context.originalUrl
    const hasRun = await responses.handled(req, res, async () => {
      // What it has kept of the fields is from before the handler: what the handler asks of it would not be seen.
      context.request.accept = undefined
      // A response for the cache alone says 200 until it is told otherwise, and Koa's 404.
      res.statusCode = statusCode
      await next()
    })
    if (!hasRun) context.respond = false
  }
}

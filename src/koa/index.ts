import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Cache } from '../core/cache/cache.ts'
import { messagePart, responsePart } from '../http/server/express-surroundings.ts'
import { own } from '../http/watch/harmless.ts'
import { ResponseCache } from '../http/response-cache.ts'
import type { CacheResponsesOptions } from '../http/options/response-options.ts'
import type { Part, Surroundings } from '../http/watch/surroundings.ts'

export { cachedServer } from '../http/server/cached-server.ts'
export { purge, type Purge } from '../http/purge.ts'
export type { CacheInfo } from '../http/message/cache-info.ts'
export type { CacheResponsesOptions, PerRequest } from '../http/options/response-options.ts'

/** What is used of a context of Koa 2.15 or newer, or 3. */
export interface KoaContext {
  readonly req: IncomingMessage & { originalUrl?: string }
  readonly res: ServerResponse
  readonly request: { accept: unknown }
  readonly response: object
  readonly state: object
  readonly originalUrl: string
  respond?: boolean | undefined
}

/** A middleware of Koa. */
export type KoaMiddleware = (context: KoaContext, next: () => Promise<unknown>) => Promise<void>

/**
 * A middleware that caches whole responses: what stands behind it runs once for the whole fleet. `Cache-Control` of a response
 * decides (RFC 9111, for a shared cache).
 * @param cache made by `createCache`; responses live in its store, with its namespace and tags
 * @param options each with a default; `user` is given the context, other functions the request of node:http (`ctx.req`)
 * @throws TypeError for what is no such cache, an unknown option or a value it cannot have
 */
export function cacheResponses<Context extends KoaContext = KoaContext>(
  cache: Cache,
  options: CacheResponsesOptions<IncomingMessage, Context> = {},
): KoaMiddleware {
  const responses = new ResponseCache('cacheResponses', cache, options)
  return async (context, next) => {
    const { req, res } = context
    const { statusCode } = res
    // What mounts an app takes the beginning off the URL.
    req.originalUrl ??= context.originalUrl
    const run = async (): Promise<void> => {
      // What it has kept of the fields is from before the handler: what the handler asks of it would not be seen.
      context.request.accept = undefined
      // A response for the cache alone says 200 until it is told otherwise, and Koa's 404.
      res.statusCode = statusCode
      await next()
    }
    if (!(await responses.handled(req, res, run, surroundingsOf(context)))) context.respond = false
  }
}

function surroundingsOf(context: KoaContext): Surroundings {
  const { request, response, state } = context
  const parts = [
    { name: 'ctx', object: context, isOwn: own.koaContext },
    { name: 'ctx.state', object: state, isOwn: own.nothing },
    { name: 'ctx.request', object: request, isOwn: own.koaRequest },
    messagePart('ctx.req', context.req),
  ]
  const others = (): Part[] => [
    { name: 'ctx.response', object: response, isOwn: own.koaResponse },
    responsePart('ctx.res', context.res),
  ]
  return { parts, others, asker: context }
}

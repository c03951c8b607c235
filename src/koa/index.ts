import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Cache } from '../core/cache/cache.ts'
import { messagePart, responsePart } from '../http/server/express-surroundings.ts'
import { changedParams, changedQuery, textsAmong } from '../http/inputs/changed-values.ts'
import { own } from '../http/inputs/harmless.ts'
import { ResponseCache } from '../http/response-cache.ts'
import type { CacheResponsesOptions } from '../http/options/response-options.ts'
import type { Part, Surroundings } from '../http/inputs/surroundings.ts'

export { cachedServer } from '../http/server/cached-server.ts'
export { purge, type Purge } from '../http/purge.ts'
export type { CacheInfo } from '../http/message/cache-info.ts'
export type { CacheResponsesOptions, PerRequest } from '../http/options/response-options.ts'

/** The members of a context of Koa 2.15 or newer, or 3, that the cache uses or that options usually read. */
export interface KoaContext {
  readonly req: IncomingMessage & { originalUrl?: string }
  readonly res: ServerResponse
  readonly request: object
  readonly response: object
  readonly state: object
  readonly originalUrl: string
  readonly path: string
  readonly host: string
  readonly hostname: string
  readonly ip: string
  get(name: string): string
  respond?: boolean | undefined
}

/** The request of node:http (`ctx.req`), with the URL that the client asked for. */
export interface KoaRequest extends IncomingMessage {
  readonly originalUrl: string
}

/** A middleware of Koa. */
export type KoaMiddleware = (context: KoaContext, next: () => Promise<unknown>) => Promise<void>

/**
 * Creates a middleware that caches whole responses: the handler behind it runs once for the whole fleet.
 * `Cache-Control` of the response applies (RFC 9111, as a shared cache).
 * @param cache made by `createCache`; responses live in its store, with its namespace and tags
 * @param options each with a default; `user` receives the context, other functions the request of node:http (`ctx.req`)
 * @throws TypeError for a cache that was not made by `createCache`, an unknown option or an invalid value
 * @example
 * router.get('/products/:id', cacheResponses(cache, { ttl: '1m' }), async (ctx) => {
 *   ctx.body = await db.product(ctx.params.id)
 * })
 */
export function cacheResponses<Context extends KoaContext = KoaContext>(
  cache: Cache,
  options: CacheResponsesOptions<KoaRequest, Context> = {},
): KoaMiddleware {
  const responses = new ResponseCache('cacheResponses', cache, options)
  return async (context, next) => {
    const { req, res } = context
    // koa-mount removes the prefix from the URL.
    req.originalUrl ??= context.originalUrl
    const run = async (): Promise<void> => {
      // Koa keeps the URL that it has made of the fields; it is made again, and its reads are recorded.
      delete (context.request as { memoizedURL?: URL }).memoizedURL
      await next()
    }
    if (!(await responses.handled(req, res, run, surroundingsOf(context)))) context.respond = false
  }
}

/** Values that Koa and its routers keep for the request. */
interface Kept {
  readonly params?: unknown
  readonly routerPath?: unknown
  readonly _querycache?: Readonly<Record<string, unknown>>
  readonly originalUrl?: string
}

function changedOf(context: KoaContext): readonly string[] {
  const { req, res, request } = context
  const { url = '', originalUrl, headers } = req
  const { params } = context as Kept
  const { _querycache: queries, originalUrl: shown } = request as Kept
  const start = url.indexOf('?')
  const query = queries?.[start < 0 ? '' : url.slice(start + 1)]
  return textsAmong(
    changedParams('params', params, originalUrl ?? url),
    query === undefined ? null : changedQuery('query', query, url),
    shown === originalUrl ? null : `originalUrl ${shown}`,
    // The host that a trusted proxy names may have chosen the handler.
    headers['x-forwarded-host'] === undefined || context.host === headers.host
      ? null
      : `host ${JSON.stringify(context.host)}`,
    // Koa itself begins with 404.
    res.statusCode === 404 ? null : `status ${res.statusCode}`,
  )
}

function surroundingsOf(context: KoaContext): Surroundings {
  const { request, response, state } = context
  const parts = [
    { name: 'ctx', object: context, isOwn: own.koaContext },
    { name: 'ctx.state', object: state, isOwn: own.nothing, kind: 'variables' } as const,
    { name: 'ctx.request', object: request, isOwn: own.koaRequest },
    { name: 'ctx.response', object: response, isOwn: own.koaResponse },
    messagePart('ctx.req', context.req),
  ]
  const others = (): Part[] => [responsePart('ctx.res', context.res)]
  // The path by which a router has chosen the handler, or will choose it.
  const { routerPath } = context as Kept
  const route = (): string | null =>
    typeof routerPath === 'string' ? `routerPath ${JSON.stringify(routerPath)}` : null
  return {
    parts,
    others,
    route,
    changed: () => changedOf(context),
    responseName: 'ctx.response',
    targets: [context, request],
    asker: context,
  }
}

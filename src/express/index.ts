import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Cache } from '../core/cache/cache.ts'
import { tellPassed, type CacheInfo } from '../http/message/cache-info.ts'
import { markMiddleware } from '../http/server/express-route.ts'
import { expressSurroundings } from '../http/server/express-surroundings.ts'
import { ResponseCache } from '../http/response-cache.ts'
import type { CacheResponsesOptions } from '../http/options/response-options.ts'

export { cachedServer } from '../http/server/cached-server.ts'
export { purge, purgeRouter, type Purge, type PurgeRouterOptions } from '../http/purge.ts'
export type { CacheInfo }
export type { CacheResponsesOptions, PerRequest } from '../http/options/response-options.ts'

declare global {
  namespace Express {
    interface Request {
      /** How the cache in front of this handler treats the request; set behind `cacheResponses` and `cachedServer`. */
      cache?: CacheInfo
    }
  }
}

/** The members of a request of Express 4 or 5 that options usually read. */
export interface ExpressRequest extends IncomingMessage, Express.Request {
  readonly originalUrl: string
  readonly baseUrl: string
  readonly path: string
  readonly hostname: string
  readonly protocol: string
  readonly secure: boolean
  readonly ip?: string | undefined
  readonly query: Readonly<Record<string, unknown>>
  get(name: string): string | undefined
}

/** A middleware of Express 4 or 5, or of any framework with the requests and responses of node:http. */
export type Middleware<Request> = (request: Request, response: ServerResponse, next: (error?: unknown) => void) => void

/**
 * Creates a middleware that caches whole responses: the handler behind it runs once for the whole fleet.
 * `Cache-Control` of the response applies (RFC 9111, as a shared cache).
 * @param cache made by `createCache`; responses live in its store, with its namespace and tags
 * @param options each with a default; their functions receive the request, of type `Request`
 * @throws TypeError for a cache that was not made by `createCache`, an unknown option or an invalid value
 * @example
 * app.get('/products/:id', cacheResponses(cache, { ttl: '1m' }), async (req, res) => {
 *   res.json(await db.product(req.params.id))
 * })
 */
export function cacheResponses<Request extends IncomingMessage = ExpressRequest>(
  cache: Cache,
  options: CacheResponsesOptions<Request, Request> = {},
): Middleware<IncomingMessage> {
  const responses = new ResponseCache('cacheResponses', cache, options)
  const middleware: Middleware<IncomingMessage> = (request, response, next) => {
    if (isOfFastify(request)) {
      tellPassed(request, response, { forwarded: 'bypass', detail: 'fastify' })
      return next()
    }
    void responses.handle(request, response, () => next(), expressSurroundings(request, response, middleware))
  }
  markMiddleware(middleware)
  return middleware
}

/**
 * Whether a request is one of Fastify, as @fastify/middie, @fastify/express and Nest on Fastify hand it to middleware.
 * What earlier hooks have set, and the constraints that have selected the route, are on an object of Fastify that the
 * middleware cannot reach.
 */
function isOfFastify(request: IncomingMessage): boolean {
  return Object.hasOwn(request, 'ip') && ['hostname', 'id', 'log'].every((name) => Object.hasOwn(request, name))
}

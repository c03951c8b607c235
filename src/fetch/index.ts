import type { IncomingMessage } from 'node:http'
import type { Cache } from '../core/cache/cache.ts'
import { checkObject } from '../core/options/checks.ts'
import { own } from '../http/inputs/harmless.ts'
import type { Surroundings } from '../http/inputs/surroundings.ts'
import type { CacheResponsesOptions } from '../http/options/response-options.ts'
import { ResponseCache } from '../http/response-cache.ts'
import { FetchAnswer } from '../http/server/fetch-answer.ts'
import { hostsOf, incomingOf, originOf } from '../http/server/fetch-request.ts'
import { isOfRequest } from '../http/server/fetch-shown.ts'

export { purge, type Purge } from '../http/purge.ts'
export type { CacheResponsesOptions, PerRequest } from '../http/options/response-options.ts'

/** Objects that earlier code has filled for the handler, by their names in `Cache-Status`: `{ locals }`. */
export type GivenObjects = Readonly<Record<string, object>>

/** A request, and what was given to its handler: the argument of the option `user`. */
export interface FetchAsker {
  readonly request: Request
  readonly given: GivenObjects
}

/**
 * Answers a request from the cache, or by the handler.
 * @param request as the server has made it
 * @param next runs the handler; called at most once, and perhaps after the answer, for a refresh in the background. It
 *   is given the request, which is watched
 * @param given objects that earlier code has filled for this request, and that the handler may read: their reads are
 *   recorded like those of request fields. Default none
 * @returns the response; rejects with the error of the handler
 */
export type FetchMiddleware = (
  request: Request,
  next: (request: Request) => Response | Promise<Response>,
  given?: GivenObjects,
) => Promise<Response>

/**
 * Creates a function that caches whole responses for handlers of `Request` and `Response`: the handler runs once for
 * the whole fleet. `Cache-Control` of the response applies (RFC 9111, as a shared cache).
 * @param cache made by `createCache`; responses live in its store, with its namespace and tags
 * @param options each with a default; their functions receive the `Request`, and `user` a `FetchAsker`
 * @throws TypeError for a cache that was not made by `createCache`, an unknown option or an invalid value
 * @example
 * const withCache = cacheResponses(cache, { ttl: '1m' })
 * Bun.serve({ fetch: (request) => withCache(request, async () => Response.json(await db.products())) })
 */
export function cacheResponses(
  cache: Cache,
  options: CacheResponsesOptions<Request, FetchAsker> = {},
): FetchMiddleware {
  const responses = new ResponseCache('cacheResponses', cache, ofMessages(options))
  return async (request, next, given = {}) => {
    const incoming = incomingOf(request)
    const outgoing = new FetchAnswer(incoming)
    const run = (): void =>
      void outgoing.answered(
        request,
        async () => await next(request),
        (error) => responses.failed(incoming, error),
      )
    void responses.handle(incoming, outgoing, run, surroundingsOf(request, given))
    return await outgoing.sent(request)
  }
}

/** The options for requests of node:http: their functions are called with the `Request` that is meant. */
function ofMessages(
  given: CacheResponsesOptions<Request, FetchAsker>,
): CacheResponsesOptions<IncomingMessage, FetchAsker> {
  const { user, ...rest } = checkObject('cacheResponses', given)
  const options = Object.entries(rest).map(([name, value]: [string, unknown]) => {
    return [
      name,
      typeof value === 'function' ? (incoming: IncomingMessage) => value(originOf(incoming).request) : value,
    ]
  })
  return { ...(Object.fromEntries(options) as object), ...(user !== undefined && { user }) }
}

function surroundingsOf(request: Request, given: GivenObjects): Surroundings {
  const parts = Object.entries(given).map(([name, object]) => {
    return { name, object, isOwn: own.nothing, kind: 'variables' } as const
  })
  return {
    parts: [{ name: 'request', object: request, isOwn: isOfRequest, kind: 'request' }, ...parts],
    changed: () => hostsOf(request),
    asker: { request, given },
  }
}

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Cache } from '../core/cache/cache.ts'
import { cacheStatusText } from '../http/message/cache-status.ts'
import { isReplaced, seenThrough } from './request.ts'
import { honoSurroundings, type HonoContext } from './surroundings.ts'
import { ResponseCache } from '../http/response-cache.ts'
import type { CacheResponsesOptions } from '../http/options/response-options.ts'

export { cachedServer } from '../http/server/cached-server.ts'
export { purge, type Purge } from '../http/purge.ts'
export type { CacheInfo } from '../http/message/cache-info.ts'
export type { HonoContext }
export type { CacheResponsesOptions, PerRequest } from '../http/options/response-options.ts'

/** A middleware of Hono, for servers of `@hono/node-server`. */
export type HonoMiddleware = (context: HonoContext, next: () => Promise<void>) => Promise<Response | undefined>

/**
 * Creates a middleware that caches whole responses: the handler behind it runs once for the whole fleet.
 * `Cache-Control` of the response applies (RFC 9111, as a shared cache). A request without a server of
 * @hono/node-server, as from `app.request()`, is answered by the handler without a cache.
 * @param cache made by `createCache`; responses live in its store, with its namespace and tags
 * @param options each with a default; `user` receives the context, other functions the request of node:http
 *   (`c.env.incoming`)
 * @throws TypeError for a cache that was not made by `createCache`, an unknown option or an invalid value
 * @example
 * app.get('/products/:id', cacheResponses(cache, { ttl: '1m' }), async (c) => c.json(await db.product(c.req.param('id'))))
 */
export function cacheResponses<Context extends HonoContext = HonoContext>(
  cache: Cache,
  options: CacheResponsesOptions<IncomingMessage, Context> = {},
): HonoMiddleware {
  const responses = new ResponseCache('cacheResponses', cache, options)
  return async (context, next) => {
    const messages = messagesOf(context)
    if (messages === null) return await passed(context, next)
    const { incoming, outgoing } = messages
    // Lines of earlier middleware belong to every answer, including cached ones, but Hono holds them back until the
    // handler's answer is sent.
    const { headers, status } = context.newResponse(null)
    for (const [name, value] of headers) outgoing.appendHeader(name, value)
    const said = new Set(headers.keys())
    const surroundings = honoSurroundings(context, incoming, { outgoing, status, said })
    const sent = new Set(isReplaced(context.req.raw) ? Object.keys(incoming.headers) : [])
    const run = async (): Promise<void> => {
      for (const name of said) {
        if (outgoing.hasHeader(name)) outgoing.removeHeader(name)
        // A detached response never got the line, and the answer for the cache must not have it.
        else context.header(name)
      }
      context.req.raw = seenThrough(context.req.raw, incoming, sent)
      await next()
    }
    return (await responses.handled(incoming, outgoing, run, surroundings)) ? undefined : alreadySent(outgoing)
  }
}

/** The messages of node:http behind a request; `null` if there are none. */
function messagesOf({ env }: HonoContext): { incoming: IncomingMessage; outgoing: ServerResponse } | null {
  const { incoming, outgoing } = (env ?? {}) as { incoming?: IncomingMessage; outgoing?: ServerResponse }
  return incoming === undefined || outgoing === undefined ? null : { incoming, outgoing }
}

/** Runs the handler without a cache, and sets `Cache-Status`. */
async function passed(context: HonoContext, next: () => Promise<void>): Promise<undefined> {
  await next()
  const { method } = context.req.raw
  // After the handler: a response that it has created itself does not take lines that were set before.
  if (method === 'GET' || method === 'HEAD')
    context.header('Cache-Status', cacheStatusText({ forwarded: 'bypass', detail: 'no-server' }))
}

/** Creates the response that tells @hono/node-server that the answer was already sent. */
function alreadySent({ statusCode: status }: ServerResponse): Response {
  const response = new Response(null, { status, headers: { 'x-hono-already-sent': 'true' } })
  // @hono/node-server looks for the field only on a full `Response`, and reading the body turns the lightweight one
  //   into it.
  void response.body
  return response
}

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Cache } from '../core/cache/cache.ts'
import { cacheStatusText } from '../http/message/cache-status.ts'
import { seenThrough } from './request.ts'
import { honoSurroundings, type HonoContext } from './surroundings.ts'
import { ResponseCache } from '../http/response-cache.ts'
import type { CacheResponsesOptions } from '../http/options/response-options.ts'

export { cachedServer } from '../http/server/cached-server.ts'
export { purge, type Purge } from '../http/purge.ts'
export type { CacheInfo } from '../http/message/cache-info.ts'
export type { HonoContext }
export type { CacheResponsesOptions, PerRequest } from '../http/options/response-options.ts'

/** A middleware of Hono, for servers of @hono/node-server. */
export type HonoMiddleware = (context: HonoContext, next: () => Promise<void>) => Promise<Response | undefined>

/**
 * A middleware that caches whole responses: what stands behind it runs once for the whole fleet. `Cache-Control` of a response
 * decides (RFC 9111, for a shared cache). A request that came by no server of @hono/node-server, as with `app.request()`, is
 * answered by the handler, as if there were no cache.
 * @param cache made by `createCache`; responses live in its store, with its namespace and tags
 * @param options each with a default; `user` is given the context, other functions the request of node:http (`c.env.incoming`)
 * @throws TypeError for what is no such cache, an unknown option or a value it cannot have
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
    // What middleware before it has said is said with each answer, and Hono keeps it to itself until the handler's is sent.
    const { headers } = context.newResponse(null)
    for (const [name, value] of headers) outgoing.appendHeader(name, value)
    const said = new Set(headers.keys())
    const surroundings = honoSurroundings(context, incoming, outgoing)
    const run = async (): Promise<void> => {
      for (const name of said) {
        if (outgoing.hasHeader(name)) outgoing.removeHeader(name)
        // A response for the cache alone, to which nobody has said it.
        else context.header(name)
      }
      context.req.raw = seenThrough(context.req.raw, incoming)
      await next()
    }
    return (await responses.handled(incoming, outgoing, run, surroundings)) ? undefined : alreadySent(outgoing)
  }
}

/** The messages of node:http behind a request; `null` where there are none. */
function messagesOf({ env }: HonoContext): { incoming: IncomingMessage; outgoing: ServerResponse } | null {
  const { incoming, outgoing } = (env ?? {}) as { incoming?: IncomingMessage; outgoing?: ServerResponse }
  return incoming === undefined || outgoing === undefined ? null : { incoming, outgoing }
}

/** Has the handler answer, and says so. */
async function passed(context: HonoContext, next: () => Promise<void>): Promise<undefined> {
  await next()
  const { method } = context.req.raw
  // Only then: a response that a handler has made by itself does not take what was said before.
  if (method === 'GET' || method === 'HEAD')
    context.header('Cache-Status', cacheStatusText({ forwarded: 'bypass', detail: 'no-server' }))
}

/** What tells @hono/node-server that there is nothing more to send. */
function alreadySent({ statusCode: status }: ServerResponse): Response {
  const response = new Response(null, { status, headers: { 'x-hono-already-sent': 'true' } })
  // It heeds that only once it has made a true response of it, which is what asking for the body does.
  void response.body
  return response
}

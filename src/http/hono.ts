import type { IncomingMessage, ServerResponse } from 'node:http'
import { shown } from '../core/duration.ts'
import type { Cache } from '../core/cache.ts'
import { seenThrough } from './hono-request.ts'
import { honoSurroundings, type HonoContext } from './hono-surroundings.ts'
import { ResponseCache } from './response-cache.ts'
import type { CacheResponsesOptions } from './response-options.ts'

export { cachedServer } from './cached-server.ts'
export { purge, type Purge } from './purge.ts'
export type { CacheInfo } from './cache-info.ts'
export type { HonoContext }
export type { CacheResponsesOptions, PerRequest } from './response-options.ts'

/** A middleware of Hono, on a server of @hono/node-server. */
export type HonoMiddleware = (context: HonoContext, next: () => Promise<void>) => Promise<Response | undefined>

/**
 * A middleware that caches whole responses: what stands behind it runs once for the whole fleet. `Cache-Control` of a response
 * decides (RFC 9111, for a shared cache). Needs @hono/node-server: a request that came otherwise is a TypeError.
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
    const { incoming, outgoing } = messagesOf(context)
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

function messagesOf({ env }: HonoContext): { incoming: IncomingMessage; outgoing: ServerResponse } {
  const { incoming, outgoing } = (env ?? {}) as { incoming?: IncomingMessage; outgoing?: ServerResponse }
  if (incoming !== undefined && outgoing !== undefined) return { incoming, outgoing }
  throw new TypeError(
    `Expected a request of @hono/node-server, with \`incoming\` and \`outgoing\` in c.env, got ${shown(env)}`,
  )
}

/** What tells @hono/node-server that there is nothing more to send. */
function alreadySent({ statusCode: status }: ServerResponse): Response {
  const response = new Response(null, { status, headers: { 'x-hono-already-sent': 'true' } })
  // It heeds that only once it has made a true response of it, which is what asking for the body does.
  void response.body
  return response
}

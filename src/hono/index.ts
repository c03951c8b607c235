import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Cache } from '../core/cache/cache.ts'
import { isReplaced, seenThrough } from './request.ts'
import { honoSurroundings, type HonoContext } from './surroundings.ts'
import { ResponseCache } from '../http/response-cache.ts'
import { FetchAnswer } from '../http/server/fetch-answer.ts'
import { incomingOf } from '../http/server/fetch-request.ts'
import type { CacheResponsesOptions } from '../http/options/response-options.ts'

export { cachedServer } from '../http/server/cached-server.ts'
export { purge, type Purge } from '../http/purge.ts'
export type { CacheInfo } from '../http/message/cache-info.ts'
export type { HonoContext }
export type { CacheResponsesOptions, PerRequest } from '../http/options/response-options.ts'

/** A middleware of Hono. */
export type HonoMiddleware = (context: HonoContext, next: () => Promise<void>) => Promise<Response | undefined>

/**
 * Creates a middleware that caches whole responses: the handler behind it runs once for the whole fleet.
 * `Cache-Control` of the response applies (RFC 9111, as a shared cache).
 * @param cache made by `createCache`; responses live in its store, with its namespace and tags
 * @param options each with a default; `user` receives the context, other functions the request of node:http
 *   (`c.env.incoming`), which is made of the `Request` where the server has none
 * @throws TypeError for a cache that was not made by `createCache`, an unknown option or an invalid value
 * @example
 * app.get('/products/:id', cacheResponses(cache, { ttl: '1m' }), async (c) => c.json(await db.product(c.req.param('id'))))
 */
export function cacheResponses<Context extends HonoContext = HonoContext>(
  cache: Cache,
  options: CacheResponsesOptions<IncomingMessage, Context> = {},
): HonoMiddleware {
  const responses = new ResponseCache('cacheResponses', cache, options)
  const isEnvShared = options.shared?.includes('c.env') === true
  return async (context, next) => {
    const { raw } = context.req
    const served = messagesOf(context)
    const incoming = served?.incoming ?? incomingOf(raw)
    const made = served === null ? new FetchAnswer(incoming, { isUntilRead: true }) : null
    const outgoing = served?.outgoing ?? (made as FetchAnswer)
    // Lines of earlier middleware belong to every answer, including cached ones, but Hono holds them back until the
    // handler's answer is sent.
    const { headers, status } = context.newResponse(null)
    for (const [name, value] of headers) outgoing.appendHeader(name, value)
    const said = new Set(headers.keys())
    const about = { outgoing: served?.outgoing ?? null, status, said, isEnvShared }
    const surroundings = honoSurroundings(context, incoming, about)
    const sent = new Set(isReplaced(raw) ? Object.keys(incoming.headers) : [])
    const forget = (): void => {
      for (const name of said) {
        if (outgoing.hasHeader(name)) outgoing.removeHeader(name)
        // A detached response never got the line, and the answer for the cache must not have it.
        else context.header(name)
      }
    }
    const run = async (): Promise<void> => {
      forget()
      context.req.raw = seenThrough(raw, incoming, sent)
      await next()
    }
    if (made === null)
      return (await responses.handled(incoming, outgoing, run, surroundings)) ? undefined : alreadySent(outgoing)
    const fetched = async (): Promise<Response> => {
      // Not for a refresh, whose response is not that of a client.
      const again = [...headers].filter(([name]) => outgoing.hasHeader(name))
      forget()
      forgetAnswer(context)
      for (const [name] of again) context.header(name)
      for (const [name, value] of again) context.header(name, value, { append: true })
      await next()
      return context.res
    }
    const lost = (error: unknown): void => responses.failed(incoming, error)
    const answered = (): void => void made.answered(raw, fetched, lost)
    void responses.handle(incoming, made, answered, surroundings)
    const answer = await made.sent(raw)
    forgetAnswer(context)
    return answer
  }
}

/** Takes the answer of a context away: Hono mixes its fields with those of the next one. */
function forgetAnswer(context: HonoContext): void {
  context.res = undefined as never
  context.finalized = false
}

/** The messages of node:http behind a request; `null` if there are none. */
function messagesOf({ env }: HonoContext): { incoming: IncomingMessage; outgoing: ServerResponse } | null {
  const { incoming, outgoing } = (env ?? {}) as { incoming?: IncomingMessage; outgoing?: ServerResponse }
  return incoming === undefined || outgoing === undefined ? null : { incoming, outgoing }
}

/** Creates the response that tells @hono/node-server that the answer was already sent. */
function alreadySent({ statusCode: status }: ServerResponse): Response {
  const response = new Response(null, { status, headers: { 'x-hono-already-sent': 'true' } })
  // @hono/node-server looks for the field only on a full `Response`, and reading the body turns the lightweight one
  //   into it.
  void response.body
  return response
}

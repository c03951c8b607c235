import type { IncomingMessage } from 'node:http'
import type { Cache } from '../core/cache/cache.ts'
import { fastifySurroundings, readConstraints, type HookReply, type HookRequest } from './surroundings.ts'
import { ResponseCache } from '../http/response-cache.ts'
import type { CacheResponsesOptions } from '../http/options/response-options.ts'

export { cachedServer } from '../http/server/cached-server.ts'
export { purge, type Purge } from '../http/purge.ts'
export type { CacheInfo } from '../http/message/cache-info.ts'
export type { HookReply, HookRequest }
export type { CacheResponsesOptions, PerRequest } from '../http/options/response-options.ts'

/** An `onRequest` hook of Fastify. */
export type OnRequestHook = (request: HookRequest, reply: HookReply, done: (error?: Error) => void) => void

/**
 * Creates an `onRequest` hook that caches whole responses, for an app, a plugin or a route: the handler and the later
 * hooks run once for the whole fleet. `Cache-Control` of the response applies (RFC 9111, as a shared cache).
 * @param cache made by `createCache`; responses live in its store, with its namespace and tags
 * @param options each with a default; `user` receives the request, other functions that of node:http (`request.raw`)
 * @throws TypeError for a cache that was not made by `createCache`, an unknown option or an invalid value
 * @example
 * app.get('/products/:id', { onRequest: cacheResponses(cache, { ttl: '1m' }) }, (request) => db.product(request.params.id))
 */
export function cacheResponses<Request extends HookRequest = HookRequest>(
  cache: Cache,
  options: CacheResponsesOptions<IncomingMessage, Request> = {},
): OnRequestHook {
  const responses = new ResponseCache('cacheResponses', cache, options)
  return (request, reply, done) => {
    const { raw } = reply
    // Lines of earlier hooks belong to every answer, including cached ones, but Fastify holds them back until the
    // handler's answer is sent.
    const said = Object.entries(reply.getHeaders()).filter(([name, value]) => value !== raw.getHeader(name))
    for (const [name, value = ''] of said) raw.setHeader(name, value)
    const surroundings = fastifySurroundings(
      request,
      reply,
      said.map(([name]) => name),
    )
    const run = (): void => {
      for (const [name] of said) {
        if (raw.hasHeader(name)) raw.removeHeader(name)
        // A detached response never got the line, and the answer for the cache must not have it.
        else reply.removeHeader(name)
      }
      readConstraints(request)
      done()
    }
    void responses.handle(request.raw, raw, run, surroundings)
  }
}

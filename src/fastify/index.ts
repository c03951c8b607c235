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

/** A hook of Fastify that is called when a request has come. */
export type OnRequestHook = (request: HookRequest, reply: HookReply, done: (error?: Error) => void) => void

/**
 * A hook `onRequest` that caches whole responses, of an app, a plugin or a route: what comes after it runs once for the whole
 * fleet. `Cache-Control` of a response decides (RFC 9111, for a shared cache).
 * @param cache made by `createCache`; responses live in its store, with its namespace and tags
 * @param options each with a default; `user` is given the request, other functions that of node:http (`request.raw`)
 * @throws TypeError for what is no such cache, an unknown option or a value it cannot have
 */
export function cacheResponses<Request extends HookRequest = HookRequest>(
  cache: Cache,
  options: CacheResponsesOptions<IncomingMessage, Request> = {},
): OnRequestHook {
  const responses = new ResponseCache('cacheResponses', cache, options)
  return (request, reply, done) => {
    const { raw } = reply
    // What hooks before it have said is said with each answer, and Fastify keeps it to itself until the handler's is sent.
    const said = Object.entries(reply.getHeaders()).filter(([name, value]) => value !== raw.getHeader(name))
    for (const [name, value = ''] of said) raw.setHeader(name, value)
    const run = (): void => {
      for (const [name] of said) {
        if (raw.hasHeader(name)) raw.removeHeader(name)
        // A response for the cache alone, to which nobody has said it.
        else reply.removeHeader(name)
      }
      readConstraints(request)
      done()
    }
    void responses.handle(request.raw, raw, run, fastifySurroundings(request, reply))
  }
}

import type { IncomingMessage, OutgoingHttpHeader, ServerResponse } from 'node:http'
import type { Cache } from '../core/cache.ts'
import { ResponseCache } from './response-cache.ts'
import type { CacheResponsesOptions } from './response-options.ts'

export { cachedServer } from './cached-server.ts'
export { purge, type Purge } from './purge.ts'
export type { CacheInfo } from './cache-info.ts'
export type { CacheResponsesOptions, PerRequest } from './response-options.ts'

/** What is used of a request of Fastify 4 or 5. */
export interface HookRequest {
  readonly raw: IncomingMessage
  readonly routeOptions: unknown
}

/** What is used of a reply of Fastify 4 or 5. */
export interface HookReply {
  readonly raw: ServerResponse
  getHeaders(): Record<string, OutgoingHttpHeader | undefined>
  removeHeader(name: string): unknown
}

/** A hook of Fastify that is called when a request has come. */
export type OnRequestHook = (request: HookRequest, reply: HookReply, done: (error?: Error) => void) => void

/**
 * A hook `onRequest` that caches whole responses, of an app, a plugin or a route: what comes after it runs once for the whole
 * fleet. `Cache-Control` of a response decides (RFC 9111, for a shared cache).
 * @param cache made by `createCache`; responses live in its store, with its namespace and tags
 * @param options each with a default; functions are given requests of node:http (`request.raw`)
 * @throws TypeError for what is no such cache, an unknown option or a value it cannot have
 */
export function cacheResponses(cache: Cache, options: CacheResponsesOptions = {}): OnRequestHook {
  const responses = new ResponseCache('cacheResponses', cache, options)
  return (request, reply, done) => {
    const { raw } = reply
    // What hooks before it have said is said with each answer, and Fastify keeps it to itself until the handler's is sent.
    const said = Object.entries(reply.getHeaders()).filter(([name, value]) => value !== raw.getHeader(name))
    for (const [name, value = ''] of said) raw.setHeader(name, value)
    void responses.handle(request.raw, raw, () => {
      for (const [name] of said) {
        if (raw.hasHeader(name)) raw.removeHeader(name)
        // A response for the cache alone, to which nobody has said it.
        else reply.removeHeader(name)
      }
      // Where routes differ by `Accept-Version`, this reads it: it selects the answer.
      void request.routeOptions
      done()
    })
  }
}

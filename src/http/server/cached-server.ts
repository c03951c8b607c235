/*
 * Room: server. A node:http server with a cache before the application.
 *
 * Reading order: cached-server.ts (`cachedServer`), express-surroundings.ts (the inputs of a request of Express or of
 * node:http alone), express-route.ts (which of two places with one path) and express-layers.ts (the layers of an app).
 */
import { timers } from '../../core/time/clock.ts'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { Cache } from '../../core/cache/cache.ts'
import { formatValue } from '../../core/time/duration.ts'
import { freshSurroundings } from './express-surroundings.ts'
import { ResponseCache } from '../response-cache.ts'
import type { CacheResponsesOptions } from '../options/response-options.ts'

/**
 * Creates a node:http server that answers from the cache before the application sees the request: like `cacheResponses`
 * as the first middleware, but several times as fast, because Express costs more than a hit. The server does not listen
 * yet.
 * @param app the result of `express()`, or any other request listener
 * @param cache made by `createCache`; responses live in its store, with its namespace and tags
 * @param options the options of `cacheResponses`, each with a default; functions receive requests of node:http
 * @returns an ordinary `Server` of node:http
 * @throws TypeError for an app that is not a function, a cache that was not made by `createCache`, an unknown option or
 *   an invalid value
 */
export function cachedServer(
  app: RequestListener,
  cache: Cache,
  options: CacheResponsesOptions<IncomingMessage, IncomingMessage> = {},
): Server {
  if (typeof app !== 'function')
    throw new TypeError(`Expected \`app\` to be a listener for requests, got ${formatValue(app)}`)
  const responses = new ResponseCache('cachedServer', cache, options)
  const listener: RequestListener = (request, response) => {
    const run = (): void => {
      try {
        app(request, response)
      } catch (error) {
        // As without a cache, an error of the app is an uncaught exception of the process.
        response.destroy()
        timers.nextTick(() => {
          throw error
        })
      }
    }
    try {
      void responses.handle(request, response, run, freshSurroundings(request))
    } catch (error) {
      responses.failed(request, error)
      response.writeHead(500, { 'Content-Length': 0 }).end()
    }
  }
  return createServer(listener)
}

import { createServer as createHttpServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { Cache } from '../../core/cache/cache.ts'
import { formatValue } from '../../core/time/duration.ts'
import { createServer, isExpressApp, type ExpressApp } from './express-server.ts'
import { freshSurroundings } from './express-surroundings.ts'
import { ResponseCache } from '../response-cache.ts'
import type { CacheResponsesOptions } from '../options/response-options.ts'

/**
 * A node:http server that answers from what is stored before the application sees the request: the same as `cacheResponses` at
 * its very beginning, and several times as fast, for Express costs more than a hit. It does not listen yet.
 * @param app what `express()` returns, for which it is as fast as `createServer(app)`; or any listener for requests
 * @param cache made by `createCache`; responses live in its store, with its namespace and tags
 * @param options those of `cacheResponses`, each with a default; functions are given requests of node:http
 * @returns the server, a `Server` of node:http as any other
 * @throws TypeError for what is no application or no such cache, an unknown option or a value it cannot have
 */
export function cachedServer(
  app: ExpressApp,
  cache: Cache,
  options: CacheResponsesOptions<IncomingMessage, IncomingMessage> = {},
): Server {
  if (typeof app !== 'function')
    throw new TypeError(`Expected \`app\` to be a listener for requests, got ${formatValue(app)}`)
  const responses = new ResponseCache('cachedServer', cache, options)
  const listener: RequestListener = (request, response) => {
    const run = (): void => {
      try {
        void app(request, response)
      } catch (error) {
        // As without a cache: it is nobody's but the process's.
        response.destroy()
        process.nextTick(() => {
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
  return isExpressApp(app) ? createServer(Object.assign(listener, prototypesOf(app))) : createHttpServer(listener)
}

function prototypesOf({ request, response }: ExpressApp): Pick<ExpressApp, 'request' | 'response'> {
  return { request: request as object, response: response as object }
}

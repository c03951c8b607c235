import { once } from 'node:events'
import {
  createServer,
  request as askOf,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { createAdaptorServer, type HttpBindings } from '@hono/node-server'
import { fastify } from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { inject } from 'vitest'
import { cacheResponses as ofFastify } from '../../../src/fastify/index.ts'
import { cacheResponses as ofFetch, type FetchAsker } from '../../../src/fetch/index.ts'
import { cacheResponses as ofHono } from '../../../src/hono/index.ts'
import { cacheResponses as ofKoa } from '../../../src/koa/index.ts'
import type { CacheResponsesOptions } from '../../../src/express/index.ts'
import type { Cache } from '../../../src/index.ts'
import { fetchServer } from './fetch-server.ts'

/** Whose middleware stands before the handlers of a test. */
export type FrameName = 'express' | 'koa' | 'fastify' | 'hono' | 'fetch'

declare module 'vitest' {
  interface ProvidedContext {
    /** In the projects that run the suites of `http` once more. */
    frame: FrameName
  }
}

/** Makes a server of a framework, with its own middleware and a listener of node:http behind it. It does not listen yet. */
export type Frame = (listener: RequestListener, cache: Cache, options: CacheResponsesOptions) => Promise<Server>

const frames: Record<Exclude<FrameName, 'express'>, Frame> = {
  async koa(listener, cache, options) {
    const app = new Koa()
    app.silent = true
    app.use(ofKoa(cache, options))
    app.use(async (ctx) => {
      ctx.respond = false
      ctx.res.statusCode = 200
      allowListeners(ctx.res)
      listener(ctx.req, ctx.res)
      await closed(ctx.res)
    })
    return createServer(app.callback())
  },

  async fastify(listener, cache, options) {
    const app = fastify()
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', (_request, _payload, done) => done(null))
    app.addHook('onRequest', ofFastify(cache, options))
    // Unlike a route, for every method.
    app.setNotFoundHandler((request, reply) => {
      reply.hijack()
      listener(request.raw, reply.raw)
    })
    await app.ready()
    return app.server
  },

  async hono(listener, cache, options) {
    const app = new Hono<{ Bindings: HttpBindings }>()
    app.use(ofHono(cache, options))
    app.all('*', async ({ env: { incoming, outgoing } }) => {
      allowListeners(outgoing)
      listener(incoming, outgoing)
      await closed(outgoing)
      // To HEAD, RESPONSE_ALREADY_SENT is sent once more: Hono makes a copy of it, which has lost what it says.
      const sent = new Response(null, { headers: { 'x-hono-already-sent': 'true' } })
      void sent.body
      return sent
    })
    return createAdaptorServer({ fetch: app.fetch }) as Server
  },

  async fetch(listener, cache, options) {
    const cached = ofFetch(cache, options as unknown as CacheResponsesOptions<Request, FetchAsker>)
    const behind = createServer(listener)
    await once(behind.listen(0, '127.0.0.1'), 'listening')
    const { port } = behind.address() as AddressInfo
    const server = fetchServer(async (request) => await cached(request, () => forwarded(request, port)))
    server.once('close', () => behind.close())
    return server
  },
}

/** Has a request answered by a server of node:http; `fetch` would add fields of its own, and decode the body. */
async function forwarded({ url, method, headers, body }: Request, port: number): Promise<Response> {
  const { pathname, search } = new URL(url)
  const fields = Object.fromEntries(headers)
  const asked = askOf({ port, path: pathname + search, method, headers: fields, agent: false })
  if (body === null) asked.end()
  else Readable.fromWeb(body as never).pipe(asked)
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  const { statusCode: status = 200, statusMessage: statusText = '', rawHeaders } = answer
  const said = new Headers()
  rawHeaders.forEach((name, index) => {
    const isOfConnection = ['connection', 'keep-alive', 'transfer-encoding'].includes(name.toLowerCase())
    if (index % 2 === 0 && !isOfConnection) said.append(name, rawHeaders[index + 1] ?? '')
  })
  const isBodiless = method === 'HEAD' || [204, 205, 304].includes(status)
  if (isBodiless) answer.resume()
  return new Response(isBodiless ? null : (Readable.toWeb(answer) as ReadableStream), {
    status,
    statusText,
    headers: said,
  })
}

/** Those of the framework, of the frame and of a stream that is piped are more than ten. */
function allowListeners(response: ServerResponse): void {
  response.setMaxListeners(20)
}

/** Whatever errors it tells of before. */
async function closed(response: ServerResponse): Promise<void> {
  await new Promise<void>((resolve) => void response.once('close', resolve))
}

/** The frame of the project that runs. */
export const frame: FrameName = inject('frame') ?? 'express'

/** What makes a server with this frame's middleware; `null` for Express, whose apps can have it themselves. */
export const framed: Frame | null = frame === 'express' ? null : frames[frame]

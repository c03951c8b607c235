import { createServer, type RequestListener, type Server } from 'node:http'
import { createAdaptorServer, getRequestListener } from '@hono/node-server'
import express from 'express'
import { fastify, type FastifyInstance } from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { cachedServer, cacheResponses as ofExpress, type CacheResponsesOptions } from '../../../src/express/index.ts'
import { cachedServer as beforeFastify, cacheResponses as ofFastify } from '../../../src/fastify/index.ts'
import { cachedServer as beforeHono, cacheResponses as ofHono } from '../../../src/hono/index.ts'
import { cachedServer as beforeKoa, cacheResponses as ofKoa } from '../../../src/koa/index.ts'
import type { Cache } from '../../../src/index.ts'

/** The content of a page. */
export interface Page {
  readonly text: string
  readonly cacheControl: string
}

/** Makes a page. @param method of the request, as the handler sees it */
export type MakePage = (method: string) => Promise<Page>

/** A server with one page at `/`, for GET and HEAD, behind a cache. It does not listen yet. */
export type MakeFrame = (page: MakePage, cache: Cache, options: CacheResponsesOptions) => Promise<Server>

/** Every supported framework, with the cache in the app and before the app. */
export const everyFrame: readonly (readonly [name: string, make: MakeFrame])[] = [
  [
    'node:http',
    async (page, ...cached) => {
      const [middleware, listener] = [ofExpress(...cached), listenerOf(page)]
      return createServer((request, response) => middleware(request, response, () => listener(request, response)))
    },
  ],
  ['Express 5', async (page, ...cached) => createServer(expressOf(express, page, ofExpress(...cached)))],
  ['Koa 3', async (page, ...cached) => createServer(koaOf(Koa, page, ofKoa(...cached)))],
  ['Fastify 5', async (page, ...cached) => await fastifyOf(fastify(), page, ofFastify(...cached))],
  ['Hono', async (page, ...cached) => createAdaptorServer(honoOf(page, ofHono(...cached))) as Server],
  ['before node:http', async (page, ...cached) => cachedServer(listenerOf(page), ...cached)],
  ['before Express 5', async (page, ...cached) => cachedServer(expressOf(express, page), ...cached)],
  ['before Koa 3', async (page, ...cached) => beforeKoa(koaOf(Koa, page), ...cached)],
  ['before Fastify 5', async (page, ...cached) => await fastifyOf(fastify(before(...cached)), page)],
  ['before Hono', async (page, ...cached) => beforeHono(getRequestListener(honoOf(page).fetch), ...cached)],
]

function listenerOf(page: MakePage): RequestListener {
  return async ({ method = '' }, response) => {
    const { text, cacheControl } = await page(method)
    response.setHeader('Cache-Control', cacheControl).end(text)
  }
}

function expressOf(
  framework: typeof express,
  page: MakePage,
  middleware?: ReturnType<typeof ofExpress>,
): RequestListener {
  const app = framework()
  // A 304 for its own ETag would hide an empty body.
  app.disable('etag')
  if (middleware !== undefined) app.use(middleware)
  app.get('/', async (req, res) => {
    const { text, cacheControl } = await page(req.method)
    res.set('Cache-Control', cacheControl).send(text)
  })
  return app
}

function koaOf(Framework: typeof Koa, page: MakePage, middleware?: ReturnType<typeof ofKoa>): RequestListener {
  const app = new Framework()
  if (middleware !== undefined) app.use(middleware)
  app.use(async (ctx) => {
    const { text, cacheControl } = await page(ctx.method)
    ctx.set('Cache-Control', cacheControl)
    ctx.body = text
  })
  return app.callback()
}

function before(...cached: [Cache, CacheResponsesOptions]): { serverFactory: (handler: RequestListener) => Server } {
  return { serverFactory: (handler) => beforeFastify(handler, ...cached) }
}

async function fastifyOf(app: FastifyInstance, page: MakePage, hook?: ReturnType<typeof ofFastify>): Promise<Server> {
  if (hook !== undefined) app.addHook('onRequest', hook)
  app.get('/', async (request, reply) => {
    const { text, cacheControl } = await page(request.method)
    void reply.header('Cache-Control', cacheControl)
    return text
  })
  await app.ready()
  return app.server
}

function honoOf(page: MakePage, middleware?: ReturnType<typeof ofHono>): Hono {
  const app = new Hono()
  if (middleware !== undefined) app.use(middleware)
  app.get('/', async (c) => {
    const { text, cacheControl } = await page(c.req.method)
    return c.text(text, 200, { 'Cache-Control': cacheControl })
  })
  return app
}

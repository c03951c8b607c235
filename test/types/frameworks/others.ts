/** In Koa, Fastify and Hono, options are functions of what handlers are given, and handlers keep their types. */
import { createCache } from 'herdless'
import { cacheResponses as ofFastify } from 'herdless/fastify'
import { cacheResponses as ofHono } from 'herdless/hono'
import { cacheResponses as ofKoa } from 'herdless/koa'
import { fastify, type FastifyRequest } from 'fastify'
import { Hono, type Context } from 'hono'

const cache = createCache()

ofKoa(cache, { user: (ctx) => ctx.get('x-user'), key: (req) => req.originalUrl })

const app = fastify()
app.addHook('onRequest', ofFastify(cache, { user: (request) => request.ip, key: (req) => req.url ?? '' }))
app.get<{ Params: { id: string } }>('/:id', { onRequest: ofFastify(cache) }, async (request) => request.params.id)
ofFastify<FastifyRequest>(cache, { user: (request) => request.hostname })

new Hono<{ Variables: { user: string } }>()
  .use(ofHono(cache, { user: (c) => c.req.header('x-user') }))
  .get('/:id', ofHono(cache, { key: (req) => req.url ?? '' }), (c) => c.text(c.req.param('id') + c.var.user))
ofHono<Context<{ Variables: { user: string } }>>(cache, { user: (c) => c.var.user })

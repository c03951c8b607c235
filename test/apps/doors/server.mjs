/** A server behind the door that DOOR names. `/value/<id>` answers what the source says, `/change/<id>` invalidates it. */
import { createServer } from 'node:http'
import { serve as serveFetch } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { createCache } from 'herdless'
import { cacheResponses as ofExpress } from 'herdless/express'
import { cacheResponses as ofFastify } from 'herdless/fastify'
import { cacheResponses as ofFetch } from 'herdless/fetch'
import { cacheResponses as ofHono } from 'herdless/hono'
import { cacheResponses as ofKoa } from 'herdless/koa'
import { redisStore } from 'herdless/redis'
import { Hono } from 'hono'
import { Redis } from 'ioredis'
import Koa from 'koa'

const { DOOR = '', REDIS_URL = '', NAMESPACE = '', SOURCE_URL = '', TTL = '', GRACE = '' } = process.env
const [ttl, grace] = [Number(TTL), Number(GRACE)]

const redis = new Redis(REDIS_URL)
redis.on('error', () => {})
const cache = createCache({ store: redisStore(redis), namespace: NAMESPACE, ttl, grace, warnings: false })

/** @param {string} id @returns {Promise<string>} */
const ask = async (id) => await (await fetch(`${SOURCE_URL}/${id}`)).text()

/** @param {string} path */
const idOf = (path) => path.split('/')[2] ?? ''

/** Answers behind `value`, a door of functions. @param {(id: string) => Promise<string>} value */
function serveValues(value) {
  createServer(async (request, response) => {
    const id = idOf(request.url ?? '')
    if (request.method === 'GET') return void response.end(await value(id))
    await cache.invalidate(id)
    response.end('changed')
  }).listen(0, '127.0.0.1', said)
}

/** @this {import('node:net').Server} */
function said() {
  console.log(`listens on ${/** @type {import('node:net').AddressInfo} */ (this.address()).port}`)
}

/** @param {string} id */
const changed = async (id) => {
  await cache.invalidateTags([id])
  return 'changed'
}

/** @type {Record<string, () => unknown>} */
const doors = {
  getOrLoad: () => serveValues((id) => cache.getOrLoad(id, () => ask(id))),
  begin: () =>
    serveValues(async (id) => {
      const begun = await cache.begin(id)
      if (begun.state !== 'lead') return /** @type {string} */ (begun.value)
      try {
        const value = await ask(id)
        await begun.fill(value)
        return value
      } catch (error) {
        await begun.fail(error)
        throw error
      }
    }),
  Express: () => {
    const app = express()
    app.use('/value', ofExpress(cache, { ttl, grace }))
    app.get('/value/:id', async (req, res) => res.set('Cache-Tag', req.params.id).send(await ask(req.params.id)))
    app.post('/change/:id', async (req, res) => res.send(await changed(req.params.id)))
    app.listen(0, '127.0.0.1', said)
  },
  Koa: () => {
    const app = new Koa()
    app.use(ofKoa(cache, { ttl, grace }))
    app.use(async (ctx) => {
      const id = idOf(ctx.path)
      if (ctx.method === 'GET') ctx.set('Cache-Tag', id)
      ctx.body = await (ctx.method === 'GET' ? ask(id) : changed(id))
    })
    app.listen(0, '127.0.0.1', said)
  },
  Fastify: async () => {
    const app = fastify()
    app.addHook('onRequest', ofFastify(cache, { ttl, grace }))
    /** @typedef {{ Params: { id: string } }} OfId */
    app.get('/value/:id', async (/** @type {import('fastify').FastifyRequest<OfId>} */ { params }, reply) => {
      reply.header('Cache-Tag', params.id)
      return await ask(params.id)
    })
    app.post('/change/:id', async (/** @type {import('fastify').FastifyRequest<OfId>} */ { params }) =>
      changed(params.id),
    )
    await app.listen({ port: 0, host: '127.0.0.1' })
    said.call(app.server)
  },
  Hono: () => {
    const app = new Hono()
    app.use(ofHono(cache, { ttl, grace }))
    app.get('/value/:id', async (c) => c.text(await ask(c.req.param('id')), 200, { 'Cache-Tag': c.req.param('id') }))
    app.post('/change/:id', async (c) => c.text(await changed(c.req.param('id'))))
    serveFetch({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => console.log(`listens on ${port}`))
  },
  fetch: () => {
    const withCache = ofFetch(cache, { ttl, grace })
    const handle = (/** @type {Request} */ request) => {
      const id = idOf(new URL(request.url).pathname)
      return withCache(request, async () =>
        request.method === 'GET'
          ? new Response(await ask(id), { headers: { 'Cache-Tag': id } })
          : new Response(await changed(id)),
      )
    }
    serveFetch({ fetch: handle, port: 0, hostname: '127.0.0.1' }, ({ port }) => console.log(`listens on ${port}`))
  },
}

await doors[DOOR]?.()

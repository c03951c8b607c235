import { createServer, type Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import express, { type RequestHandler } from 'express'
import { fastify } from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { describe, expect, test } from 'vitest'
import { cacheResponses as ofExpress, type CacheResponsesOptions } from '../../src/express/index.ts'
import { cacheResponses as ofFastify } from '../../src/fastify/index.ts'
import { cacheResponses as ofHono } from '../../src/hono/index.ts'
import { cacheResponses as ofKoa } from '../../src/koa/index.ts'
import type { Cache } from '../../src/index.ts'
import { siteOn } from './support/site.ts'

type MakeShop = (cache: Cache | null, options: CacheResponsesOptions) => Promise<Server>

/** Shops that answer which item they were asked for, each as it is told by its framework. */
const shops: readonly (readonly [string, MakeShop])[] = [
  ['Express, simple', async (...cached) => shopOfExpress('simple', ...cached)],
  ['Express, extended', async (...cached) => shopOfExpress('extended', ...cached)],
  [
    'Koa',
    async (cache, options) => {
      const app = new Koa()
      if (cache !== null) app.use(ofKoa(cache, options))
      app.use((context) => (context.body = shown(context.query['id'])))
      return createServer(app.callback())
    },
  ],
  ['Fastify', shopOfFastify],
  [
    'Hono',
    async (cache, options) => {
      const app = new Hono()
      if (cache !== null) app.use(ofHono(cache, options))
      app.get('*', (context) => context.text(shown(context.req.queries('id'))))
      return createAdaptorServer(app) as Server
    },
  ],
]

function shopOfExpress(parser: string, cache: Cache | null, options: CacheResponsesOptions): Server {
  const app = express().set('query parser', parser)
  if (cache !== null) app.use(ofExpress(cache, options))
  app.use((req, res) => void res.send(shown(req.query['id'])))
  return createServer(app)
}

async function shopOfFastify(cache: Cache | null, options: CacheResponsesOptions): Promise<Server> {
  const app = fastify()
  if (cache !== null) app.addHook('onRequest', ofFastify(cache, options))
  app.get('*', async (request) => shown((request.query as Record<string, unknown>)['id']))
  await app.ready()
  return app.server
}

/** Shops whose page says the whole address, by each way in which a handler is told it. */
const telling: readonly (readonly [string, (cache: Cache, options: CacheResponsesOptions) => Promise<Server>])[] = [
  ...(['simple', 'extended'] as const).map((parser) => {
    const make = async (cache: Cache, options: CacheResponsesOptions): Promise<Server> => {
      const page: RequestHandler = (req, res) => void res.json([req.url, req.originalUrl, req.query])
      const router = express.Router().get('/page', ofExpress(cache, options), page)
      return createServer(express().set('query parser', parser).use('/shop', router))
    }
    return [`Express, ${parser}`, make] as const
  }),
  [
    'Koa',
    async (cache, options) => {
      const app = new Koa().use(async (context, next) => (void context.query, await next()))
      app.use(ofKoa(cache, options))
      app.use((context) => {
        const { url, originalUrl, href, query, search, URL, request, req } = context
        context.body = [url, originalUrl, href, query, search, URL.href, request.originalUrl, req.url]
      })
      return createServer(app.callback())
    },
  ],
  [
    'Fastify',
    async (cache, options) => {
      const app = fastify()
      app.addHook('onRequest', ofFastify(cache, options))
      app.get('*', async (request) => [request.url, request.originalUrl, request.raw.url, request.query])
      await app.ready()
      return app.server
    },
  ],
  [
    'Hono',
    async (cache, options) => {
      const app = new Hono().use(ofHono(cache, options))
      app.get('*', ({ req, json }) => json([req.url, req.raw.url, req.query(), req.queries()]))
      return createAdaptorServer(app) as Server
    },
  ],
]

function shown(value: unknown): string {
  return JSON.stringify(value) ?? 'no item'
}

/** An odd target, and one that is asked for in good faith. */
const pairs: readonly (readonly [string, string])[] = [
  ['/item?utm=1#&id=7', '/item?id=7'],
  ['/item?id=8#&utm=1', '/item?id=8'],
  ['/item?id[]=7', '/item'],
  ['/item?id%5B%5D=7', '/item'],
  ['/item?id[$gt]=', '/item'],
  ['/item?[id]=7', '/item'],
  ['/item?id.x=7', '/item'],
  ['/item?utm=1;id=7', '/item'],
  ['/item?utm=1;id=7', '/item?utm=1'],
  ['/item?id=1&id=2', '/item?id=2&id=1'],
  ['/item?%69d=7', '/item'],
  ['/item?i%64=7&id=8', '/item?id=8&i%64=7'],
  [`/item?${'utm=1&'.repeat(1_200)}id=7`, '/item?id=7'],
  ['/item?utm=]=&id=7', '/item?id=7'],
  ['/item??id=7', '/item'],
]

describe.each(shops)('%s', (_, make) => {
  test.each([
    ['ignoreQuery', { ignoreQuery: ['utm'] }],
    ['allowQuery', { allowQuery: ['id'] }],
  ] as const)('no odd query is answered with, or answers, another item (%s)', async (_, options) => {
    await using plain = await siteOn(async () => await make(null, {}))
    await using site = await siteOn(async (cache) => await make(cache, { ttl: '1m', ...options }))
    const bothWays = [...pairs, ...pairs.map(([odd, usual]) => [usual, odd] as const)]
    const wanted = new Map<string, string>()
    for (const item of pairs.flat()) wanted.set(item, (await plain.get(item)).text)
    for (const [index, pair] of bothWays.entries()) {
      for (const item of [...pair, ...pair]) {
        const { status, text } = await site.get(item.replace('/item', `/${index}`))
        expect([item, status, text]).toEqual([item, 200, wanted.get(item)])
        await site.stored()
      }
    }
  })
})

describe.each(telling)('an ignored parameter in %s', (_, make) => {
  const options = { ignoreQuery: ['utm_source'], ttl: '1m' } as const

  test('is not on a page that is stored', async () => {
    await using site = await siteOn((cache) => make(cache, options))
    const first = await site.get('/shop/page?utm_source=mail&id=1')
    await site.stored()
    expect(first.cache).toContain('stored')
    expect(first.text).not.toContain('utm_source')
    expect(first.text).toContain('id=1')
    const { text, cache } = await site.get('/shop/page?id=1&utm_source=other')
    expect([text, cache]).toEqual([first.text, expect.stringContaining('hit')])
  })

  test('is there where nothing is stored', async () => {
    await using site = await siteOn((cache) => make(cache, { ...options, skip: () => true }))
    expect((await site.get('/shop/page?utm_source=mail')).text).toContain('utm_source=mail')
  })
})

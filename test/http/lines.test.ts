import { createServer } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import express from 'express'
import { fastify } from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { describe, expect, test } from 'vitest'
import { cacheResponses as ofExpress } from '../../src/express/index.ts'
import { cacheResponses as ofFastify } from '../../src/fastify/index.ts'
import { cacheResponses as ofHono } from '../../src/hono/index.ts'
import { cacheResponses as ofKoa } from '../../src/koa/index.ts'
import type { Cache } from '../../src/index.ts'
import { siteOn } from './support/site.ts'

/*
 * The head that a handler makes where earlier middleware has set lines: a hit must have the same head as the answer
 * that was stored, for another client, too.
 */

const options = { ttl: '1m' } as const

/** What the handler does with the head. */
interface Lines {
  set(name: string, value: string | string[]): unknown
  remove(name: string): unknown
}

type MakeSite = (cache: Cache, change: (lines: Lines) => void) => Promise<ReturnType<typeof createServer>>

/** The client may name a line that stands before the cache, and its value. */
function lineOf(header: (name: string) => string | string[] | undefined): [name: string, value: string] {
  return [header('x-line')?.toString() ?? 'X-Before', header('x-value')?.toString() ?? '1']
}

const frames: Readonly<Record<string, MakeSite>> = {
  Express: async (cache, change) => {
    const app = express()
    app.use((req, res, next) => (res.set(...lineOf((name) => req.get(name))), next()))
    app.use(ofExpress(cache, options))
    app.get('/', (_req, res) => {
      change({ set: (name, value) => res.set(name, value), remove: (name) => res.removeHeader(name) })
      res.send('page')
    })
    return createServer(app)
  },
  Koa: async (cache, change) => {
    const app = new Koa()
    app.use((ctx, next) => (ctx.set(...lineOf((name) => ctx.req.headers[name])), next()))
    app.use(ofKoa(cache, options))
    app.use((ctx) => {
      change({ set: (name, value) => ctx.set(name, value), remove: (name) => ctx.remove(name) })
      ctx.body = 'page'
    })
    return createServer(app.callback())
  },
  Fastify: async (cache, change) => {
    const app = fastify()
    app.addHook('onRequest', async ({ headers }, reply) => void reply.header(...lineOf((name) => headers[name])))
    app.addHook('onRequest', ofFastify(cache, options))
    app.get('/', async (_request, reply) => {
      change({ set: (name, value) => reply.header(name, value), remove: (name) => reply.removeHeader(name) })
      return 'page'
    })
    await app.ready()
    return app.server
  },
  Hono: async (cache, change) => {
    const app = new Hono()
    app.use(async (c, next) => (c.header(...lineOf((name) => c.req.header(name))), await next()))
    app.use(ofHono(cache, options))
    app.get('/', (c) => {
      const set = (name: string, value: string | string[]): void => c.header(name, [value].flat().join(', '))
      change({ set, remove: (name) => c.header(name, undefined) })
      return c.text('page')
    })
    return createAdaptorServer({ fetch: app.fetch }) as ReturnType<typeof createServer>
  },
}

describe.each(Object.entries(frames))('%s', (frame, make) => {
  test('several lines of a field stay, beside a line of earlier middleware', async () => {
    await using site = await siteOn((cache) => make(cache, (lines) => lines.set('Link', ['</a>', '</b>'])))
    const first = await site.get('/')
    await site.stored()
    for (const headers of [{}, { range: 'bytes=0-1' }, { 'if-none-match': String(first.headers['etag']) }]) {
      const again = await site.get('/', headers)
      expect(again.cache).toContain('hit')
      expect([again.headers['link'], again.headers['x-before']]).toEqual(['</a>, </b>', '1'])
    }
  })

  test('a line of earlier middleware that the handler has removed is removed from a hit', async () => {
    await using site = await siteOn((cache) => make(cache, (lines) => lines.remove('X-Before')))
    for (const isHit of [false, true, true]) {
      const { headers, cache } = await site.get('/')
      expect(cache.includes('hit')).toBe(isHit)
      expect(headers['x-before']).toBe(undefined)
      await site.stored()
    }
  })

  // Their lines are kept until the answer is sent, and nothing tells who has set them.
  test.skipIf(['Fastify', 'Hono'].includes(frame))(
    'a line that the handler sets stays, though earlier middleware had set the same for that client',
    async () => {
      await using site = await siteOn((cache) => make(cache, (lines) => lines.set('X-Plan', 'silver')))
      await site.get('/', { 'x-line': 'X-Plan', 'x-value': 'silver' })
      await site.stored()
      for (const value of ['silver', 'gold']) {
        const { headers, cache } = await site.get('/', { 'x-line': 'X-Plan', 'x-value': value })
        expect([cache.includes('hit'), headers['x-plan']]).toEqual([true, 'silver'])
      }
    },
  )
})

describe('Express', () => {
  test('an answer that extends a line of earlier middleware is for its client alone', async () => {
    await using site = await siteOn(async (cache) => {
      const app = express()
      app.use((req, res, next) => (res.set('Link', `</${req.get('x-who')}>`), next()))
      app.get('/', ofExpress(cache, options), (_req, res) => void res.append('Link', '</all>').send('page'))
      return createServer(app)
    })
    for (const who of ['ada', 'bob', 'ada']) {
      const { headers, cache } = await site.get('/', { 'x-who': who })
      expect(headers['link']).toBe(`</${who}>, </all>`)
      expect(cache).not.toMatch(/hit|stored/)
    }
  })

  test('a status that earlier middleware has set is part of the key, also of a refresh', async () => {
    await using site = await siteOn(async (cache) => {
      const app = express()
      app.use((req, res, next) => (res.status(Number(req.get('x-status') ?? 200)), next()))
      app.get('/', ofExpress(cache, { ttl: 1, grace: '1m' }), (_req, res) => void res.send('page'))
      return createServer(app)
    })
    for (const status of [200, 203, 404, 203, 404, 200, 203]) {
      expect((await site.get('/', { 'x-status': String(status) })).status).toBe(status)
      await site.stored()
    }
  })
})

test('a POST that a handler of Koa has ended itself is not ended twice', async () => {
  await using site = await siteOn(async (cache) => {
    const app = new Koa()
    app.use(ofKoa(cache, options))
    app.use((ctx) => {
      ctx.res.statusCode = 201
      ctx.res.end('created')
      expect([ctx.res.writableEnded, ctx.res.finished]).toEqual([true, true])
    })
    app.on('error', (error) => errors.push(error))
    return createServer(app.callback())
  })
  const errors: unknown[] = []
  const caught = (error: unknown): void => void errors.push(error)
  process.on('uncaughtException', caught)
  try {
    const { status, text } = await site.ask('/', { method: 'POST' })
    expect([status, text, errors]).toEqual([201, 'created', []])
  } finally {
    process.off('uncaughtException', caught)
  }
})

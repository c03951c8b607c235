import compression from 'compression'
import express, { type Express } from 'express'
import { Redis } from 'ioredis'
import request from 'supertest'
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest'
import { randomUUID } from 'node:crypto'
import { until } from '../../tools/until.mjs'
import { cacheResponses } from '../../src/express/index.ts'
import { createCache, type Cache } from '../../src/index.ts'
import { redisStore } from '../../src/redis/index.ts'

/** An app as users test theirs: each request has a server of its own. */
describe('the shape of answers', () => {
  let client: Redis
  let cache: Cache
  let app: Express
  let fills: number
  let runs: number

  beforeEach(async () => {
    client = new Redis(inject('redisUrl'))
    cache = createCache({ store: redisStore(client), namespace: randomUUID(), ttl: '1m', commandTimeout: '5s' })
    fills = 0
    runs = 0
    app = express()
    // Errors are what some tests are about: nobody has to read them.
    app.set('env', 'test')
    app.use((_req, _res, next) => {
      runs++
      next()
    })
    cache.on('fill', () => fills++)
    await cache.getOrLoad('warm', () => 1)
    await until('it is warm', () => fills === 1)
    // Servers of supertest have ports of their own, which are not to tell answers apart.
    app.use(cacheResponses(cache, { key: (req) => req.url ?? '' }))
  })

  afterEach(async () => {
    await cache.close()
    client.disconnect()
  })

  async function stored(): Promise<void> {
    await until('the answer is stored', () => fills === 2)
  }

  async function isHit(path: string, coding = 'identity'): Promise<void> {
    await until(`${path} is stored as ${coding}`, async () => {
      const reply = await request(app).get(path).redirects(0).set('Accept-Encoding', coding)
      return String(reply.headers['cache-status']).includes('hit')
    })
  }

  test('json is as Express sends it, from the handler and from the copy', async () => {
    app.get('/product', (_req, res) => void res.json({ id: 7, name: 'tea' }))
    const length = '{"id":7,"name":"tea"}'.length
    const first = await request(app)
      .get('/product')
      .expect(200, { id: 7, name: 'tea' })
      .expect('Content-Type', 'application/json; charset=utf-8')
      .expect('Content-Length', `${length}`)
      .expect('Cache-Status', 'herdless; fwd=uri-miss; stored')
    expect(first.headers).not.toHaveProperty('age')
    await stored()
    const again = await request(app)
      .get('/product')
      .expect(200, { id: 7, name: 'tea' })
      .expect('Content-Type', 'application/json; charset=utf-8')
      .expect('Content-Length', `${length}`)
      .expect('Age', '0')
      .expect('Cache-Status', /^herdless; hit; ttl=\d+$/)
    expect(again.headers['etag']).toBe(first.headers['etag'])
    expect(again.headers['x-powered-by'], 'what is said before the cache is said again').toBe('Express')
    expect(Date.parse(String(again.headers['date']))).not.toBeNaN()
  })

  test('HEAD is GET without its body, and a condition that holds is 304 without both', async () => {
    app.get('/text', (_req, res) => void res.type('text').send('a text'))
    const { headers } = await request(app).get('/text').expect(200, 'a text')
    await stored()
    const head = await request(app).head('/text').expect(200).expect('Content-Length', '6')
    expect(head.text).toBeUndefined()
    const same = await request(app)
      .get('/text')
      .set('If-None-Match', String(headers['etag']))
      .expect(304, '')
      .expect('ETag', String(headers['etag']))
    expect(same.headers).not.toHaveProperty('content-length')
    expect(same.headers).not.toHaveProperty('content-type')
    await request(app).get('/text').set('Range', 'bytes=2-').expect(206, 'text').expect('Content-Range', 'bytes 2-5/6')
    await request(app).get('/text').set('Range', 'bytes=9-').expect(416).expect('Content-Range', 'bytes */6')
  })

  test('a redirect, a 404 that says how long, and no content are stored as they are', async () => {
    app.get('/old', (_req, res) => res.redirect(301, '/new'))
    app.get('/gone', (_req, res) => void res.set('Cache-Control', 'max-age=60').status(404).send('no such page'))
    app.get('/none', (_req, res) => void res.set('Cache-Control', 'max-age=60').sendStatus(204))
    for (const [path, status] of [
      ['/old', 301],
      ['/gone', 404],
      ['/none', 204],
    ] as const) {
      const first = await request(app).get(path).redirects(0).expect(status)
      await isHit(path)
      const again = await request(app)
        .get(path)
        .redirects(0)
        .expect(status)
        .expect('Cache-Status', /^herdless; hit; /)
      expect([again.text, again.headers['location']]).toEqual([first.text, first.headers['location']])
    }
  })

  test('an error has the page that Express makes, each time', async () => {
    app.get('/broken', () => {
      throw new Error('out of order')
    })
    for (let round = 1; round <= 2; round++) {
      const reply = await request(app)
        .get('/broken')
        .expect(500)
        .expect('Content-Type', 'text/html; charset=utf-8')
        .expect('Cache-Status', 'herdless; fwd=uri-miss')
      expect(reply.text).toContain('out of order')
      expect(reply.headers).not.toHaveProperty('age')
      expect(runs).toBe(round)
    }
  })

  test('what is for one client says why', async () => {
    app.get('/mine', (_req, res) => void res.cookie('session', '1').send('mine'))
    await request(app)
      .get('/mine')
      .expect('Set-Cookie', /session=1/)
      .expect('Cache-Status', /; detail=set-cookie$/)
    await request(app).get('/any').set('Cookie', 'a=b').expect('Cache-Status', 'herdless; fwd=bypass; detail=cookie')
    await request(app)
      .get('/any')
      .set('Authorization', 'Basic x')
      .expect('Cache-Status', 'herdless; fwd=bypass; detail=authorization')
    expect(fills).toBe(1)
  })

  test('each encoding has a copy of its own, compressed once, and no strong tag in common', async () => {
    app.use(compression({ threshold: 0 }))
    const text = '<p>tea</p>'.repeat(50)
    let made = 0
    app.get('/page', (_req, res) => void res.send((made++, text)))
    app.get(
      '/raw',
      (_req, res) => (made++, res.writeHead(200, { 'Content-Type': 'text/html' }), res.write(text), void res.end()),
    )
    for (const path of ['/page', '/raw']) {
      made = 0
      const tags = new Set<string>()
      for (const coding of ['gzip', 'identity', 'gzip', 'identity']) {
        await isHit(path, coding)
        const { headers } = await request(app).get(path).set('Accept-Encoding', coding).expect(200, text)
        expect(headers['content-encoding'] ?? 'identity').toBe(coding)
        const tag = String(headers['etag'])
        expect(tag).toMatch(/^W\//)
        tags.add(`${coding} ${tag}`)
        await request(app).get(path).set('Accept-Encoding', coding).set('If-None-Match', tag).expect(304)
      }
      expect([made, tags.size]).toEqual([2, 2])
    }
  })
})

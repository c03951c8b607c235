import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import express from 'express'
import { describe, expect, test } from 'vitest'
import { cachedServer, type CacheResponsesOptions } from '../../src/express/index.ts'
import { createCache, memoryStore } from '../../src/index.ts'
import { siteOn, type Site } from './support/site.ts'

async function cached(app: RequestListener, options: CacheResponsesOptions = {}): Promise<Site> {
  const shape = { cache: { store: memoryStore(), near: {}, ttl: '1h' } } as const
  return await siteOn(async (cache) => cachedServer(app, cache, options), shape)
}

describe('before an app of Express', () => {
  function shop() {
    const app = express()
    const seen: string[] = []
    app.use((req, _res, next) => (seen.push(req.path), next()))
    app.get('/page', (req, res) => res.json({ ip: req.ip, query: req.query, run: seen.length }))
    app.get('/private', (_req, res) => res.set('Cache-Control', 'private').send(`${seen.length}`))
    app.post('/page', (_req, res) => res.sendStatus(204))
    return { app, seen }
  }

  test('a hit does not reach it, and is the same as it would be behind', async () => {
    const { app, seen } = shop()
    await using site = await cached(app)
    const first = await site.get('/page?a=1')
    expect(JSON.parse(first.text)).toEqual({ ip: '127.0.0.1', query: { a: '1' }, run: 1 })
    const hit = await site.get('/page?a=1')
    expect(hit.text).toBe(first.text)
    expect(hit.headers).toEqual({
      ...first.headers,
      // Node.js itself dates the first answer. A second may begin before the answer is stored, and that is the date of all hits.
      date: (await site.get('/page?a=1')).headers['date'],
      age: expect.stringMatching(/^\d+$/),
      'cache-status': expect.stringMatching(/^herdless; hit/),
    })
    expect(seen).toEqual(['/page'])
  })

  test('what is not for the cache reaches it, and what changes something voids', async () => {
    const { app, seen } = shop()
    await using site = await cached(app)
    await site.get('/page')
    await site.get('/page', { cookie: 'a=1' })
    expect([(await site.get('/private')).text, (await site.get('/private')).text]).toEqual(['3', '4'])
    expect((await site.ask('/page', { method: 'POST' })).status).toBe(204)
    expect(JSON.parse((await site.get('/page')).text)).toMatchObject({ run: 6 })
    expect((await site.get('/nowhere')).status).toBe(404)
    expect(seen).toEqual(['/page', '/page', '/private', '/private', '/page', '/page', '/nowhere'])
  })
})

describe('before a listener of node:http', () => {
  test('an option that throws is a 500, and told', async () => {
    const key = (): string => {
      throw new Error('no key')
    }
    await using site = await cached((_request, response) => void response.end('page'), { key })
    const told: unknown[] = []
    site.caches[0]?.on('failure', ({ error }) => told.push(error))
    expect((await site.get('/')).status).toBe(500)
    expect(told).toMatchObject([{ code: 'LOAD_FAILED', cause: { message: 'no key' } }])
  })

  test('a listener that throws is an uncaught exception, as without a cache', async () => {
    const listeners = process.listeners('uncaughtException')
    process.removeAllListeners('uncaughtException')
    try {
      await using site = await cached(() => {
        throw new Error('of the listener')
      })
      const thrown = once(process, 'uncaughtException')
      await expect(site.get('/')).rejects.toThrow('socket hang up')
      expect(await thrown).toMatchObject([{ message: 'of the listener' }, 'uncaughtException'])
    } finally {
      for (const listener of listeners) process.on('uncaughtException', listener)
    }
  })
})

test.for([
  [5, 'Expected `app` to be a listener for requests, got 5 (number)'],
  [null, 'got null'],
  [{}, 'got an object'],
] as const)('%o is no app', ([app, message]) => {
  const cache = createCache()
  expect(() => cachedServer(app as unknown as RequestListener, cache)).toThrow(TypeError)
  expect(() => cachedServer(app as unknown as RequestListener, cache)).toThrow(message)
})

import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { describe, expect, test } from 'vitest'
import { cachedServer, cacheResponses, type CacheResponsesOptions } from '../../src/express/index.ts'
import { createCache } from '../../src/index.ts'

/** A listening server, and what it answers. */
async function listening(server: Server, close: () => Promise<unknown> = async () => undefined) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const get = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(base + path, init)
    return { status: response.status, text: await response.text(), headers: Object.fromEntries(response.headers) }
  }
  const dispose = async (): Promise<void> => {
    server.closeAllConnections()
    server.close()
    await close()
  }
  return { get, [Symbol.asyncDispose]: dispose }
}

async function cached(app: RequestListener, options: CacheResponsesOptions = {}) {
  const cache = createCache({ near: {}, ttl: '1h' })
  const site = await listening(cachedServer(app, cache, options), () => cache.close())
  return { ...site, cache }
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
    await site.get('/page', { headers: { cookie: 'a=1' } })
    expect([(await site.get('/private')).text, (await site.get('/private')).text]).toEqual(['3', '4'])
    expect((await site.get('/page', { method: 'POST' })).status).toBe(204)
    expect(JSON.parse((await site.get('/page')).text)).toMatchObject({ run: 6 })
    expect((await site.get('/nowhere')).status).toBe(404)
    expect(seen).toEqual(['/page', '/page', '/private', '/private', '/page', '/page', '/nowhere'])
  })

  test('the handler is asked once for all who ask at once', async () => {
    const app = express()
    let runs = 0
    app.get('/', (_req, res) => void setImmediate(() => res.send(`${++runs}`)))
    await using site = await cached(app)
    const answers = await Promise.all(Array.from({ length: 20 }, () => site.get('/')))
    expect(new Set(answers.map(({ text }) => text))).toEqual(new Set(['1']))
  })
})

describe('before a listener of node:http', () => {
  test('it answers as before Express', async () => {
    let runs = 0
    await using site = await cached((_request, response) => void response.end(`${++runs}`))
    expect([(await site.get('/')).text, (await site.get('/')).text, (await site.get('/other')).text]).toEqual([
      '1',
      '1',
      '2',
    ])
  })

  test('an option that throws is a 500, and told', async () => {
    const key = (): string => {
      throw new Error('no key')
    }
    await using site = await cached((_request, response) => void response.end('page'), { key })
    const told: unknown[] = []
    site.cache.on('failure', ({ error }) => told.push(error))
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
      await expect(site.get('/')).rejects.toThrow('fetch failed')
      expect(await thrown).toMatchObject([{ message: 'of the listener' }, 'uncaughtException'])
    } finally {
      for (const listener of listeners) process.on('uncaughtException', listener)
    }
  })
})

test('the middleware is one of node:http, too', async () => {
  const cache = createCache({ ttl: '1h' })
  const middleware = cacheResponses(cache)
  let runs = 0
  const server = createServer((request, response) => {
    middleware(request, response, () => void response.end(`${++runs}`))
  })
  await using site = await listening(server, () => cache.close())
  expect([(await site.get('/')).text, (await site.get('/')).text]).toEqual(['1', '1'])
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

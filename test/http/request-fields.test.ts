import { inspect } from 'node:util'
import type { Request } from 'express'
import { describe, expect, test } from 'vitest'
import { cacheResponses } from '../../src/express/index.ts'
import { until } from '../../tools/until.mjs'
import { siteOf, siteWith } from './support/site.ts'

describe('Content-Type of a GET', () => {
  test('is seen by a handler that fills, and is part of the key where it is read', async () => {
    let runs = 0
    await using site = await siteOf((req, res) => {
      runs++
      res.send(req.get('content-type') ?? 'none')
    })
    for (const type of ['application/json', 'text/plain', 'application/json'])
      expect((await site.get('/', { 'content-type': type })).text).toBe(type)
    expect((await site.get()).text).toBe('none')
    expect(runs).toBe(3)
  })

  test('is no part of the key where nobody reads it', async () => {
    let runs = 0
    await using site = await siteOf((_req, res) => void res.send(`run ${++runs}`))
    expect((await site.get('/', { 'content-type': 'application/json' })).text).toBe('run 1')
    expect((await site.get()).text).toBe('run 1')
  })
})

test('a request has its own fields again once its answer is stored', async () => {
  const names = ['headers', 'rawHeaders', 'headersDistinct'] as const
  const fieldsOf = (req: Request) =>
    names.map((name) => [name, Object.getOwnPropertyDescriptor(req, name), structuredClone(req[name])])
  let seen: Request | undefined
  let before: unknown
  await using site = await siteWith((app, cache) => {
    app.use((req, _res, next) => {
      seen = req
      before = fieldsOf(req)
      next()
    })
    app.use(cacheResponses(cache), (_req, res) => void res.send('page'))
  })
  expect((await site.get('/', { range: 'bytes=0-1', 'x-one': '1' })).cache).toContain('stored')
  await expect.poll(() => seen && fieldsOf(seen)).toEqual(before)
  expect(JSON.stringify(before)).toContain('bytes=0-1')
})

describe('a copy of all fields', () => {
  test('can be made by structuredClone, where what is read counts for nothing', async () => {
    await using site = await siteOf((req, res) => void res.json(structuredClone(req.headers)), {
      options: { undeclared: 'ignore' },
    })
    const answer = await site.get('/', { 'x-one': '1', range: 'bytes=0-1' })
    expect(JSON.parse(answer.text)).toEqual({ host: 'site', connection: undefined, 'x-one': '1' })
    expect(answer.cache).toBe('herdless; fwd=uri-miss; stored')
  })

  test.each(['rawHeaders', 'headersDistinct'] as const)('of %s can be made in the same way', async (name) => {
    await using site = await siteOf((req, res) => void res.json(structuredClone(req[name])), {
      options: { undeclared: 'ignore' },
    })
    const answer = await site.get('/', { 'x-one': '1', range: 'bytes=0-1' })
    expect(answer.text.toLowerCase()).toContain('x-one')
    expect(answer.text.toLowerCase()).not.toContain('range')
    expect(answer.cache).toBe('herdless; fwd=uri-miss; stored')
  })

  test.each(['rawHeaders', 'headersDistinct'] as const)('of %s counts as a read of all, however made', async (name) => {
    const ways: Record<string, (req: Request) => unknown> = {
      inspect: (req) => inspect(req[name]),
      'inspect of the request': (req) => inspect(req, { showHidden: true }).includes('x-one'),
      entries: (req) => Object.entries(req[name]),
      keys: (req) => Object.keys(req[name]),
      JSON: (req) => JSON.stringify(req[name]),
    }
    for (const [way, read] of Object.entries(ways)) {
      await using site = await siteOf((req, res) => void res.send(String(read(req)).slice(0, 10)))
      const { cache } = await site.get('/', { 'x-one': '1' })
      expect([way, cache]).toEqual([way, 'herdless; fwd=uri-miss; detail=undeclared:*'])
    }
  })
})

test.for(['max-age=60', 'private'])(
  'a logger of a request that was answered with %s finds the fields that the client has sent',
  async (control) => {
    const logged: unknown[] = []
    await using site = await siteWith((app, cache) => {
      app.use((req, res, next) => {
        res.once('finish', () => logged.push([req.url, req.get('cookie'), req.get('if-none-match')]))
        next()
      })
      app.use(cacheResponses(cache, { ignoreQuery: ['utm'], cookies: 'hide' }))
      app.use((req, res) => void res.set('Cache-Control', control).end(`${req.url} ${req.get('cookie')}`))
    })
    const reply = await site.get('/?utm=1', { cookie: 'a=b', 'if-none-match': '"none"' })
    expect(reply.text).toBe('/ undefined')
    await until('it is logged', () => logged.length === 1)
    expect(logged).toEqual([['/?utm=1', 'a=b', '"none"']])
  },
)

test('a request with a query that cannot be compared goes to the handler, and nothing is stored', async () => {
  let runs = 0
  await using site = await siteWith((app, cache) => {
    app.use((req, _res, next) => {
      Object.defineProperty(req, 'query', { value: { filter: new Map([['a', '1']]) } })
      next()
    })
    app.use(cacheResponses(cache), (_req, res) => void res.send(`run ${++runs}`))
  })
  for (const run of [1, 2]) {
    const { text, cache } = await site.get()
    expect([text, cache]).toEqual([`run ${run}`, 'herdless; fwd=bypass; detail=changed'])
  }
  expect([site.heard('miss'), site.heard('fill')]).toEqual([0, 0])
})

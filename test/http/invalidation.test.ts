import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { Redis } from 'ioredis'
import type { Request, Response } from 'express'
import { describe, expect, inject, test } from 'vitest'
import { cacheResponses } from '../../src/express/index.ts'
import { createCache } from '../../src/index.ts'
import { redisStore } from '../../src/redis/index.ts'
import { startRedis } from '../support/servers.ts'
import { until } from '../../tools/until.mjs'
import { Gate, siteOf, siteWith, type Site } from './support/site.ts'

/** A page that is what was last written to it. */
class Page {
  readonly texts = new Map<string, string>()
  runs = 0
  /** What a write answers. */
  answer: (res: Response) => unknown = (res) => res.sendStatus(200)
  say: (res: Response, req: Request) => unknown = () => undefined

  readonly handler = (req: Request, res: Response): void => {
    if (req.method !== 'GET') {
      this.texts.set(req.path, `${this.textOf(req.path)}!`)
      return void this.answer(res)
    }
    this.runs++
    this.say(res, req)
    res.send(this.textOf(req.path))
  }

  textOf(path: string): string {
    return this.texts.get(path) ?? path
  }
}

async function get(site: Site, path: string, app = 0): Promise<string> {
  return (await site.get(path, {}, { app })).text
}

describe('a method that is not safe', () => {
  test.for(['POST', 'PUT', 'PATCH', 'DELETE', 'MERGE'])(
    '%s: who has its answer is answered with what it changed',
    async (method) => {
      const page = new Page()
      await using site = await siteOf(page.handler, { apps: 2, cache: { near: { max: 100 } } })
      for (const app of [0, 1]) expect(await get(site, '/a', app)).toBe('/a')
      expect(await get(site, '/b')).toBe('/b')
      await site.ask('/a', { method })
      for (const app of [0, 1]) expect(await get(site, '/a', app)).toBe('/a!')
      expect(page.runs).toBe(3)
      expect((await site.get('/b')).cache).toContain('hit')
    },
  )

  test.for([400, 403, 404, 500, 503])('one that fails with %i leaves what is stored', async (status) => {
    const page = new Page()
    page.answer = (res) => res.sendStatus(status)
    await using site = await siteOf(page.handler)
    await get(site, '/a')
    await site.ask('/a', { method: 'POST' })
    expect((await site.get('/a')).cache).toContain('hit')
  })

  test.for(['HEAD', 'OPTIONS', 'PROPFIND', 'SEARCH'])('%s leaves what is stored', async (method) => {
    const page = new Page()
    await using site = await siteOf(page.handler)
    await get(site, '/a')
    await site.ask('/a', { method })
    expect((await site.get('/a')).cache).toContain('hit')
  })

  test('what Location and Content-Location name goes, too, if it is of this site', async () => {
    const page = new Page()
    await using site = await siteOf(page.handler)
    const paths = ['/new', '/list?page=1', '/other', '/evil']
    for (const path of paths) await get(site, path)
    page.answer = (res) => res.status(201).set({ Location: '/new', 'Content-Location': 'list?page=1#top' }).end()
    await site.ask('/', { method: 'POST' })
    for (const path of paths)
      expect([path, (await site.get(path)).cache.includes('hit')]).toEqual([
        path,
        path === '/other' || path === '/evil',
      ])
    for (const location of [
      'http://other/evil',
      '//other/evil',
      'http://[bad',
      'https://site/evil',
      '\u0000',
      'javascript:1',
    ]) {
      page.answer = (res) => {
        if (location !== '\u0000') res.set('Location', location)
        res.status(201).end('done')
      }
      expect((await site.ask('/', { method: 'POST' })).text).toBe('done')
      expect((await site.get('/evil')).cache).toContain('hit')
    }
  })

  test('all variants of the address go', async () => {
    const page = new Page()
    page.say = (res) => res.vary('X-Kind')
    await using site = await siteOf(page.handler, { apps: 2 })
    for (const kind of ['1', '2']) await site.get('/a', { 'x-kind': kind })
    await site.ask('/a', { method: 'PUT' })
    for (const kind of ['1', '2'])
      for (const app of [0, 1]) expect((await site.get('/a', { 'x-kind': kind }, { app })).text).toBe('/a!')
  })

  test('an answer in pieces, or by writeHead, counts as any other', async () => {
    const page = new Page()
    await using site = await siteOf(page.handler)
    for (const answer of [
      (res: Response) => (res.write('a'), res.end('b')),
      (res: Response) => res.writeHead(303, ['Location', '/']).end(),
      (res: Response) => (res.flushHeaders(), setImmediate(() => res.end())),
    ]) {
      page.answer = answer
      const before = await get(site, '/a')
      await site.ask('/a', { method: 'POST' })
      expect(await get(site, '/a')).toBe(`${before}!`)
    }
  })

  const declared = (res: Response): Response => res.set('Content-Length', '2')

  test.for<[string, (res: Response) => unknown]>([
    ['ends', (res) => res.sendStatus(200)],
    ['ends with the length that it has declared', (res) => declared(res).end('OK')],
    ['is written to the length that it has declared', (res) => (declared(res).write('OK'), res.end())],
    ['ends when the last part was written', (res) => void declared(res).write('OK', () => res.end())],
    ['is written in parts', (res) => (declared(res).write('O'), res.write('K', 'latin1'), res.end())],
    ['is piped', (res) => Readable.from([Buffer.from('O'), Buffer.from('K')]).pipe(declared(res))],
  ])('has its answer when what is stored is void, and not before, where it %s', async ([, answer]) => {
    await using server = await startRedis()
    const page = new Page()
    page.answer = answer
    await using site = await siteOf(page.handler, { redis: () => server.connect() })
    await get(site, '/a')
    await server.freeze()
    const order: string[] = []
    const answered = site.ask('/a', { method: 'POST' }).then(({ text }) => order.push(`answered ${text}`))
    await until('the handler has answered', () => page.textOf('/a') === '/a!')
    // What needs no Redis is answered meanwhile.
    for (let round = 0; round < 3; round++) await site.ask('/b', { method: 'OPTIONS' })
    order.push('thawed')
    server.thaw()
    await answered
    expect(order).toEqual(['thawed', 'answered OK'])
    expect(await get(site, '/a')).toBe('/a!')
  })

  test('has its whole answer behind middleware whose `end` calls `write`', async () => {
    let text = 'old'
    await using site = await siteWith((app, cache) => {
      app.use((_req, res, next) => {
        const end = res.end.bind(res) as () => Response
        res.end = ((chunk?: unknown) => {
          if (chunk !== undefined) res.write(chunk)
          return end()
        }) as typeof res.end
        next()
      })
      app.use(cacheResponses(cache, { ttl: '1m' }))
      app.get('/', (_req, res) => void res.end(text))
      app.post('/', (_req, res) => ((text = 'new'), void declared(res).end('OK')))
    })
    expect((await site.get()).text).toBe('old')
    expect((await site.ask('/', { method: 'POST' })).text).toBe('OK')
    expect((await site.get()).text).toBe('new')
  })

  test('is answered while Redis is away', async () => {
    await using server = await startRedis()
    const page = new Page()
    const cache = { commandTimeout: 100 }
    await using site = await siteOf(page.handler, { cache, redis: () => server.connect() })
    await get(site, '/a')
    await server.kill()
    expect((await site.ask('/a', { method: 'POST' })).text).toBe('OK')
  })
})

describe('tags', () => {
  test('of the option, of Cache-Tag and of Surrogate-Key, by a cache elsewhere', async () => {
    const namespace = randomUUID()
    const page = new Page()
    page.say = (res, { path }) => {
      if (path === '/b') res.set('Cache-Tag', 'blue, big')
      if (path === '/s') res.set('Surrogate-Key', 'small  shiny')
    }
    await using site = await siteOf(page.handler, {
      apps: 2,
      namespace,
      options: { tags: (req) => [`path${req.url}`] },
    })
    const client = new Redis(inject('redisUrl'))
    await using elsewhere = createCache({ namespace, store: redisStore(client) })
    const paths = ['/a', '/b', '/s']
    const isStored = async (path: string): Promise<boolean> =>
      (await site.get(path, {}, { app: 1 })).cache.includes('hit')
    for (const [tag, path] of [
      ['path/a', '/a'],
      ['blue', '/b'],
      ['big', '/b'],
      ['small', '/s'],
      ['shiny', '/s'],
    ] as const) {
      for (const each of paths) await get(site, each)
      await elsewhere.invalidateTags([tag])
      for (const each of paths) expect([tag, each, await isStored(each)]).toEqual([tag, each, each !== path])
    }
    client.disconnect()
  })

  test('variants have the tags of each, and those without their own', async () => {
    const page = new Page()
    page.say = (res, req) => res.vary('X-Kind').set('Cache-Tag', `kind-${req.get('x-kind')}`)
    await using site = await siteOf(page.handler)
    for (const kind of ['1', '2']) await site.get('/a', { 'x-kind': kind })
    await site.caches[0]?.invalidateTags(['kind-1'])
    expect((await site.get('/a', { 'x-kind': '2' })).cache).toContain('hit')
    expect((await site.get('/a', { 'x-kind': '1' })).cache).not.toContain('hit')
  })

  test('an answer with more tags than can be kept is not stored', async () => {
    const page = new Page()
    page.say = (res) => res.set('Cache-Tag', Array.from({ length: 65 }, (_, index) => `tag${index}`).join())
    await using site = await siteOf(page.handler)
    await get(site, '/a')
    expect((await site.get('/a')).cache).not.toContain('hit')
  })
})

describe('a load that is under way', () => {
  test.for(['POST', 'tag'])('is not for who asks after the %s', async (how) => {
    const gate = new Gate()
    let text = 'old'
    let runs = 0
    await using site = await siteOf(
      async (req, res) => {
        if (req.method === 'POST') return void ((text = 'new'), res.sendStatus(200))
        const said = text
        if (++runs === 1) await gate.opened
        res.set('Cache-Tag', 'page').send(said)
      },
      { apps: 2, options: { tags: ['page'] } },
    )
    const early = site.get()
    await until('it is under way', () => runs === 1)
    if (how === 'POST') await site.ask('/', { method: 'POST', app: 1 })
    else {
      text = 'new'
      await site.caches[1]?.invalidateTags(['page'])
    }
    const late = Promise.all([site.get(), site.get('/', {}, { app: 1 })])
    // Which tags it has is known when it ends: until then, whoever asks waits for it, and asks again.
    if (how === 'POST') await late
    gate.open()
    expect((await early).text).toBe('old')
    for (const reply of await late) expect(reply.text).toBe('new')
    for (const app of [0, 1]) expect(await get(site, '/', app)).toBe('new')
  })

  test('is stored for no variant after the invalidation of its tag', async () => {
    const gate = new Gate()
    let text = 'old'
    let runs = 0
    await using site = await siteOf(
      async (req, res) => {
        const said = `${text} in ${req.get('x-lang')}`
        if (++runs === 1) await gate.opened
        res.set('Cache-Tag', 'page').send(said)
      },
      { apps: 2 },
    )
    const asked = { 'x-lang': 'en' }
    const early = site.get('/', asked)
    await until('it has moved to its variant', () => site.heard('load') === 2)
    text = 'new'
    await site.caches[1]?.invalidateTags(['page'])
    gate.open()
    expect((await early).text).toBe('old in en')
    await site.stored()
    for (const app of [0, 1]) expect((await site.get('/', asked, { app })).text).toBe('new in en')
    expect(runs).toBe(2)
  })
})

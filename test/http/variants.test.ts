import { randomUUID } from 'node:crypto'
import { format, inspect } from 'node:util'
import type { Request, Response } from 'express'
import { Redis } from 'ioredis'
import { describe, expect, inject, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { cacheResponses } from '../../src/express/index.ts'
import { Gate, siteOf, siteWith } from './support/site.ts'

function reads(read: (req: Request, res: Response) => unknown): {
  handler: (req: Request, res: Response) => void
  runs: number
} {
  const all = {
    runs: 0,
    handler: (req: Request, res: Response): void => {
      all.runs++
      const text = JSON.stringify(read(req, res) ?? null)
      if (!res.headersSent) res.send(text)
    },
  }
  return all
}

describe('declared', () => {
  test('variants live beside each other, in all apps', async () => {
    const source = reads((req, res) => (res.vary('X-A').vary('X-B'), [req.get('x-a'), req.get('x-b')]))
    await using site = await siteOf(source.handler, { apps: 2, options: { undeclared: 'ignore' } })
    const values = ['1', '2', '3']
    for (let round = 0; round < 2; round++) {
      for (const a of values) {
        for (const b of values) {
          const reply = await site.get('/', { 'x-a': a, 'x-b': b }, { app: round })
          expect([reply.text, reply.cache.includes('hit')]).toEqual([JSON.stringify([a, b]), round === 1])
        }
      }
    }
    expect(source.runs).toBe(9)
  })

  test('spellings of what is accepted are one variant', async () => {
    const source = reads((_req, res) => void res.vary('Accept-Encoding').vary('Accept-Language'))
    await using site = await siteOf(source.handler)
    for (const coding of ['gzip, br', 'GZIP,br', 'br , gzip', 'br;q=1.0, gzip;q=1'])
      for (const language of ['de, en;q=0.5', 'DE,en;q=0.50'])
        await site.get('/', { 'accept-encoding': coding, 'accept-language': language })
    expect(source.runs).toBe(1)
  })

  test('by the option, whatever the handler says', async () => {
    const source = reads((req) => req.url)
    await using site = await siteOf(source.handler, { options: { vary: (req) => (req.url === '/one' ? ['X-A'] : []) } })
    for (const path of ['/one', '/two']) for (const a of ['1', '2', '1']) await site.get(path, { 'x-a': a })
    expect(source.runs).toBe(3)
  })

  test('names that change over time', async () => {
    let names = 'X-A'
    const source = reads((req, res) => (res.set('Vary', names), names.split(', ').map((name) => req.get(name))))
    await using site = await siteOf(source.handler, { options: { ttl: '1m', undeclared: 'ignore' } })
    expect((await site.get('/', { 'x-a': '1', 'x-b': '1' })).text).toBe('["1"]')
    names = 'X-A, X-B'
    // Another variant says by what else they differ: from then on all of them are told apart by it.
    expect((await site.get('/', { 'x-a': '2', 'x-b': '1' })).text).toBe('["2","1"]')
    // Each of the two, and that it is one of several; the second time that comes last.
    await site.filled(4)
    for (const [a = '', b = ''] of [
      ['1', '1'],
      ['1', '2'],
      ['2', '1'],
      ['2', '2'],
    ])
      for (let round = 0; round < 2; round++)
        expect((await site.get('/', { 'x-a': a, 'x-b': b })).text).toBe(JSON.stringify([a, b]))
    names = 'X-B'
    await site.caches[0]?.invalidate('response http://site/')
    for (const b of ['1', '2', '1', '2']) expect((await site.get('/', { 'x-a': b, 'x-b': b })).text).toBe(`["${b}"]`)
  })

  test.for(['*', 'X-A, *', 'X-A, two words'])('Vary: %s is stored for nobody', async (vary) => {
    const source = reads((_req, res) => void res.set('Vary', vary))
    await using site = await siteOf(source.handler)
    for (let round = 0; round < 3; round++) await site.get('/', { 'x-a': '1' })
    expect(source.runs).toBe(3)
  })
})

describe('undeclared', () => {
  const ways: Record<string, (req: Request) => unknown> = {
    'req.headers': ({ headers }) => headers['x-a'],
    'req.get': (req) => req.get('X-A'),
    in: ({ headers }) => 'x-a' in headers && headers['x-a'],
    'Object.hasOwn': ({ headers }) => Object.hasOwn(headers, 'x-a') && headers['x-a'],
    'a descriptor': ({ headers }) => Object.getOwnPropertyDescriptor(headers, 'x-a')?.value as unknown,
    'taking apart': ({ headers: { 'x-a': a } }) => a,
  }
  const all: Record<string, (req: Request) => unknown> = {
    'Object.keys': ({ headers }) => Object.keys(headers).map((name) => headers[name]),
    'Object.entries': ({ headers }) => Object.entries(headers),
    'a copy': ({ headers }) => ({ ...headers }),
    'JSON.stringify': ({ headers }) => JSON.stringify(headers),
    'for in': ({ headers }) => {
      const found = []
      for (const name in headers) found.push(headers[name])
      return found
    },
    rawHeaders: ({ rawHeaders }) => rawHeaders,
    headersDistinct: ({ headersDistinct }) => headersDistinct['x-a'],
    'util.inspect': ({ headers }) => inspect(headers),
    'util.inspect of the whole request': ({ headers }) => inspect({ headers }, { depth: 5 }),
    'util.format': ({ headers }) => format('%o', headers),
  }

  test.for(Object.keys(ways))("'key': what is read by %s tells answers apart", async (way) => {
    const source = reads((req) => ways[way]?.(req))
    await using site = await siteOf(source.handler, { apps: 2 })
    for (let round = 0; round < 2; round++)
      for (const a of ['1', '2']) expect((await site.get('/', { 'x-a': a }, { app: round })).text).toBe(`"${a}"`)
    expect((await site.get()).text).not.toMatch(/[12]/)
    expect(source.runs).toBe(3)
  })

  test.for(Object.keys(all))('what is read by %s is stored for nobody', async (way) => {
    const source = reads((req) => all[way]?.(req))
    await using site = await siteOf(source.handler)
    for (const a of ['1', '2', '1']) expect((await site.get('/', { 'x-a': a })).text).toContain(a)
    expect(source.runs).toBe(3)
    expect((await site.get('/named', { 'x-a': '1' })).cache).toBe('herdless; fwd=uri-miss; detail=undeclared:*')
  })

  test('a handler may change the fields, as without a cache', async () => {
    await using site = await siteOf((req, res) => {
      req.headers['x-b'] = 'set'
      Object.defineProperty(req.headers, 'x-c', { value: 'defined', enumerable: true })
      delete req.headers['x-a']
      res.send(JSON.stringify([req.get('x-a'), req.headers['x-b'], req.headers['x-c'], 'x-b' in req.headers]))
    })
    expect((await site.get('/', { 'x-a': '1' })).text).toBe('[null,"set","defined",true]')
  })

  test("'refuse': what is read and not declared is stored for nobody, what is declared for all", async () => {
    const source = reads((req, res) => {
      if (req.url === '/declared') res.vary('X-A')
      return req.get('x-a')
    })
    await using site = await siteOf(source.handler, { options: { undeclared: 'refuse' } })
    for (const path of ['/declared', '/'])
      for (const a of ['1', '2', '1']) expect((await site.get(path, { 'x-a': a })).text).toBe(`"${a}"`)
    expect(source.runs).toBe(5)
    expect((await site.get('/', { 'x-a': '1' })).cache).toContain('fwd')
    expect((await site.get('/named', { 'x-a': '1' })).cache).toBe('herdless; fwd=uri-miss; detail=undeclared:x-a')
  })

  test("'ignore': what the handler declares is believed", async () => {
    const source = reads((req) => [req.get('x-a'), Object.keys(req.headers).length])
    await using site = await siteOf(source.handler, { options: { undeclared: 'ignore' } })
    const first = await site.get('/', { 'x-a': '1' })
    expect((await site.get('/', { 'x-a': '2' })).text).toBe(first.text)
  })

  test('what is read after the head, and could not be told, is stored for nobody', async () => {
    const source = reads((req, res) => {
      res.write('said ')
      res.end(req.get('x-a'))
    })
    await using site = await siteOf(source.handler)
    for (const a of ['1', '2', '1']) expect((await site.get('/', { 'x-a': a })).text).toBe(`said ${a}`)
    expect(source.runs).toBe(3)
  })

  test('what is read before the head and again after it is known', async () => {
    const source = reads((req, res) => {
      res.write(`${req.get('x-a')} `)
      res.end(req.get('x-a'))
    })
    await using site = await siteOf(source.handler)
    for (const a of ['1', '2', '1', '2']) expect((await site.get('/', { 'x-a': a })).text).toBe(`${a} ${a}`)
    expect(source.runs).toBe(2)
  })

  test('what is read when the answer has ended is nobody’s', async () => {
    const source = reads((req, res) => {
      res.on('finish', () => req.get('x-a'))
      setImmediate(() => Object.keys(req.headers))
    })
    await using site = await siteOf(source.handler)
    for (const a of ['1', '2']) await site.get('/', { 'x-a': a })
    expect(source.runs).toBe(1)
  })

  test('one that is sometimes read and sometimes not', async () => {
    const source = reads((req) => (req.get('x-mode') === 'special' ? ['special', req.get('x-a')] : 'plain'))
    await using site = await siteOf(source.handler, { apps: 2 })
    for (let round = 0; round < 3; round++) {
      expect((await site.get('/', { 'x-a': '1' }, { app: round % 2 })).text).toBe('"plain"')
      for (const a of ['1', '2'])
        expect((await site.get('/', { 'x-mode': 'special', 'x-a': a })).text).toBe(`["special","${a}"]`)
    }
  })
})

describe('one client and the others', () => {
  test('an answer that cannot be stored for what one client says leaves the others theirs', async () => {
    const source = reads((req, res) => {
      const kind = req.get('x-kind')
      if (kind === 'missing') res.status(404)
      if (kind === 'wrong') res.status(400)
      if (kind === 'own') return [kind, req.get('authorization'), req.socket.remotePort]
      return kind
    })
    await using site = await siteOf(source.handler, { options: { authorization: 'share' } })
    for (const kind of ['missing', 'wrong', 'own']) {
      await site.get(`/${kind}`, { 'x-kind': kind })
      await site.stored()
      await site.get(`/${kind}`, { 'x-kind': 'usual' })
      await site.stored()
      expect((await site.get(`/${kind}`, { 'x-kind': 'usual' })).cache).toContain('hit')
      expect((await site.get(`/${kind}`, { 'x-kind': kind })).cache).toContain('detail=pass')
    }
  })

  test('a field whose name a client makes up leaves the variants of the others', async () => {
    const source = reads((req) => {
      const tenant = req.get('x-tenant')
      return tenant === undefined ? 'nobody' : [tenant, req.get(`x-${tenant}`)]
    })
    await using site = await siteOf(source.handler, { apps: 2 })
    const ask = async (headers: Record<string, string>, app: number): Promise<string> => {
      const { cache } = await site.get('/', headers, { app })
      await site.stored()
      return cache
    }
    await ask({}, 0)
    await ask({ 'x-tenant': 'known', 'x-known': '1' }, 0)
    for (let made = 0; made < 12; made++) {
      const tenant = `made-${made}`
      await ask({ 'x-tenant': tenant, [`x-${tenant}`]: '1' }, made % 2)
      expect(await ask({}, made % 2)).toContain('hit')
      expect(await ask({ 'x-tenant': 'known', 'x-known': '1' }, made % 2)).toContain('hit')
    }
    expect(source.runs).toBe(14)
  })

  test('a 404 for what one client says, which lists its fields, leaves the others theirs', async () => {
    const source = reads((req, res) => {
      const kind = req.get('x-kind')
      if (kind === 'missing') return void res.status(404).send(JSON.stringify({ ...req.headers }))
      return void res.vary('x-kind').send(kind)
    })
    await using site = await siteOf(source.handler)
    expect((await site.get('/', { 'x-kind': 'missing' })).cache).toContain('detail=')
    await site.stored()
    await site.get('/', { 'x-kind': 'usual' })
    await site.stored()
    expect((await site.get('/', { 'x-kind': 'usual' })).cache).toContain('hit')
  })

  test('a slow variant does not hold up the others', async () => {
    const gate = new Gate()
    let runs = 0
    await using site = await siteOf(async (req, res) => {
      runs++
      const kind = req.get('x-kind')
      if (kind === 'slow') await gate.opened
      res.send(kind)
    })
    const slow = site.get('/', { 'x-kind': 'slow' })
    await until('it runs', () => runs === 1)
    const fast = await Promise.all(site.crowd(5, '/', () => ({ headers: { 'x-kind': 'fast' } })))
    expect(fast.map(({ text }) => text)).toEqual(Array.from({ length: 5 }, () => 'fast'))
    const same = site.get('/', { 'x-kind': 'slow' })
    await site.missed(3)
    gate.open()
    expect((await Promise.all([slow, same])).map(({ text }) => text)).toEqual(['slow', 'slow'])
    expect(runs).toBe(2)
  })

  test('variants of an address are so many at most in each app, and it is told', async () => {
    const source = reads((req) => req.get('x-a'))
    const redis = new Redis(inject('redisUrl'))
    const namespace = randomUUID()
    await using site = await siteOf(source.handler, { apps: 2, namespace, options: { maxVariants: 5 } })
    const told: string[] = []
    for (const cache of site.caches) cache.on('crowdedOut', ({ key }) => told.push(key))
    await Promise.all(site.crowd(40, '/', (index) => ({ headers: { 'x-a': `made up ${index}` } })))
    await site.stored()
    // One more says how they differ.
    await until('no more are stored', async () => (await values(redis, namespace)).length <= 11)
    expect(told.length).toBeGreaterThanOrEqual(30)
    expect(new Set(told)).toEqual(new Set(['response http://site/']))
    // The last ones are there, and whoever was crowded out is stored anew.
    expect((await site.get('/', { 'x-a': 'made up 0' })).text).toBe('"made up 0"')
    await site.stored()
    expect((await site.get('/', { 'x-a': 'made up 0' })).cache).toContain('hit')
    redis.disconnect()
  })

  test('variants of users are not counted: no client makes them up', async () => {
    const source = reads((req) => req.get('x-user'))
    const options = { maxVariants: 2, user: (req: Request) => req.get('x-user') }
    await using site = await siteWith((app, cache) => void app.use(cacheResponses(cache, options), source.handler))
    for (const hit of [false, true]) {
      for (const user of ['1', '2', '3', '4']) {
        const { text, cache } = await site.get('/', { 'x-user': user })
        expect([text, cache.includes('hit')]).toEqual([`"${user}"`, hit])
        await site.stored()
      }
    }
  })
})

/** The keys of stored values. */
async function values(redis: Redis, namespace: string): Promise<string[]> {
  const keys = await redis.keys(`*${namespace}*response*`)
  const types = await Promise.all(keys.map((key) => redis.type(key)))
  return keys.filter((_, index) => types[index] === 'string')
}

describe('addresses', () => {
  test('a query in another order, an empty one and another case are other addresses', async () => {
    const source = reads((req) => req.url)
    await using site = await siteOf(source.handler)
    const paths = ['/', '/?', '/?a=1&b=2', '/?b=2&a=1', '/A', '/a', '/a/', '/%61', '/a?x=%2F', '/a?x=/', '//a', '/a//']
    for (let round = 0; round < 2; round++)
      for (const path of paths) expect((await site.get(path)).text).toBe(JSON.stringify(path))
    expect(source.runs).toBe(paths.length)
  })

  test('parameters are left out of the key as they are told to be', async () => {
    const source = reads((req) => req.url)
    await using some = await siteOf(source.handler, { options: { ignoreQuery: ['utm', 'fb clid'] } })
    for (const path of ['/?a=1', '/?utm=1&a=1', '/?a=1&utm=2', '/?a=1&fb+clid=3', '/?%75tm=4&a=1']) await some.get(path)
    expect(source.runs).toBe(1)
    await some.get('/?a=1&utmx=1')
    expect(source.runs).toBe(2)
    await using only = await siteOf(source.handler, { options: { allowQuery: ['a'] } })
    for (const path of ['/?a=1', '/?b=1&a=1', '/?a=1&c']) await only.get(path)
    expect(source.runs).toBe(3)
    await using none = await siteOf(source.handler, { options: { ignoreQuery: true } })
    for (const path of ['/', '/?a', '/?b=1']) await none.get(path)
    expect(source.runs).toBe(4)
  })

  test('a key of the user’s own is the whole key', async () => {
    const source = reads((req) => req.url)
    await using site = await siteOf(source.handler, { options: { key: (req) => (req.url ?? '').slice(0, 2) } })
    expect((await site.get('/ab')).text).toBe('"/ab"')
    expect((await site.get('/ac', { host: 'other' })).text).toBe('"/ab"')
    expect((await site.get('/b')).text).toBe('"/b"')
  })
})

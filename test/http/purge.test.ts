import { describe, expect, test } from 'vitest'
import { cacheResponses, purge, purgeRouter, type Purge } from '../../src/express/index.ts'
import { createCache, memoryStore, type Cache, type Duration } from '../../src/index.ts'
import { until } from '../../tools/until.mjs'
import { siteWith, type Reply } from './support/site.ts'

const token = 'a token of some length'
const base = 'http://shop.example:8080'

/** A site whose pages say how often they were made, and where they may be purged. */
async function open(grace: Duration = 0) {
  const made = new Map<string, number>()
  const site = await siteWith(
    (app, cache) => {
      app.use('/purge', purgeRouter(cache, { token }))
      app.use(cacheResponses(cache, { tags: (request) => (request.url?.includes('tagged') === true ? ['t'] : []) }))
      app.use((req, res) => {
        const run = (made.get(req.path) ?? 0) + 1
        made.set(req.path, run)
        if (req.path.startsWith('/swr')) res.set('Cache-Control', 'max-age=3600, stale-while-revalidate=600')
        if (!req.path.includes('plain')) res.vary('X-Kind')
        res.send(`${run}`)
      })
    },
    { cache: { store: memoryStore(), prefixes: '/', ttl: '1h', grace } },
  )
  const [cache] = site.caches as [Cache]
  const reply = async (path: string, kind = 'one'): Promise<Reply> =>
    await site.get(path, { host: new URL(base).host, 'x-kind': kind })
  const get = async (path: string, kind?: string): Promise<string> => (await reply(path, kind)).text
  const ask = async (query: string, authorization = `Bearer ${token}`, method = 'POST'): Promise<Reply> =>
    await site.get(`/purge?${query}`, { authorization }, { method })
  return { cache, reply, get, ask, [Symbol.asyncDispose]: () => site[Symbol.asyncDispose]() }
}

describe('what is purged', () => {
  test('by its address is made anew, in all its variants, and nothing else is', async () => {
    await using shop = await open()
    for (const kind of ['one', 'other']) await shop.get('/a', kind)
    await shop.get('/b')
    await purge(shop.cache, { urls: [`${base}/a`] })
    expect([await shop.get('/a', 'one'), await shop.get('/a', 'other'), await shop.get('/b')]).toEqual(['3', '4', '1'])
  })

  test('by a tag or by a prefix, likewise', async () => {
    await using shop = await open()
    const paths = ['/tagged', '/other', '/products/1', '/products/2']
    const all = (): Promise<string[]> => Promise.all(paths.map((path) => shop.get(path)))
    expect(await all()).toEqual(['1', '1', '1', '1'])
    await purge(shop.cache, { tags: ['t'] })
    expect(await all()).toEqual(['2', '1', '1', '1'])
    await purge(shop.cache, { prefix: `${base}/products/` })
    expect(await all()).toEqual(['2', '1', '2', '2'])
    await purge(shop.cache, { urls: [`${base}/other`, `${base}/products/1`], tags: ['t'] })
    expect(await all()).toEqual(['3', '2', '3', '2'])
  })

  test('by an address that is spelled otherwise, likewise', async () => {
    await using shop = await open()
    const odd = base.replace('http://shop', 'HTTP://Shop')
    for (const path of ['/A', '/b/1']) expect(await shop.get(path)).toBe('1')
    await purge(shop.cache, { urls: [`${odd}/A`], prefix: `${odd}/b/` })
    for (const path of ['/A', '/b/1']) expect(await shop.get(path)).toBe('2')
    await purge(shop.cache, { urls: [`${odd}/a`] })
    expect(await shop.get('/A')).toBe('2')
    expect((await shop.ask(`url=${odd}/A`)).status).toBe(204)
    expect(await shop.get('/A')).toBe('3')
  })

  test.for([
    [{}, 'Expected `urls`, `tags` or `prefix` to say what is to be purged, got nothing'],
    [{ urls: [] }, 'got nothing'],
    [{ urls: ['/a'] }, 'Expected an address with scheme, host and path to be purged, got "/a" (string)'],
    [{ prefix: 'http://site' }, 'Expected an address with scheme, host and path'],
    [{ urls: [5] }, 'got 5 (number)'],
  ] as unknown as [Purge, string][])('is said, or a TypeError: %o', async ([what, message]) => {
    await using shop = await open()
    await expect(purge(shop.cache, what)).rejects.toThrow(TypeError)
    await expect(purge(shop.cache, what)).rejects.toThrow(message)
  })
})

describe('what is softly purged', () => {
  const path = '/swr/plain-tagged'
  const ways: readonly [name: string, what: Purge, query: string][] = [
    ['its address', { urls: [base + path] }, `url=${base}${path}`],
    ['a tag', { tags: ['t'] }, 'tag=t'],
    ['a prefix', { prefix: `${base}/swr/` }, `prefix=${base}/swr/`],
  ]
  const statusOf = ({ text, cache }: Reply): string => `${text}: ${cache}`

  test.for(ways)('by %s is served stale while it is made anew, once', async ([, what]) => {
    await using shop = await open()
    await shop.get(path)
    expect(statusOf(await shop.reply(path))).toMatch(/^1: .*hit; ttl=\d/)
    await purge(shop.cache, { ...what, soft: true })
    const filled = new Promise((resolve) => shop.cache.on('fill', resolve))
    expect(statusOf(await shop.reply(path))).toMatch(/^1: .*hit; ttl=(-\d|0)/)
    await filled
    expect(statusOf(await shop.reply(path))).toMatch(/^2: .*hit; ttl=\d/)
  })

  test('is validated, or made anew, where it may not be served stale', async () => {
    await using shop = await open()
    await shop.get('/plain')
    await purge(shop.cache, { urls: [`${base}/plain`], soft: true })
    expect((await shop.reply('/plain')).headers.etag).toBeDefined()
    expect(await shop.get('/plain')).toBe('2')
  })

  test('in all its variants by a tag; by its address, its variants are made anew', async () => {
    await using shop = await open()
    const all = (): Promise<string[]> => Promise.all(['one', 'other'].map((kind) => shop.get('/swr/tagged', kind)))
    const first = await all()
    expect(first.toSorted()).toEqual(['1', '2'])
    await purge(shop.cache, { tags: ['t'], soft: true })
    let fills = 0
    const filled = new Promise<void>((resolve) => shop.cache.on('fill', () => ++fills === 2 && resolve()))
    expect(await all()).toEqual(first)
    await filled
    expect((await all()).toSorted()).toEqual(['3', '4'])
    await purge(shop.cache, { urls: [`${base}/swr/tagged`], soft: true })
    expect((await all()).toSorted()).toEqual(['5', '6'])
  })

  test('over HTTP with soft=1', async () => {
    await using shop = await open()
    await shop.get(path)
    expect((await shop.ask('tag=t&soft=1')).status).toBe(204)
    const filled = new Promise((resolve) => shop.cache.on('fill', resolve))
    expect(await shop.get(path)).toBe('1')
    await filled
    expect((await shop.ask('tag=t&soft=0')).status).toBe(204)
    expect(await shop.get(path)).toBe('3')
    const wrong = await shop.ask('tag=t&soft=yes')
    expect(wrong).toMatchObject({
      status: 400,
      text: expect.stringMatching(/^Expected `soft` to be 0 or 1, got "yes"/),
    })
    await expect(purge(shop.cache, { tags: ['t'], soft: 1 as never })).rejects.toThrow(TypeError)
  })

  test.for(ways)('by %s is gone after `within`, whatever its grace', async ([, what, query]) => {
    // `peek` judges by the grace of the cache: without one it calls the page missing at once, while the page is still served.
    await using shop = await open('10m')
    const { cache } = shop
    const isGone = async (): Promise<boolean> => (await cache.peek(`response ${base}${path}`)).state === 'missing'
    await shop.get(path)
    expect(await isGone()).toBe(false)
    await purge(cache, { ...what, soft: true, within: 1 })
    await until('it is gone', isGone)
    expect(await shop.get(path)).toBe('2')
    expect((await shop.ask(`${query}&soft=1&within=1ms`)).status).toBe(204)
    await until('it is gone again', isGone)
    expect(await shop.ask(`${query}&within=1ms`)).toMatchObject({
      status: 400,
      text: expect.stringContaining('Expected `soft: true` beside `within`'),
    })
  })
})

describe('the router for purging', () => {
  test('does what the query says, for who has the token', async () => {
    await using shop = await open()
    for (const path of ['/a', '/tagged', '/products/1']) await shop.get(path)
    const query = new URLSearchParams({ url: `${base}/a`, tag: 't', prefix: `${base}/products/` })
    expect((await shop.ask(String(query))).status).toBe(204)
    expect(await Promise.all(['/a', '/tagged', '/products/1'].map((path) => shop.get(path)))).toEqual(['2', '2', '2'])
  })

  test.for(['', 'Bearer ', `Bearer ${token}x`, token, `Basic ${token}`])(
    'does nothing for %j',
    async (authorization) => {
      await using shop = await open()
      await shop.get('/tagged')
      const reply = await shop.ask('tag=t', authorization)
      expect([reply.status, reply.headers['www-authenticate']]).toEqual([401, 'Bearer'])
      expect(await shop.get('/tagged')).toBe('1')
    },
  )

  test.for(['bearer', 'BEARER'])('takes the scheme %s for Bearer', async (scheme) => {
    await using shop = await open()
    await shop.get('/tagged')
    expect((await shop.ask('tag=t', `${scheme} ${token}`)).status).toBe(204)
    expect(await shop.get('/tagged')).toBe('2')
  })

  test('says what it expects', async () => {
    await using shop = await open()
    const get = await shop.ask('tag=t', undefined, 'GET')
    expect([get.status, get.headers.allow]).toEqual([405, 'POST'])
    expect(await shop.ask('')).toMatchObject({ status: 400, text: expect.stringMatching(/got nothing/) })
    expect(await shop.ask('url=nonsense')).toMatchObject({ status: 400, text: expect.stringMatching(/an address/) })
    await shop.cache.close()
    expect(await shop.ask('tag=t')).toMatchObject({ status: 503, text: expect.stringMatching(/closed/) })
  })

  test.for([undefined, '', 'short', 5])('is not made with the token %o', (wrong) => {
    const cache = createCache()
    expect(() => purgeRouter(cache, { token: wrong as string })).toThrow(
      /^Expected `token` to be a string of at least 16/,
    )
  })
})

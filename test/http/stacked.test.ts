import { expect, test } from 'vitest'
import { cacheResponses, type CacheResponsesOptions } from '../../src/express/index.ts'
import { purge } from '../../src/http/purge.ts'
import { Gate, siteWith, type Site } from './support/site.ts'

/** An app with a cache before all routes, and one before its page: on one cache object. */
async function stacked(outer: CacheResponsesOptions, inner: CacheResponsesOptions, gate?: Gate) {
  let runs = 0
  const site = await siteWith((app, cache) => {
    app.use(cacheResponses(cache, { ttl: '1m', ...outer }))
    app.all('/', cacheResponses(cache, { ttl: '1m', ...inner }), async (req, res) => {
      await gate?.opened
      if (req.method === 'POST') return void res.sendStatus(204)
      res.send(`run ${++runs} for ${req.get('x-user') ?? 'nobody'}`)
    })
  })
  return { site, [Symbol.asyncDispose]: () => site[Symbol.asyncDispose]() }
}

const ada = { 'x-user': 'ada' }
const bob = { 'x-user': 'bob' }

async function get(site: Site, headers: Record<string, string> = {}): Promise<string> {
  const { text } = await site.get('/', headers)
  await site.stored()
  return text
}

test('a cache behind another stores, and the one before it leaves that to it', async () => {
  await using app = await stacked({}, {})
  expect(await get(app.site)).toBe('run 1 for nobody')
  const { text, cache } = await app.site.get('/')
  expect([text, cache]).toEqual(['run 1 for nobody', expect.stringMatching(/^herdless; hit/)])
})

test.for<[what: string, outer: CacheResponsesOptions, inner: CacheResponsesOptions]>([
  ['by a private key', {}, { key: (req) => `page of ${String(req.headers['x-user'])}` }],
  ['by an option', { undeclared: 'ignore' }, { vary: ['x-user'] }],
])('what the one behind tells apart %s is served to no other by the one before', async ([, outer, inner]) => {
  await using app = await stacked(outer, inner)
  for (let round = 0; round < 3; round++) {
    expect(await get(app.site, ada)).toContain('for ada')
    expect(await get(app.site, bob)).toContain('for bob')
  }
  expect(await get(app.site, ada)).toBe('run 1 for ada')
})

test('concurrent visitors of both get their own page', async () => {
  const gate = new Gate()
  await using app = await stacked({}, { vary: ['x-user'] }, gate)
  const crowd = app.site.crowd(12, '/', (index) => ({ headers: index % 2 === 0 ? ada : bob }))
  await app.site.missed(12)
  gate.open()
  for (const [index, { text }] of (await Promise.all(crowd)).entries()) {
    expect(text).toContain(index % 2 === 0 ? 'for ada' : 'for bob')
  }
})

test('the tags of the one behind void what is stored', async () => {
  await using app = await stacked({}, { tags: ['page'] })
  expect(await get(app.site)).toBe('run 1 for nobody')
  expect(await get(app.site)).toBe('run 1 for nobody')
  await app.site.caches[0]?.invalidateTags(['page'])
  expect(await get(app.site)).toBe('run 2 for nobody')
})

test('a purge of the address voids what both have stored, and so does a POST', async () => {
  await using app = await stacked({}, {})
  expect(await get(app.site)).toBe('run 1 for nobody')
  const [cache] = app.site.caches
  if (cache !== undefined) await purge(cache, { urls: ['http://site/'] })
  expect(await get(app.site)).toBe('run 2 for nobody')
  expect((await app.site.ask('/', { method: 'POST' })).status).toBe(204)
  expect(await get(app.site)).toBe('run 3 for nobody')
})

test('the options of the one behind hold for its page', async () => {
  await using app = await stacked({ ttl: '1h' }, { ttl: '10m' })
  await get(app.site)
  expect((await app.site.get('/')).cache).toMatch(/ttl=(5\d\d|600)$/)
})

test('a stale page of the one behind is refreshed', async () => {
  await using app = await stacked({ grace: '1m' }, { ttl: 1, grace: '1m' })
  expect(await get(app.site)).toBe('run 1 for nobody')
  expect(await get(app.site)).toBe('run 1 for nobody')
  await app.site.stored()
  expect(await get(app.site)).not.toBe('run 1 for nobody')
})

test('the same middleware twice is one', async () => {
  let runs = 0
  await using site = await siteWith((app, cache) => {
    const middleware = cacheResponses(cache, { ttl: '1m' })
    app.use(middleware, middleware)
    app.use((_req, res) => void res.send(`run ${++runs}`))
  })
  expect((await site.get()).cache).toBe('herdless; fwd=uri-miss; stored')
  await site.stored()
  expect((await site.get()).text).toBe('run 1')
})

test('a cache behind another that bypasses for a cookie stores the response', async () => {
  await using app = await stacked({}, { cookies: 'hide' })
  const headers = { cookie: 'visitor=ada' }
  expect(await get(app.site, headers)).toBe('run 1 for nobody')
  const { text, cache } = await app.site.get('/', headers)
  expect([text, cache]).toEqual(['run 1 for nobody', expect.stringContaining('hit')])
})

test('a cache behind another that passes all addresses stores the response', async () => {
  await using app = await stacked({ key: () => 'all', passFor: '1h' }, {})
  await app.site.get('/?other')
  await app.site.stored()
  expect(await get(app.site)).toBe('run 2 for nobody')
  const { text, cache } = await app.site.get('/')
  expect([text, cache]).toEqual(['run 2 for nobody', expect.stringContaining('hit')])
})

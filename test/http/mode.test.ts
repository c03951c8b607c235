import { expect, test } from 'vitest'
import { cacheResponses } from '../../src/express/index.ts'
import { memoryStore, type Cache } from '../../src/index.ts'
import { siteWith } from './support/site.ts'

/** Two apps with one page, which says how often it was made. The mode of the cache of `a` is what changes. */
async function twoApps() {
  let runs = 0
  const site = await siteWith(
    (app, cache) => {
      app.use(cacheResponses(cache, { key: () => 'page' }))
      app.use((_req, res) => void res.send(`${++runs}`))
    },
    { apps: 2, cache: { store: memoryStore(), ttl: '1h' } },
  )
  const [cache] = site.caches as [Cache]
  const ask = async (of: 'a' | 'b', method = 'GET') => await site.ask('/', { method, app: of === 'a' ? 0 : 1 })
  return { cache, ask, [Symbol.asyncDispose]: () => site[Symbol.asyncDispose]() }
}

test('while a cache is off, its requests run the handler, and say so', async () => {
  await using shop = await twoApps()
  await shop.ask('a')
  expect((await shop.ask('a')).text).toBe('1')
  shop.cache.mode = 'off'
  expect(await shop.ask('a')).toMatchObject({ text: '2', cache: 'herdless; fwd=bypass; detail=off' })
  const together = await Promise.all([shop.ask('a'), shop.ask('a')])
  expect(together.map(({ text }) => text).toSorted()).toEqual(['3', '4'])
  // What was stored before is there still.
  expect((await shop.ask('b')).text).toBe('1')
  shop.cache.mode = 'cache'
  expect((await shop.ask('a')).text).toBe('1')
})

test('while a cache is off, an unsafe method invalidates all the same', async () => {
  await using shop = await twoApps()
  await shop.ask('b')
  shop.cache.mode = 'off'
  await shop.ask('a', 'POST')
  expect((await shop.ask('b')).text).toBe('3')
})

test('while a cache observes, its requests run the handler, and are counted', async () => {
  await using shop = await twoApps()
  await shop.ask('a')
  shop.cache.mode = 'observe'
  const texts = [(await shop.ask('a')).text, (await shop.ask('a')).text]
  expect(texts).toEqual(['2', '3'])
  expect(shop.cache.stats()).toMatchObject({ mode: 'observe', hits: 1 })
  shop.cache.mode = 'cache'
  expect((await shop.ask('a')).text).toBe('1')
})

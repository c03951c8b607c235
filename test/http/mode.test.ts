import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { expect, test } from 'vitest'
import { cacheResponses } from '../../src/express/index.ts'
import { createCache, memoryStore, type Cache } from '../../src/index.ts'

/** A site whose page says how often it was made. */
async function site() {
  const store = memoryStore()
  const [cache, other] = [createCache({ store, ttl: '1h' }), createCache({ store, ttl: '1h' })] as [Cache, Cache]
  const server = express()
  let runs = 0
  for (const each of [cache, other]) {
    const app = express()
    app.use(cacheResponses(each, { key: () => 'page' }))
    app.use((_req, res) => void res.send(`${++runs}`))
    server.use(each === cache ? '/a' : '/b', app)
  }
  const listening = server.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  const { port } = listening.address() as AddressInfo
  const ask = async (of: 'a' | 'b', method = 'GET'): Promise<{ text: string; status: string | null }> => {
    const response = await fetch(`http://127.0.0.1:${port}/${of}`, { method })
    return { text: await response.text(), status: response.headers.get('cache-status') }
  }
  const close = async (): Promise<void> => {
    listening.closeAllConnections()
    listening.close()
    await Promise.all([cache.close(), other.close()])
  }
  return { cache, ask, [Symbol.asyncDispose]: close }
}

test('while a cache is off, its requests run the handler, and say so', async () => {
  await using shop = await site()
  await shop.ask('a')
  expect((await shop.ask('a')).text).toBe('1')
  shop.cache.mode = 'off'
  expect(await shop.ask('a')).toEqual({ text: '2', status: 'herdless; fwd=bypass; detail=off' })
  const together = await Promise.all([shop.ask('a'), shop.ask('a')])
  expect(together.map(({ text }) => text).toSorted()).toEqual(['3', '4'])
  // What was stored before is there still.
  expect((await shop.ask('b')).text).toBe('1')
  shop.cache.mode = 'cache'
  expect((await shop.ask('a')).text).toBe('1')
})

test('while a cache is off, an unsafe method invalidates all the same', async () => {
  await using shop = await site()
  await shop.ask('b')
  shop.cache.mode = 'off'
  await shop.ask('a', 'POST')
  expect((await shop.ask('b')).text).toBe('3')
})

test('while a cache observes, its requests run the handler, and are counted', async () => {
  await using shop = await site()
  await shop.ask('a')
  shop.cache.mode = 'observe'
  const texts = [(await shop.ask('a')).text, (await shop.ask('a')).text]
  expect(texts).toEqual(['2', '3'])
  expect(shop.cache.stats()).toMatchObject({ mode: 'observe', hits: 1 })
  shop.cache.mode = 'cache'
  expect((await shop.ask('a')).text).toBe('1')
})

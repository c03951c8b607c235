import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { createCache, tiered } from '../../src/index.ts'
import { redisStore } from '../../src/redis/index.ts'
import { startProxy } from '../support/proxy.ts'
import { startRedis } from '../support/servers.ts'
import { until } from '../../tools/until.mjs'

test('a hundred keys that are read before the time of the server is known ask for it once', async () => {
  await using server = await startRedis()
  const client = server.connect()
  await server.resetCounts()
  await using cache = createCache({ store: redisStore(client) })
  const keys = Array.from({ length: 100 }, (_, index) => `key ${index}`)
  const found = await Promise.all(keys.map((key) => cache.peek(key)))
  expect(found.every(({ state }) => state === 'missing')).toBe(true)
  // One when the store is opened, and one for those who cannot wait for it.
  expect((await server.commandCounts())['time']).toBeLessThanOrEqual(2)
})

test.each([
  { on: 'redisStore, on the defaults', given: {}, storeOn: redisStore },
  { on: 'redisStore', given: { commandTimeout: 100 }, storeOn: redisStore },
  { on: 'tiered', given: { commandTimeout: 100 }, storeOn: (client: Redis) => tiered({}, redisStore(client)) },
])('a first connection may take longer than the deadline of a command: $on', async ({ given, storeOn }) => {
  await using server = await startRedis()
  await using proxy = await startProxy(server)
  proxy.blackHole('replies')
  const client = new Redis({ host: proxy.host, port: proxy.port })
  await using cache = createCache({ store: storeOn(client), ...given })
  const begun = performance.now()
  const [set, loaded] = [cache.set('key', 'value', { ttl: '1m' }), cache.getOrLoad('other', () => 1, { ttl: '1m' })]
  const twice = 2 * (given.commandTimeout ?? 500)
  await until('the deadline has passed twice', () => performance.now() - begun > twice)
  proxy.heal()
  await Promise.all([set, loaded])
  expect(await server.client.keys('*')).toHaveLength(2)
  client.disconnect()
})

test('a first connection that hangs costs four deadlines, and a later one costs one', async () => {
  await using server = await startRedis()
  await using proxy = await startProxy(server)
  proxy.blackHole('replies')
  const client = new Redis({ host: proxy.host, port: proxy.port })
  await using cache = createCache({ store: redisStore(client), commandTimeout: 100 })
  const waited = async (): Promise<number> => {
    const error: unknown = await cache.set('key', 1, { ttl: '1m' }).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    return Number(/did not answer within (\d+) ms/.exec((error as Error).message)?.[1])
  }
  expect(await waited()).toBeGreaterThanOrEqual(400)
  proxy.heal()
  await until('the store answers', () => cache.set('key', 1, { ttl: '1m' }).then(() => true))
  proxy.blackHole('replies')
  expect(await waited()).toBeLessThan(400)
  client.disconnect()
})

test('a first connection that is refused is not waited for', async () => {
  const server = await startRedis()
  await server[Symbol.asyncDispose]()
  const client = new Redis({ port: server.port })
  client.on('error', () => {})
  await using cache = createCache({ store: redisStore(client), commandTimeout: 100 })
  await new Promise<void>((resolve) => client.once('close', () => resolve()))
  const error: unknown = await cache.set('key', 1, { ttl: '1m' }).catch((reason: unknown) => reason)
  expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(Number(/did not answer within (\d+) ms/.exec((error as Error).message)?.[1])).toBeLessThan(400)
  client.disconnect()
})

test('many stores on one client add few listeners to it, and leave none', async () => {
  await using server = await startRedis()
  const client = server.connect()
  const warnings: Error[] = []
  const heard = (warning: Error): void => void warnings.push(warning)
  process.on('warning', heard)
  const before = client.listenerCount('ready')
  const caches = Array.from({ length: 15 }, (_, n) => createCache({ namespace: `n${n}`, store: redisStore(client) }))
  await Promise.all(caches.map((cache) => cache.getOrLoad('key', () => 1, { ttl: '1m' })))
  expect(client.listenerCount('ready')).toBe(before + 1)
  await Promise.all(caches.map((cache) => cache.close()))
  expect([client.listenerCount('ready'), client.listenerCount('close')]).toEqual([before, 0])
  await new Promise(setImmediate)
  process.off('warning', heard)
  expect(warnings).toEqual([])
})

import { randomUUID } from 'node:crypto'
import { createCache } from 'herdless'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'
import { afterEach, expect, test, vi } from 'vitest'

const all = [
  'Date',
  'performance',
  'hrtime',
  'queueMicrotask',
  'setImmediate',
  'clearImmediate',
  'setInterval',
  'clearInterval',
  'setTimeout',
  'clearTimeout',
]

afterEach(() => vi.useRealTimers())

/** @param {import('herdless').Cache} cache @returns the outcomes of some calls */
async function settled(cache) {
  let loads = 0
  const load = async () => ++loads
  const joined = await Promise.all([cache.getOrLoad('k', load), cache.getOrLoad('k', load)])
  const hit = await cache.getOrLoad('k', load)
  const many = await cache.getOrLoadMany(['k', 'l'], (keys) => keys.map(() => 7))
  await cache.invalidate('k')
  const failed = await cache.getOrLoad('e', () => Promise.reject(new Error('away'))).catch((error) => error.message)
  const peeked = await cache.peek('k')
  await cache.close()
  return { joined, hit, many, failed, peeked }
}

const outcomes = { joined: [1, 1], hit: 1, many: [1, 7], failed: 'away', peeked: { state: 'missing' } }

test('in memory, calls settle while everything is faked', async () => {
  vi.useFakeTimers({ toFake: [...all, 'nextTick'] })
  expect(await settled(createCache())).toEqual(outcomes)
})

test('on Redis, calls settle while everything is faked by which sockets do not work', async () => {
  const redis = new Redis(process.env.REDIS_URL)
  const cache = createCache({ store: redisStore(redis), namespace: randomUUID() })
  vi.useFakeTimers({ toFake: all })
  expect(await settled(cache)).toEqual(outcomes)
  await redis.quit()
})

test('with the defaults of Vitest, a value in memory ages with the time of the test', async () => {
  vi.useFakeTimers()
  const cache = createCache({ ttl: '1m' })
  const load = vi.fn(() => 42)
  await cache.getOrLoad('price', load)
  vi.advanceTimersByTime(59_000)
  await cache.getOrLoad('price', load)
  expect(load).toHaveBeenCalledTimes(1)
  vi.advanceTimersByTime(2_000)
  await cache.getOrLoad('price', load)
  expect(load).toHaveBeenCalledTimes(2)
  await cache.close()
})

import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { LRUCache } from 'lru-cache'
import { createClient } from 'redis'
import { never, perSecond, product } from './line.mjs'

const keys = Array.from({ length: 1_000 }, (_, index) => `product:${index}`)

/** @param {number} index */
function keyAt(index) {
  return /** @type {string} */ (keys[index % keys.length])
}

/** Hits of a near cache, one awaited after the other. @type {import('./line.mjs').Line} */
export const near = {
  title: 'A hit of the near cache, awaited',
  unit: 'hits a second',
  better: 'more',
  floor: 'await lru.get()',
  goals: { frozen: 1.05, 'frozen, { ttl } in the call': 0.9 },
  async open({ herdless, redis, url }) {
    const client = new Redis(url)
    const caches = /** @type {const} */ (['frozen', 'shared', 'cloned']).map((values) =>
      herdless.createCache({
        store: redis.redisStore(client),
        namespace: 'bench-near',
        ttl: '1h',
        near: { ttl: '1h', values },
      }),
    )
    const [frozen, shared, cloned] =
      /** @type {[import('herdless').Cache, import('herdless').Cache, import('herdless').Cache]} */ (caches)
    /** @type {LRUCache<string, object>} */
    const lru = new LRUCache({ max: 10_000 })
    for (const key of keys) {
      lru.set(key, structuredClone(product))
      await frozen.set(key, product)
    }
    for (const cache of caches) await fillNear(cache)
    // No longer than copies may be served without a sign from Redis.
    const calls = 100_000
    const hits = async (/** @type {(index: number) => unknown} */ way) => {
      const rate = await perSecond(calls, way)
      await sleep(100)
      return rate
    }
    return {
      ways: {
        'await lru.get()': () => hits((index) => lru.get(keyAt(index))),
        frozen: () => hits((index) => frozen.getOrLoad(keyAt(index), never)),
        'frozen, { ttl } in the call': () => hits((index) => frozen.getOrLoad(keyAt(index), never, { ttl: '1h' })),
        shared: () => hits((index) => shared.getOrLoad(keyAt(index), never)),
        cloned: () => hits((index) => cloned.getOrLoad(keyAt(index), never)),
      },
      close: async () => {
        for (const cache of caches) await cache.close()
        client.disconnect()
      },
    }
  },
}

/** Hits of the store in memory, one awaited after the other. @type {import('./line.mjs').Line} */
export const memory = {
  title: 'A hit of the store in memory, awaited',
  unit: 'hits a second',
  better: 'more',
  floor: 'await lru.get()',
  goals: { 'a copy each': 0.5, frozen: 0.9, shared: 0.9 },
  async open({ herdless }) {
    const cacheOf = (/** @type {'cloned' | 'frozen' | 'shared'} */ values) => {
      return herdless.createCache({ store: herdless.memoryStore({ values }), ttl: '1h' })
    }
    const [cloned, frozen, shared] = [cacheOf('cloned'), cacheOf('frozen'), cacheOf('shared')]
    /** @type {LRUCache<string, object>} */
    const lru = new LRUCache({ max: 10_000 })
    for (const key of keys) {
      lru.set(key, structuredClone(product))
      for (const cache of [cloned, frozen, shared]) await cache.set(key, product)
    }
    for (const cache of [cloned, frozen, shared]) await fillNear(cache)
    const hits = (/** @type {(index: number) => unknown} */ way) => perSecond(100_000, way)
    return {
      ways: {
        'await lru.get()': () => hits((index) => lru.get(keyAt(index))),
        'a copy each': () => hits((index) => cloned.getOrLoad(keyAt(index), never)),
        'a copy each, { ttl } in the call': () => hits((index) => cloned.getOrLoad(keyAt(index), never, { ttl: '1h' })),
        frozen: () => hits((index) => frozen.getOrLoad(keyAt(index), never)),
        shared: () => hits((index) => shared.getOrLoad(keyAt(index), never)),
      },
      close: () => Promise.all([cloned.close(), frozen.close(), shared.close()]),
    }
  },
}

/**
 * Hits in Redis with some callers, each of which asks again as soon as it is answered.
 * @param {number} inFlight
 * @param {number} goal
 * @returns {import('./line.mjs').Line}
 */
export function secondTier(inFlight, goal) {
  return {
    title: `A hit in Redis, ${inFlight} in flight`,
    unit: 'hits a second',
    better: 'more',
    floor: 'GET and JSON.parse',
    goals: { herdless: goal, 'herdless, { ttl } in the call': goal },
    async open({ herdless, redis, url }) {
      const client = new Redis(url)
      const options = /** @type {const} */ ({ namespace: 'bench-hits', ttl: '1h' })
      const cache = herdless.createCache({ ...options, store: redis.redisStore(client) })
      const nodeRedis = createClient({ url })
      nodeRedis.on('error', () => {})
      await nodeRedis.connect()
      const onNodeRedis = herdless.createCache({ ...options, store: redis.redisStore(nodeRedis) })
      for (const key of keys) {
        await client.set(`bench-raw:${key}`, JSON.stringify(product))
        await cache.set(key, product)
      }
      const rate = async (/** @type {(key: string) => Promise<unknown>} */ way) => {
        const began = performance.now()
        let hits = 0
        const caller = async (/** @type {number} */ first) => {
          for (let turn = first; performance.now() < began + 250; turn++) {
            await way(keyAt(turn))
            hits++
          }
        }
        await Promise.all(Array.from({ length: inFlight }, (_, first) => caller(first)))
        return (hits / (performance.now() - began)) * 1_000
      }
      return {
        ways: {
          'GET and JSON.parse': () =>
            rate(async (key) => JSON.parse(/** @type {string} */ (await client.get(`bench-raw:${key}`)))),
          herdless: () => rate((key) => cache.getOrLoad(key, never)),
          'herdless, { ttl } in the call': () => rate((key) => cache.getOrLoad(key, never, { ttl: '1h' })),
          'GET and JSON.parse on node-redis': () =>
            rate(async (key) => JSON.parse(/** @type {string} */ (await nodeRedis.get(`bench-raw:${key}`)))),
          'herdless on node-redis': () => rate((key) => onNodeRedis.getOrLoad(key, never)),
        },
        close: async () => {
          await cache.close()
          await onNodeRedis.close()
          client.disconnect()
          nodeRedis.destroy()
        },
      }
    },
  }
}

/** @param {import('herdless').Cache} cache */
async function fillNear(cache) {
  for (const key of keys) {
    const before = cache.stats().nearHits
    while (cache.stats().nearHits === before) await cache.getOrLoad(key, never)
  }
}

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { heapUsed, never, timeOfEach } from './line.mjs'

/** The keys of a shop that restarts. */
const manyKeys = 20_000
const keys = 2_000

/** Distinct keys that load at once. @type {import('./line.mjs').Line} */
export const distinctKeys = {
  title: '20,000 distinct keys that load at once, time of each',
  unit: 'µs',
  better: 'less',
  floor: 'GET, SET and JSON',
  goals: { 'herdless, Redis': 2, 'herdless, Redis, getOrLoadMany': 1.5 },
  async open({ herdless, redis, url }) {
    const client = new Redis(url)
    // Of its own: another build that is measured beside this one must not find its values.
    const namespace = `bench-loads-${randomUUID()}`
    const [stored, kept] = [
      herdless.createCache({ store: redis.redisStore(client), namespace }),
      herdless.createCache(),
    ]
    let round = 0
    const timeOfAll = (/** @type {(keys: string[]) => Promise<unknown>} */ way) => {
      round++
      const all = Array.from({ length: manyKeys }, (_, key) => `${round}:${key}`)
      return timeOfEach(manyKeys, () => way(all))
    }
    const loads = (/** @type {(key: string) => Promise<unknown>} */ way) =>
      timeOfAll((all) => Promise.all(all.map(way)))
    const loader = async () => ({ id: 7, name: 'a product' })
    return {
      ways: {
        'GET, SET and JSON': () =>
          loads(async (key) => {
            const found = await client.get(`${namespace}-raw:${key}`)
            if (found !== null) return JSON.parse(found)
            const value = await loader()
            await client.set(`${namespace}-raw:${key}`, JSON.stringify(value), 'PX', 60_000)
            return value
          }),
        'herdless, Redis': () => loads((key) => stored.getOrLoad(key, loader)),
        'herdless, Redis, getOrLoadMany': () =>
          timeOfAll((all) => stored.getOrLoadMany(all, (wanted) => Promise.all(wanted.map(loader)))),
        'herdless, in memory': () => loads((key) => kept.getOrLoad(key, loader)),
      },
      close: async () => {
        await Promise.all([stored.close(), kept.close()])
        client.disconnect()
      },
    }
  },
}

/** Many keys that are all there, in one call. @type {import('./line.mjs').Line} */
export const manyHits = {
  title: '20,000 hits in Redis in one call, time of each',
  unit: 'µs',
  better: 'less',
  floor: 'MGET of 128 keys each, and JSON',
  goals: {},
  async open({ herdless, redis, url }) {
    const client = new Redis(url)
    const namespace = `bench-hits-${randomUUID()}`
    const cache = herdless.createCache({ store: redis.redisStore(client), namespace, ttl: '1h' })
    const all = Array.from({ length: manyKeys }, (_, key) => `${key}`)
    const value = { id: 7, name: 'a product' }
    await cache.getOrLoadMany(all, (wanted) => wanted.map(() => value))
    for (const key of all) await client.set(`${namespace}-raw:${key}`, JSON.stringify(value), 'PX', 3_600_000)
    const mget = async (/** @type {string[]} */ some) => {
      const found = await client.mget(some.map((key) => `${namespace}-raw:${key}`))
      return found.map((text) => JSON.parse(text ?? 'null'))
    }
    const parts = Array.from({ length: Math.ceil(manyKeys / 128) }, (_, part) =>
      all.slice(part * 128, part * 128 + 128),
    )
    return {
      ways: {
        'MGET of 128 keys each, and JSON': () => timeOfEach(manyKeys, () => Promise.all(parts.map(mget))),
        'herdless, getOrLoadMany': () => timeOfEach(manyKeys, () => cache.getOrLoadMany(all, () => [never()])),
      },
      close: async () => {
        await cache.close()
        client.disconnect()
      },
    }
  },
}

/** The heap that a load under way takes. @type {import('./line.mjs').Line} */
export const loadHeap = {
  title: 'Distinct keys that load at once, heap of each',
  unit: 'bytes',
  better: 'less',
  floor: 'herdless, in memory',
  goals: {},
  async open({ herdless }) {
    const cache = herdless.createCache()
    let round = 0
    return {
      ways: {
        'herdless, in memory': async () => {
          round++
          /** @type {(value: string) => void} */
          let end = () => undefined
          const loaded = new Promise((/** @type {(value: string) => void} */ resolve) => (end = resolve))
          /** @type {Promise<unknown>[]} */
          const all = Array.from({ length: keys })
          const before = heapUsed()
          for (let key = 0; key < keys; key++) all[key] = cache.getOrLoad(`${round}:${key}`, () => loaded)
          await sleep(50)
          const after = heapUsed()
          end('v')
          await Promise.all(all)
          return (after - before) / keys
        },
      },
      close: () => cache.close(),
    }
  },
}

/** Callers of a key whose result must not be stored. @type {import('./line.mjs').Line} */
export const uncacheable = {
  title: '500 callers of a key that cannot be stored, loader 300 ms: the last answer',
  unit: 'ms',
  better: 'less',
  floor: 'the loader alone',
  goals: { herdless: 2.1 },
  async open({ herdless, redis, url }) {
    const client = new Redis(url)
    const cache = herdless.createCache({ store: redis.redisStore(client), namespace: `bench-pass-${randomUUID()}` })
    let key = 0
    const last = async (/** @type {(key: string) => Promise<unknown>} */ way) => {
      const name = `k${key++}`
      const began = performance.now()
      await Promise.all(Array.from({ length: 500 }, () => way(name)))
      return performance.now() - began
    }
    return {
      ways: {
        'the loader alone': () => last(() => sleep(300)),
        herdless: () =>
          last((name) =>
            cache.getOrLoad(name, async ({ doNotStore }) => {
              doNotStore()
              await sleep(300)
            }),
          ),
      },
      close: async () => {
        await cache.close()
        client.disconnect()
      },
    }
  },
}

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { heapUsed, never, perSecond, processorTime, product } from './line.mjs'

/** Hits of the near cache, by how many copies there are. @type {import('./line.mjs').Line} */
export const nearKeys = {
  title: 'A hit of the near cache, by the number of copies',
  unit: 'hits a second',
  better: 'more',
  floor: '1,000 copies',
  goals: {},
  async open({ herdless }) {
    const counts = [1_000, 10_000, 100_000, 1_000_000]
    const values = 'shared'
    const cache = herdless.createCache({
      store: herdless.memoryStore({ max: 1_200_000, maxSize: 2 ** 31, values }),
      ttl: '1h',
    })
    for (let key = 0; key < 1_000_000; key++) await cache.getOrLoad(`k${key}`, () => key)
    for (let key = 0; key < 1_000_000; key++) await cache.getOrLoad(`k${key}`, never)
    return {
      ways: Object.fromEntries(
        counts.map((count) => {
          // Spread over all keys of the map, in an order that no cache of the processor helps with.
          const step = 7_919
          const hits = () => perSecond(200_000, (index) => cache.getOrLoad(`k${(index * step) % count}`, never))
          return [`${count.toLocaleString('en')} copies`, hits]
        }),
      ),
      close: () => cache.close(),
    }
  },
}

/**
 * Callers of one key that is being loaded.
 * @param {number} callers
 * @param {import('herdless').Cache} cache
 * @param {string} key
 */
async function crowd(callers, cache, key) {
  /** @type {(value: string) => void} */
  let end = () => undefined
  const loaded = new Promise((/** @type {(value: string) => void} */ resolve) => (end = resolve))
  const loader = () => loaded
  const leader = cache.getOrLoad(key, loader)
  await sleep(5)
  const all = Array.from({ length: callers }, () => cache.getOrLoad(key, loader))
  end('v')
  await Promise.all([leader, ...all])
}

/** Processor time of each waiting caller, by their number. @type {import('./line.mjs').Line} */
export const waiters = {
  title: 'A caller that joins a load of its own process, by the number of callers',
  unit: 'µs',
  better: 'less',
  floor: '1,000 callers',
  goals: {},
  async open({ herdless }) {
    const cache = herdless.createCache()
    let round = 0
    return {
      ways: Object.fromEntries(
        [100, 1_000, 10_000, 100_000].map((callers) => [
          `${callers.toLocaleString('en')} callers`,
          () => processorTime(callers, () => crowd(callers, cache, `k${round++}`)),
        ]),
      ),
      close: () => cache.close(),
    }
  },
}

/** The longest pause of the event loop while callers join and are answered. @type {import('./line.mjs').Line} */
export const loopPause = {
  title: 'The longest pause of the event loop while 100,000 callers in groups of 1,000 join a load and are answered',
  unit: 'ms',
  better: 'less',
  floor: 'promises in a Map',
  goals: {},
  async open({ herdless }) {
    const cache = herdless.createCache()
    let round = 0
    const longest = async (/** @type {(key: string, loader: () => Promise<string>) => Promise<unknown>} */ ask) => {
      const key = `k${round++}`
      /** @type {(value: string) => void} */
      let end = () => undefined
      const loaded = new Promise((/** @type {(value: string) => void} */ resolve) => (end = resolve))
      const loader = () => loaded
      const delay = monitorEventLoopDelay({ resolution: 1 })
      /** @type {Promise<unknown>[]} */
      const all = [ask(key, loader)]
      await sleep(5)
      delay.enable()
      for (let group = 0; group < 100; group++) {
        for (let caller = 0; caller < 1_000; caller++) all.push(ask(key, loader))
        await sleep(1)
      }
      end('v')
      await Promise.all(all)
      await sleep(5)
      delay.disable()
      return delay.max / 1e6
    }
    /** @type {Map<string, Promise<unknown>>} */
    const flights = new Map()
    return {
      ways: {
        'promises in a Map': () =>
          longest((key, loader) => {
            const flight = flights.get(key) ?? loader()
            flights.set(key, flight)
            return flight.then((value) => value)
          }),
        herdless: () => longest((key, loader) => cache.getOrLoad(key, loader)),
      },
      close: () => cache.close(),
    }
  },
}

/** Hits in Redis, by the number of tags. @type {import('./line.mjs').Line} */
export const tags = {
  title: 'A hit in Redis, 8 in flight, by the number of tags',
  unit: 'hits a second',
  better: 'more',
  floor: 'no tags',
  goals: {},
  async open({ herdless, redis, url }) {
    const client = new Redis(url)
    const cache = herdless.createCache({ store: redis.redisStore(client), namespace: 'bench-tags', ttl: '1h' })
    const ways = [0, 1, 8].map((count) => {
      const names = Array.from({ length: count }, (_, index) => `tag ${index}`)
      const key = (/** @type {number} */ index) => `${count}:${index % 100}`
      return { name: count === 0 ? 'no tags' : `${count} ${count === 1 ? 'tag' : 'tags'}`, names, key }
    })
    for (const { names, key } of ways) {
      for (let index = 0; index < 100; index++) await cache.set(key(index), product, { tags: names })
    }
    return {
      ways: Object.fromEntries(
        ways.map(({ name, names, key }) => [
          name,
          async () => {
            const calls = 500
            const began = performance.now()
            const caller = async (/** @type {number} */ first) => {
              for (let call = 0; call < calls; call++) await cache.getOrLoad(key(first + call), never, { tags: names })
            }
            await Promise.all(Array.from({ length: 8 }, (_, first) => caller(first)))
            return (8 * calls * 1_000) / (performance.now() - began)
          },
        ]),
      ),
      close: async () => {
        await cache.close()
        client.disconnect()
      },
    }
  },
}

/**
 * Hits in Redis, by the size of the value.
 * @param {number} bytes
 * @returns {import('./line.mjs').Line}
 */
export function valueOf(bytes) {
  return {
    title: `A hit in Redis, 8 in flight, value of ${bytes.toLocaleString('en')} bytes`,
    unit: 'hits a second',
    better: 'more',
    floor: 'GET and JSON.parse',
    goals: {},
    async open({ herdless, redis, url }) {
      const client = new Redis(url)
      const cache = herdless.createCache({ store: redis.redisStore(client), namespace: 'bench-size', ttl: '1h' })
      const value = { id: 7, text: 'x'.repeat(bytes - 20) }
      await client.set('bench-raw-size', JSON.stringify(value))
      await cache.set('size', value)
      const rate = async (/** @type {() => Promise<unknown>} */ way) => {
        const began = performance.now()
        let hits = 0
        const caller = async () => {
          for (; performance.now() < began + 200; hits++) await way()
        }
        await Promise.all(Array.from({ length: 8 }, caller))
        return (hits * 1_000) / (performance.now() - began)
      }
      return {
        ways: {
          'GET and JSON.parse': () =>
            rate(async () => JSON.parse(/** @type {string} */ (await client.get('bench-raw-size')))),
          // One key: the callers of a tick share its read.
          herdless: () => rate(() => cache.getOrLoad('size', never)),
        },
        close: async () => {
          await cache.close()
          client.disconnect()
        },
      }
    },
  }
}

/** The memory of Redis for one entry of some 200 bytes. @type {import('./line.mjs').Line} */
export const entryInRedis = {
  title: 'The memory of Redis for one entry of 200 bytes',
  unit: 'bytes',
  better: 'less',
  floor: 'SET with an expiry',
  goals: { herdless: 1.1 },
  async open({ herdless, redis, url }) {
    const client = new Redis(url)
    const cache = herdless.createCache({ store: redis.redisStore(client), namespace: 'bench-memory', ttl: '1h' })
    const key = '{bench-memory:product:7}'
    const plain = key.replace('memory', 'plains')
    await client.set(plain, JSON.stringify(product), 'PX', 3_600_000)
    await cache.set('product:7', product)
    const usage = async (/** @type {string} */ name) => Number(await client.memory('USAGE', name))
    return {
      ways: { 'SET with an expiry': () => usage(plain), herdless: () => usage(key) },
      close: async () => {
        await cache.close()
        client.disconnect()
      },
    }
  },
}

/** The heap for one near copy. @type {import('./line.mjs').Line} */
export const nearHeap = {
  title: 'The heap for one near copy of 200 bytes, with its value',
  unit: 'bytes',
  better: 'less',
  floor: 'lru.set() of the value',
  goals: {},
  async open({ herdless }) {
    const { LRUCache } = await import('lru-cache')
    const count = 10_000
    const copies = () => structuredClone(product)
    // What was used before is let go of in later turns of the event loop.
    const start = async () => {
      for (let turn = 0; turn < 3; turn++) {
        heapUsed()
        await sleep(10)
      }
      return heapUsed()
    }
    return {
      ways: {
        'lru.set() of the value': async () => {
          const before = await start()
          const lru = new LRUCache({ max: count })
          for (let key = 0; key < count; key++) lru.set(`k${key}`, copies())
          return (heapUsed() - before) / lru.size
        },
        'herdless, value in the store included': async () => {
          const before = await start()
          const cache = herdless.createCache({ ttl: '1h' })
          for (let key = 0; key < count; key++) await cache.set(`k${key}`, product)
          for (let key = 0; key < count; key++) await cache.getOrLoad(`k${key}`, never)
          const after = heapUsed()
          await cache.close()
          return (after - before) / count
        },
      },
      close: async () => undefined,
    }
  },
}

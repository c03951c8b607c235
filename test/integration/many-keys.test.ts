import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createCache, type Cache } from '../../src/index.ts'
import { redisStore } from '../../src/redis/index.ts'
import { until } from '../../scripts/until.mjs'
import { CommandCounter } from '../support/command-counts.ts'
import { startCluster, startRedis, type RedisServer } from '../support/servers.ts'

const keys = Array.from({ length: 100 }, (_, index) => `k${index}`)
const values = keys.map((key) => `of ${key}`)

describe('getOrLoadMany on Redis', () => {
  let server: RedisServer
  let counter: CommandCounter
  const opened: { cache: Cache; client: Redis }[] = []

  beforeAll(async () => {
    server = await startRedis()
    counter = await CommandCounter.start(server.client)
  })

  afterAll(async () => {
    for (const { cache, client } of opened) {
      await cache.close()
      client.disconnect()
    }
    counter.stop()
    await server.stop()
  })

  /** Caches with nothing in common but the server, which are told of outcomes. */
  async function open(many: number): Promise<Cache[]> {
    const namespace = randomUUID()
    const caches = Array.from({ length: many }, () => {
      const client = new Redis({ ...server.address })
      const cache = createCache({ store: redisStore(client), namespace })
      opened.push({ cache, client })
      return cache
    })
    const listening = async (): Promise<boolean> => {
      return ((await server.client.pubsub('CHANNELS', 'herdless:inbox:*')) as unknown[]).length === opened.length
    }
    await until('all are told of outcomes', listening)
    await Promise.all(caches.map((cache) => cache.getOrLoad(randomUUID(), () => 1)))
    return caches
  }

  test('loads each of a hundred keys once in the fleet, with four commands a process', async () => {
    const caches = await open(4)
    const [first] = caches as [Cache]
    await Promise.all(keys.slice(0, 50).map((key) => first.set(key, `of ${key}`)))
    const loaded: string[] = []
    const calls: number[] = []
    await counter.reset()
    const answers = await Promise.all(
      caches.map(async (cache, index) => {
        const answer = await cache.getOrLoadMany(keys, async (wanted) => {
          calls.push(index)
          loaded.push(...wanted)
          await pause(100)
          return wanted.map((key) => `of ${key}`)
        })
        return answer
      }),
    )
    const { publish: _, time: __, ...counts } = await counter.counts()
    expect(answers).toEqual(caches.map(() => values))
    expect(loaded.toSorted()).toEqual(keys.slice(50).toSorted())
    expect(new Set(calls).size, 'each calls its loader once at most').toBe(calls.length)
    expect(counts, 'a read and a claim each, and a fill of each that has loaded').toEqual({
      mget: 4,
      evalsha: 4 + calls.length,
    })
  })

  test('fills values of many megabytes in several commands', async () => {
    const [cache, other] = (await open(2)) as [Cache, Cache]
    const large = Array.from({ length: 8 }, (_, index) => `large ${index}`)
    const load = (wanted: readonly string[]): string[] => wanted.map((key) => key.repeat(50_000))
    await counter.reset()
    expect(await cache.getOrLoadMany(large, load)).toEqual(load(large))
    const { evalsha = 0 } = await counter.counts()
    expect(evalsha, 'a claim, and fills of a megabyte at most').toBeGreaterThan(4)
    expect(await other.getOrLoadMany(large, () => [])).toEqual(load(large))
  })

  test('loads each key once in a cluster, too', async () => {
    const cluster = await startCluster()
    const clients = Array.from({ length: 2 }, () => cluster.connect())
    const caches = clients.map((client) => createCache({ store: redisStore(client), namespace: randomUUID() }))
    try {
      const loaded: string[] = []
      const [cache] = caches as [Cache]
      const ask = (): Promise<unknown> =>
        cache.getOrLoadMany(keys, async (wanted) => {
          loaded.push(...wanted)
          await pause(20)
          return wanted.map((key) => `of ${key}`)
        })
      expect(await Promise.all([ask(), ask()])).toEqual([values, values])
      expect(loaded.toSorted()).toEqual(keys.toSorted())
      await until('all are stored', async () => (await cache.peek('k99')).state === 'fresh')
    } finally {
      await Promise.all(caches.map((each) => each.close()))
      for (const client of clients) client.disconnect()
      await cluster.stop()
    }
  })
})

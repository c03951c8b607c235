import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createCache, type Cache } from '../../src/index.ts'
import { redisStore } from '../../src/redis/index.ts'
import { until } from '../../tools/until.mjs'
import { Caches } from '../support/caches.ts'
import { startCluster } from '../support/servers.ts'

const keys = Array.from({ length: 100 }, (_, index) => `k${index}`)
const values = keys.map((key) => `of ${key}`)

describe('getOrLoadMany on Redis', () => {
  let caches: Caches

  beforeAll(async () => {
    caches = await Caches.start()
  })

  afterAll(async () => {
    await caches.stop()
  })

  /** Several of one namespace. */
  async function open(many: number): Promise<Cache[]> {
    const namespace = randomUUID()
    const opened = await Promise.all(Array.from({ length: many }, () => caches.open({ namespace })))
    return opened.map(({ cache }) => cache)
  }

  test('loads each of a hundred keys once in the fleet, with four commands a process', async () => {
    const fleet = await open(4)
    const [first] = fleet as [Cache]
    await Promise.all(keys.slice(0, 50).map((key) => first.set(key, `of ${key}`)))
    const loaded: string[] = []
    const calls: number[] = []
    let waits = 0
    for (const cache of fleet) cache.on('wait', () => waits++)
    const ask = (cache: Cache, index: number): Promise<unknown> =>
      cache.getOrLoadMany(keys, async (wanted) => {
        calls.push(index)
        loaded.push(...wanted)
        // Until each process loads or waits for each key.
        await until('all have claimed', () => waits + loaded.length === 4 * 50)
        return wanted.map((key) => `of ${key}`)
      })
    const counts = await caches.sent(async () => {
      expect(await Promise.all(fleet.map(ask))).toEqual(fleet.map(() => values))
    })
    expect(loaded.toSorted()).toEqual(keys.slice(50).toSorted())
    expect(new Set(calls).size, 'each calls its loader once at most').toBe(calls.length)
    expect(counts, 'a read and a claim each, and a fill of each that has loaded').toEqual({
      mget: 4,
      evalsha: 4 + calls.length,
    })
  })

  test('reads what is asked for in one tick with one command, and where others were just answered with several', async () => {
    const [cache] = (await open(1)) as [Cache]
    await Promise.all(keys.map((key) => cache.set(key, `of ${key}`)))
    const never = (): never => expect.unreachable('all are there')
    const atOnce = await caches.sent(async () => {
      expect(await cache.getOrLoadMany(keys, never)).toEqual(values)
    })
    expect(atOnce).toEqual({ mget: 1 })
    // The answer to the first command reaches all callers in one tick. What they ask then is answered by several
    // commands, which need not arrive together: a third turn has no certain count.
    const callers = 12
    const again = await caches.sent(async () => {
      const ask = async (key: string): Promise<void> => {
        expect(await cache.getOrLoad(key, never)).toBe(`of ${key}`)
        expect(await cache.getOrLoad(key, never)).toBe(`of ${key}`)
      }
      await Promise.all(keys.slice(0, callers).map(ask))
    })
    expect(again, 'one for all, then one for two each').toEqual({ mget: 1 + callers / 2 })
  })

  test('fills values of many megabytes in several commands', async () => {
    const [cache, other] = (await open(2)) as [Cache, Cache]
    const large = Array.from({ length: 8 }, (_, index) => `large ${index}`)
    const load = (wanted: readonly string[]): string[] => wanted.map((key) => key.repeat(50_000))
    const { evalsha = 0 } = await caches.sent(async () => {
      expect(await cache.getOrLoadMany(large, load)).toEqual(load(large))
    })
    expect(evalsha, 'a claim, and fills of a megabyte at most').toBeGreaterThan(4)
    expect(await other.getOrLoadMany(large, () => [])).toEqual(load(large))
  })

  test('loads each key once in a cluster, too', async () => {
    await using cluster = await startCluster()
    const options = { namespace: randomUUID(), commandTimeout: '10s' } as const
    const openOne = (): Cache => createCache({ ...options, store: redisStore(cluster.connect()) })
    await using one = openOne()
    await using other = openOne()
    const loaded: string[] = []
    const ask = (each: Cache): Promise<unknown> =>
      each.getOrLoadMany(keys, async (wanted) => {
        loaded.push(...wanted)
        await pause(20)
        return wanted.map((key) => `of ${key}`)
      })
    expect(await Promise.all([one, one, other, other].map(ask))).toEqual(Array(4).fill(values))
    expect(loaded.toSorted()).toEqual(keys.toSorted())
    await until('all are stored', async () => (await one.peek('k99')).state === 'fresh')
  })
})

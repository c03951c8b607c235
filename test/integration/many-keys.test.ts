import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createCache, type Cache } from '../../src/index.ts'
import { redisStore } from '../../src/redis/index.ts'
import { until } from '../../tools/until.mjs'
import { Caches } from '../support/caches.ts'
import type { CommandCounts } from '../support/command-counts.ts'
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

  test('loads each of a hundred keys once in the fleet', async () => {
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
        await until('all have claimed', () => waits + loaded.length === 4 * 50, 60_000)
        return wanted.map((key) => `of ${key}`)
      })
    expect(await Promise.all(fleet.map(ask))).toEqual(fleet.map(() => values))
    expect(loaded.toSorted()).toEqual(keys.slice(50).toSorted())
    expect(new Set(calls).size, 'each calls its loader once at most').toBe(calls.length)
  })

  /** On a busy machine a process does something besides now and then: it need be so in some round. */
  async function cost(
    sent: (keys: readonly string[]) => Promise<CommandCounts>,
    expected: CommandCounts,
  ): Promise<void> {
    let round = 0
    await until(`it costs ${JSON.stringify(expected)}`, async () => {
      const counts = await sent(keys.map((key) => `${key} of round ${round}`))
      expect(counts['mget'], 'its reads are always one').toBe(1)
      return ++round > 0 && isDeepStrictEqual(counts, expected)
    })
  }

  test('costs one that is alone a read, a claim and a fill, however many keys', async () => {
    const [cache] = (await open(1)) as [Cache]
    const alone = (all: readonly string[]): Promise<CommandCounts> =>
      caches.sent(async () => expect(await cache.getOrLoadMany(all, (wanted) => [...wanted])).toEqual(all))
    await cost(alone, { mget: 1, evalsha: 2 })
  })

  test('costs one that waits for all of them a read and a claim', async () => {
    const [holder, waiter] = (await open(2)) as [Cache, Cache]
    let waits = 0
    waiter.on('wait', () => waits++)
    const waiting = async (all: readonly string[]): Promise<CommandCounts> => {
      let end!: () => void
      const ended = new Promise<void>((resolve) => (end = resolve))
      let answers!: Promise<unknown[]>[]
      await new Promise<void>((begun) => {
        answers = [holder.getOrLoadMany(all, async (wanted) => (begun(), await ended, [...wanted]))]
      })
      waits = 0
      const counts = await caches.sent(async () => {
        answers.push(waiter.getOrLoadMany(all, () => expect.unreachable('another loads them')))
        await until('it waits for all', () => waits === all.length)
      })
      end()
      expect(await Promise.all(answers)).toEqual([all, all])
      return counts
    }
    await cost(waiting, { mget: 1, evalsha: 1 })
  })

  test('reads what is asked for in one tick with one command', async () => {
    const [cache] = (await open(1)) as [Cache]
    await Promise.all(keys.map((key) => cache.set(key, `of ${key}`)))
    const never = (): never => expect.unreachable('all are there')
    const atOnce = await caches.sent(async () => {
      expect(await cache.getOrLoadMany(keys, never)).toEqual(values)
    })
    expect(atOnce).toEqual({ mget: 1 })
  })

  test('reads what is asked for in several ticks of one turn of the event loop with few commands', async () => {
    const [cache] = (await open(1)) as [Cache]
    await Promise.all(keys.map((key) => cache.set(key, `of ${key}`)))
    const never = (): never => expect.unreachable('all are there')
    // As requests arrive at a server: each in a tick of its own.
    const askInTicks = (): Promise<Promise<string>[]> =>
      new Promise((resolve) => {
        const asked: Promise<string>[] = []
        for (const key of keys) {
          setImmediate(() => {
            if (asked.push(cache.getOrLoad(key, never)) === keys.length) resolve(asked)
          })
        }
      })
    const { get = 0, mget = 0 } = await caches.sent(async () => {
      expect(await Promise.all(await askInTicks())).toEqual(values)
    })
    expect(get + mget, 'that of the first tick, and those among which the rest is divided').toBeLessThanOrEqual(8)
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
    const options = { namespace: randomUUID(), commandTimeout: '30s' } as const
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

import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { createCache } from '../../src/index.ts'
import { redisStore } from '../../src/redis/index.ts'
import { startRedis } from '../support/servers.ts'

/** How long the source rests after a failure, and how long it takes to fail, in milliseconds. */
const cooldown = 300
const takes = 30

test.for([
  ['without copies', undefined],
  ['with copies in each process', {}],
] as const)(
  'a dead source is asked once per cool-down by the whole fleet, which is served what is stale, %s',
  async ([, near]) => {
    await using server = await startRedis()
    const clients = Array.from({ length: 4 }, () => new Redis({ ...server.address }))
    const settings = { ttl: '1h', grace: '1h', failureCooldown: cooldown, near, commandTimeout: '30s' } as const
    const options = { namespace: 'shop', ...settings }
    const caches = clients.map((client) => createCache({ ...options, store: redisStore(client) }))
    let alive = true
    const asked: number[] = []
    const source = async (): Promise<string> => {
      const fails = !alive
      const first = asked.push(performance.now()) === 1
      await pause(takes)
      if (fails) throw new Error('down')
      return first ? 'stale' : 'new'
    }
    const askAll = (): Promise<string[]> => Promise.all(caches.map((cache) => cache.getOrLoad('k', source)))
    try {
      expect(await askAll()).toEqual(caches.map(() => 'stale'))
      await caches[0]?.expire('k')
      alive = false
      await until(
        'the source has been asked some times more',
        async () => {
          // One after the other, with time for a load in between: who was not part of one must have heard of it too.
          for (const cache of caches) {
            expect(await cache.getOrLoad('k', source)).toBe('stale')
            await pause(2 * takes)
          }
          return asked.length > 5
        },
        60_000,
      )
      // From the end of one to the beginning of the next; timers may be a little early.
      const failed = asked.slice(1)
      const rests = failed.slice(1).map((at, index) => at - (failed[index] as number) - takes)
      expect(rests.filter((rest) => rest < cooldown - 5)).toEqual([])

      alive = true
      const before = asked.length
      await until('all are served what is new', async () => (await askAll()).every((value) => value === 'new'))
      expect(asked.length - before, 'the first that asks it again').toBe(1)
    } finally {
      await Promise.all(caches.map((cache) => cache.close()))
      for (const client of clients) client.disconnect()
    }
  },
)

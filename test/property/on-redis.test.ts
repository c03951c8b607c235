import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, expect, inject, test } from 'vitest'
import { createCache, type Cache, type CacheOptions } from '../../src/index.ts'
import { redisStore, type RedisStoreOptions } from '../../src/redis/index.ts'
import { operations, play } from './play.ts'

const kinds: readonly (RedisStoreOptions & CacheOptions)[] = [
  { wakeUp: 'push', ttl: 50, grace: '1m', failureCooldown: 20 },
  { wakeUp: 'push', softTimeout: 10, grace: '1m', ttl: 20, failureCooldown: 0 },
  { wakeUp: 'poll', ttl: 20, failureCooldown: 20 },
]

const clients: Redis[] = []
const opened: Cache[] = []

afterAll(async () => {
  await Promise.all(opened.map((cache) => cache.close()))
  for (const client of clients) client.disconnect()
})

/** Three processes, as it were, each with a client of its own. */
function fleet({ wakeUp, ...options }: RedisStoreOptions & CacheOptions): Cache[] {
  return Array.from({ length: 3 }, () => {
    const client = new Redis(inject('redisUrl'))
    // A machine that is busy for a while is no fault.
    const cache = createCache({
      ...options,
      commandTimeout: '10s',
      store: redisStore(client, wakeUp === undefined ? {} : { wakeUp }),
    })
    clients.push(client)
    opened.push(cache)
    return cache
  })
}

test('no call gets a value from before an invalidation that had resolved, and every call is answered, on Redis (rule 4)', async () => {
  const fleets = kinds.map(fleet)
  const property = fc.asyncProperty(
    fc.nat(kinds.length - 1),
    operations({ within: 250, caches: 3, most: 40 }),
    async (kind, all) => {
      const caches = fleets[kind] ?? []
      const stage = { caches, pause: (ms: number) => pause(ms), prefix: `${randomUUID()}:`, faulty: false }
      expect(await play(all, stage)).toEqual([])
    },
  )
  // What is found depends on the moment, so a smaller case would not show it again.
  await fc.assert(property, { numRuns: 25, endOnFailure: true })
})

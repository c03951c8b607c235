import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { expect, inject, test } from 'vitest'
import { createCache, loadContext, type CacheOptions } from '../../src/index.ts'
import { redisStore } from '../../src/redis/index.ts'

test('a function that two caches wrap under one name is one function on Redis', async () => {
  const clients = [new Redis(inject('redisUrl')), new Redis(inject('redisUrl'))]
  const options: CacheOptions = { namespace: `wrap-${randomUUID()}`, ttl: '1m', commandTimeout: '30s' }
  const caches = clients.map((client) => createCache({ ...options, store: redisStore(client) }))
  try {
    const calls: unknown[][] = []
    let finish!: () => void
    let running = new Promise<void>((resolve) => (finish = resolve))
    const search = async (filter: { name: string; since?: Date }, page: number): Promise<string> => {
      calls.push([filter, page])
      await running
      loadContext()?.ttl('5m')
      return `${filter.name} ${calls.length}`
    }
    const [one, other] = caches.map((cache) => cache.wrap(search, { key: 'search', failureCooldown: 0 }))
    if (one === undefined || other === undefined) throw new Error('Expected two caches')

    // One load for all, and one key however the properties are ordered.
    const since = new Date(0)
    const waits = new Promise((resolve) => caches[1]?.on('wait', resolve))
    const loads = new Promise((resolve) => caches[0]?.on('load', resolve))
    const first = [one({ name: 'Ada', since }, 1), one({ since, name: 'Ada' }, 1)]
    await loads
    const second = [other({ since, name: 'Ada' }, 1), other({ name: 'Ada', since }, 1)]
    await waits
    finish()
    expect(await Promise.all([...first, ...second])).toEqual(Array(4).fill('Ada 1'))
    expect(calls).toEqual([[{ name: 'Ada', since }, 1]])

    // Its key can be read in Redis, and its value is as its context said.
    const key = 'search({name:"Ada",since:1970-01-01T00:00:00.000Z},1)'
    expect(await clients[0]?.exists(`{${options.namespace}:${key}}`)).toBe(1)
    const seen = await other.peek({ since, name: 'Ada' }, 1)
    expect(seen.state === 'fresh' && seen.ttl > 60_000).toBe(true)

    // An invalidation by one voids the load of the other.
    running = new Promise<void>((resolve) => (finish = resolve))
    const reloads = new Promise((resolve) => caches[0]?.on('load', resolve))
    const refreshing = one.refresh({ name: 'Ada', since }, 1)
    await reloads
    await other.invalidate({ name: 'Ada', since }, 1)
    const after = other({ name: 'Ada', since }, 1)
    finish()
    expect(await after).toBe('Ada 3')
    expect(['Ada 2', 'Ada 3']).toContain(await refreshing)
    expect(await one({ name: 'Ada', since }, 1)).toBe('Ada 3')
  } finally {
    await Promise.all(caches.map((cache) => cache.close()))
    for (const client of clients) client.disconnect()
  }
})

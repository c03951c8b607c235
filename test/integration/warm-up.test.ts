import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { expect, inject, test } from 'vitest'
import { createCache, warmUp, type CacheOptions } from '../../src/index.ts'
import { redisStore } from '../../src/redis/index.ts'

test('two caches that warm up at once load each key once on Redis', async () => {
  const client = new Redis(inject('redisUrl'))
  const clients = [client, new Redis(inject('redisUrl'))]
  const options: CacheOptions = { namespace: `warm-${randomUUID()}`, ttl: '1h', commandTimeout: '30s' }
  const caches = clients.map((client) => createCache({ ...options, store: redisStore(client) }))
  try {
    const keys = Array.from({ length: 500 }, (_, index) => `k${index}`)
    const loads = new Map<string, number>()
    const loader = async ({ key }: { key: string }): Promise<string> => {
      loads.set(key, (loads.get(key) ?? 0) + 1)
      await new Promise((resolve) => setTimeout(resolve, 1))
      if (key === 'k250') throw new Error('no such row')
      return key
    }
    const results = await Promise.all(
      caches.map((cache) => warmUp(cache, keys, loader, { concurrency: 10, failureCooldown: '1m' })),
    )
    expect(loads).toEqual(new Map(keys.map((key) => [key, 1])))
    expect(results.reduce((sum, { loaded }) => sum + loaded, 0)).toBe(499)
    const failures = [{ key: 'k250', error: expect.objectContaining({ message: 'no such row' }) as unknown }]
    for (const result of results) {
      expect(result).toMatchObject({ failed: 1, failures })
      expect(result.loaded + result.present).toBe(499)
    }

    // Each ttl is shortened by up to a tenth; what remembers the failure lives for a minute.
    const ttls = await Promise.all(keys.map((key) => client.pttl(`{${options.namespace}:${key}}`)))
    const hours = ttls.filter((ttl) => ttl > 120_000).map((ttl) => ttl / 3_600_000)
    expect(hours).toHaveLength(499)
    expect(Math.max(...hours) - Math.min(...hours)).toBeGreaterThan(0.05)
    expect(Math.min(...hours)).toBeGreaterThan(0.89)
  } finally {
    await Promise.all(caches.map((cache) => cache.close()))
    for (const client of clients) client.disconnect()
  }
})

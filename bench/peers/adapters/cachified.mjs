/**
 * As in https://www.npmjs.com/package/@epic-web/cachified: one cache, with the adapter for redis that it names, or an
 * LRU cache in memory.
 */
import { cachified, totalTtl } from '@epic-web/cachified'
import { redisCacheAdapter } from 'cachified-redis-adapter'
import { LRUCache } from 'lru-cache'
import { createClient } from 'redis'

/** @param {import('../peer.mjs').Setup} setup @returns {Promise<import('../peer.mjs').Peer>} */
export async function open({ url, name, namespace, memory }) {
  const redis = createClient({ url, name })
  await redis.connect()
  const cache = memory ? lru() : redisCacheAdapter(redis)
  return {
    getOrLoad: (key, loader) =>
      cachified({ key: `${namespace}:${key}`, cache, ttl: 60_000, getFreshValue: () => loader() }),
    invalidate: async (key) => cache.delete(`${namespace}:${key}`),
    close: async () => redis.destroy(),
  }
}

/** @returns {import('@epic-web/cachified').Cache} */
function lru() {
  const instance = new LRUCache({ max: 10_000 })
  return {
    set(key, value) {
      const ttl = totalTtl(value?.metadata)
      return instance.set(key, value, {
        ttl: ttl === Number.POSITIVE_INFINITY ? undefined : ttl,
        start: value?.metadata?.createdTime,
      })
    },
    get: (key) => instance.get(key),
    delete: (key) => instance.delete(key),
  }
}

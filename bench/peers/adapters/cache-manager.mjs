/** As in https://www.npmjs.com/package/cache-manager: Redis as the only store, or behind one in memory. */
import KeyvRedis, { createClient } from '@keyv/redis'
import { createCache } from 'cache-manager'
import { CacheableMemory } from 'cacheable'
import { Keyv } from 'keyv'

/** @param {import('../peer.mjs').Setup} setup @returns {Promise<import('../peer.mjs').Peer>} */
export async function open({ url, name, namespace, memory }) {
  const client = createClient({ url, name })
  await client.connect()
  const redis = new Keyv({ store: new KeyvRedis(client), namespace })
  const near = new Keyv({ store: new CacheableMemory({ ttl: 60_000, lruSize: 5_000 }), namespace })
  const cache = createCache({ ttl: 60_000, stores: memory ? [near, redis] : [redis] })
  return {
    getOrLoad: (key, loader) => cache.wrap(key, loader),
    invalidate: (key) => cache.del(key),
    close: () => cache.disconnect(),
  }
}

/** As in https://www.npmjs.com/package/cacheable: Redis as the secondary store of one in memory; without memory, as the primary. */
import KeyvRedis, { createClient } from '@keyv/redis'
import { Cacheable } from 'cacheable'

/** @param {import('../peer.mjs').Setup} setup @returns {Promise<import('../peer.mjs').Peer>} */
export async function open({ url, name, namespace, memory }) {
  const client = createClient({ url, name })
  await client.connect()
  const redis = new KeyvRedis(client)
  const cache = new Cacheable({ namespace, ttl: '1m', ...(memory ? { secondary: redis } : { primary: redis }) })
  return {
    getOrLoad: (key, loader) => cache.getOrSet(key, loader),
    invalidate: (key) => cache.delete(key),
    close: () => cache.disconnect(),
  }
}

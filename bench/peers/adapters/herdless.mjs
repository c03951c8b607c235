/** The build of this checkout. */
import { Redis } from 'ioredis'
import { createCache } from '../../../dist/esm/index.js'
import { redisStore } from '../../../dist/esm/redis/index.js'
import { connected } from '../peer.mjs'

/** @param {import('../peer.mjs').Setup} setup @returns {Promise<import('../peer.mjs').Peer>} */
export async function open({ url, name, namespace, memory, lockTtl }) {
  const redis = await connected(new Redis(url, { connectionName: name }))
  const cache = createCache({
    store: redisStore(redis),
    namespace,
    ...(memory ? { near: {} } : {}),
    ...(lockTtl === undefined ? {} : { leaseTtl: lockTtl }),
  })
  return {
    getOrLoad: (key, loader) => cache.getOrLoad(key, loader),
    invalidate: (key) => cache.invalidate(key),
    close: async () => {
      await cache.close()
      redis.disconnect()
    },
  }
}

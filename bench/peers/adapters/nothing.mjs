/** Plain cache-aside: look; if it is not there, load it and store it. */
import { Redis } from 'ioredis'
import { connected } from '../peer.mjs'

/** @param {import('../peer.mjs').Setup} setup @returns {Promise<import('../peer.mjs').Peer>} */
export async function open({ url, name, namespace }) {
  const redis = await connected(new Redis(url, { connectionName: name }))
  return {
    async getOrLoad(key, loader) {
      const found = await redis.get(`${namespace}:${key}`)
      if (found !== null) return JSON.parse(found)
      const value = await loader()
      await redis.set(`${namespace}:${key}`, JSON.stringify(value), 'PX', 60_000)
      return value
    },
    invalidate: (key) => redis.del(`${namespace}:${key}`),
    close: async () => redis.disconnect(),
  }
}

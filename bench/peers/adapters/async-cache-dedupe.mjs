/** As in https://www.npmjs.com/package/async-cache-dedupe: one storage, Redis or memory. Its loader belongs to the cache. */
import { createCache } from 'async-cache-dedupe'
import { Redis } from 'ioredis'
import { connected, loaders } from '../peer.mjs'

/** @param {import('../peer.mjs').Setup} setup @returns {Promise<import('../peer.mjs').Peer>} */
export async function open({ url, name, namespace, memory }) {
  const client = await connected(new Redis(url, { connectionName: name }))
  const { load, withLoader } = loaders()
  const storage = memory ? { type: 'memory', options: { size: 10_000 } } : { type: 'redis', options: { client } }
  const cache = createCache({ ttl: 60, storage })
  cache.define(namespace, load)
  return {
    getOrLoad: withLoader((key) => cache[namespace](key)),
    invalidate: (key) => cache.clear(namespace, key),
    close: async () => client.disconnect(),
  }
}

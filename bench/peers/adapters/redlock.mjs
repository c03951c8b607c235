/**
 * The recipe that its users write: look, take the lock, look again, load and store. The lock is taken by `using`, which
 * extends it while the work runs; the settings are the defaults of https://www.npmjs.com/package/redlock.
 */
import { Redis } from 'ioredis'
import Redlock from 'redlock'
import { connected } from '../peer.mjs'

/** @param {import('../peer.mjs').Setup} setup @returns {Promise<import('../peer.mjs').Peer>} */
export async function open({ url, name, namespace, lockTtl = 5_000 }) {
  const redis = await connected(new Redis(url, { connectionName: name }))
  const redlock = new Redlock([redis])
  redlock.on('error', () => {})
  const read = async (/** @type {string} */ key) => {
    const found = await redis.get(key)
    return found === null ? undefined : JSON.parse(found)
  }
  return {
    async getOrLoad(name, loader) {
      const key = `${namespace}:${name}`
      const found = await read(key)
      if (found !== undefined) return found
      return redlock.using([`${key}:lock`], lockTtl, async () => {
        const meanwhile = await read(key)
        if (meanwhile !== undefined) return meanwhile
        const value = await loader()
        await redis.set(key, JSON.stringify(value), 'PX', 60_000)
        return value
      })
    },
    invalidate: (key) => redis.del(`${namespace}:${key}`),
    close: async () => redis.disconnect(),
  }
}

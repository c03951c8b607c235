import { Redis } from 'ioredis'

import { openRedis } from '../../tools/servers/start-redis.mjs'

/**
 * A Redis for the lab: a server of its own on a free port, or the one that REDIS_URL names, where everything goes into
 * one namespace and is deleted at the end.
 *
 * @typedef {object} LabRedis
 * @property {string} url
 * @property {string} version
 * @property {string} namespace
 * @property {() => Promise<void>} stop  leaves nothing behind
 */

/** @returns {Promise<LabRedis>} */
export async function startRedis() {
  const namespace = `herdless-lab-${Math.random().toString(36).slice(2, 8)}`
  const server = await openRedis()
  const redis = await connect(server.url)
  const version = /redis_version:(\S+)/.exec(await redis.info('server'))?.[1] ?? 'of an unknown version'
  return {
    url: server.url,
    version,
    namespace,
    async stop() {
      if (process.env['REDIS_URL']) await deleteAll(redis, namespace)
      redis.disconnect()
      await server.stop()
    },
  }
}

/** @param {string} url */
async function connect(url) {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: null, connectTimeout: 3_000 })
  // The reason why there is no connection comes as an event, the promise only says that there is none.
  /** @type {Error | undefined} */
  let reason
  redis.on('error', (error) => (reason = error))
  await redis.connect().catch((error) => {
    throw new Error(`no Redis answers at the address in REDIS_URL: ${(reason ?? error).message}`)
  })
  return redis
}

/**
 * @param {Redis} redis
 * @param {string} namespace
 */
async function deleteAll(redis, namespace) {
  for await (const keys of redis.scanStream({ match: `*${namespace}*`, count: 1_000 })) {
    if (keys.length > 0) await redis.unlink(...keys)
  }
}

/** As in https://www.npmjs.com/package/layered-loader: Redis, or memory before it with update notifications. */
import { Redis } from 'ioredis'
import { createNotificationPair, Loader, RedisCache } from 'layered-loader'
import { connected, loaders } from '../peer.mjs'

/** @param {import('../peer.mjs').Setup} setup @returns {Promise<import('../peer.mjs').Peer>} */
export async function open({ url, name, namespace, memory }) {
  const clientOf = () => connected(new Redis(url, { connectionName: name }))
  const [redis, publisherRedis, consumerRedis] = [await clientOf(), await clientOf(), await clientOf()]
  const { load, withLoader } = loaders()
  const { publisher, consumer } = createNotificationPair({ channel: namespace, publisherRedis, consumerRedis })
  const near = {
    inMemoryCache: { cacheType: 'lru-map', ttlInMsecs: 60_000, maxItems: 10_000 },
    notificationPublisher: publisher,
    notificationConsumer: consumer,
  }
  const loader = new Loader({
    ...(memory ? near : {}),
    asyncCache: new RedisCache(redis, { json: true, ttlInMsecs: 60_000, prefix: namespace }),
    dataSourceGetOneFn: load,
  })
  await loader.init()
  return {
    getOrLoad: withLoader((key) => loader.get(key)),
    invalidate: (key) => loader.invalidateCacheFor(key),
    close: async () => {
      for (const client of [redis, publisherRedis, consumerRedis]) client.disconnect()
    },
  }
}

/** As in https://bentocache.dev/docs/quick-setup: one store; in memory with a bus, as its page on multi-tier caching says. */
import { BentoCache, bentostore } from 'bentocache'
import { memoryDriver } from 'bentocache/drivers/memory'
import { redisBusDriver, redisDriver } from 'bentocache/drivers/redis'
import { Redis } from 'ioredis'
import { connected } from '../peer.mjs'

/** @param {import('../peer.mjs').Setup} setup @returns {Promise<import('../peer.mjs').Peer>} */
export async function open({ url, name, namespace, memory }) {
  const connection = await connected(new Redis(url, { connectionName: name }))
  const options = { connectionName: name, ...addressOf(url) }
  const store = memory
    ? bentostore()
        .useL1Layer(memoryDriver({ maxSize: '10mb' }))
        .useL2Layer(redisDriver({ connection }))
        .useBus(redisBusDriver({ connection: options }))
    : bentostore().useL2Layer(redisDriver({ connection }))
  const bento = new BentoCache({ default: 'cache', prefix: namespace, ttl: '1m', stores: { cache: store } })
  return {
    getOrLoad: (key, loader) => bento.getOrSet({ key, factory: loader }),
    invalidate: (key) => bento.delete({ key }),
    close: () => bento.disconnectAll(),
  }
}

/** @param {string} url */
function addressOf(url) {
  const { hostname, port, password } = new URL(url)
  return { host: hostname, port: Number(port), password: decodeURIComponent(password) }
}

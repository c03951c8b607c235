/**
 * A price is changed while it is being loaded. The old one is neither stored nor given to anybody. It prints
 *
 *   the loader has read 10
 *   the price is changed, and invalidated
 *   the first loader is told: LEASE_LOST
 *   the loader has read 12
 *   the caller is given 12
 *   in Redis: 12
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createCache } from 'herdless'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379')
const cache = createCache({ store: redisStore(redis), namespace: 'example-3', ttl: '10s' })
await cache.invalidate('price') // the value of an earlier run

let price = 10
/** @param {import('herdless').LoadContext} context */
async function loadPrice({ signal }) {
  const read = price
  console.log('the loader has read', read)
  signal.addEventListener('abort', () => console.log('the first loader is told:', signal.reason.code))
  await sleep(300)
  return read
}

const caller = cache.getOrLoad('price', loadPrice)
await new Promise((resolve) => cache.on('load', resolve))
price = 12
console.log('the price is changed, and invalidated')
await cache.invalidate('price')
console.log('the caller is given', await caller)
console.log('in Redis:', await cache.getOrLoad('price', loadPrice))

await cache.close()
redis.disconnect()

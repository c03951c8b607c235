/**
 * A value is replaced before it expires, so nobody ever waits for it: neither with a threshold nor with XFetch. It prints
 *
 *   threshold: 0 of 1500 callers waited, values replaced before their time: true
 *   xfetch: 0 of 1500 callers waited, values replaced before their time: true
 *   neither: some callers waited
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createCache } from 'herdless'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379')
const cache = createCache({ store: redisStore(redis), namespace: 'example-11', ttl: '1s' })
let misses = 0
cache.on('miss', () => misses++)

/**
 * Asks every 2 ms, fifteen hundred times, for what takes 200 ms to load.
 * @param {string} key
 * @param {import('herdless').CallOptions} options
 */
async function ask(key, options) {
  let loads = 0
  const loader = () => sleep(200, ++loads)
  await cache.refresh(key, loader, options)
  misses = 0
  for (let call = 0; call < 1_500; call++, await sleep(2)) void cache.getOrLoad(key, loader, options)
  return `${misses} of 1500 callers waited, values replaced before their time: ${loads > 3}`
}

console.log('threshold:', await ask('a', { refreshAhead: 0.5 }))
console.log('xfetch:', await ask('b', { refreshAhead: 'xfetch' }))
await ask('c', {})
console.log(`neither: ${misses > 0 ? 'some' : 'no'} callers waited`)
await cache.close()
redis.disconnect()

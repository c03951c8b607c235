/**
 * With a grace, a value past its ttl is served while one caller refreshes it, and instead of an error. It prints
 *
 *   loaded: edition 1
 *   past its ttl, at once: edition 1
 *   refreshed behind it: edition 2
 *   the event: LOAD_FAILED, the press is broken
 *   past its ttl, and the source is down: edition 2
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createCache } from 'herdless'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379')
const cache = createCache({ store: redisStore(redis), namespace: 'example-2', ttl: 500, grace: '1m' })
await cache.invalidate('news') // the value of an earlier run

let edition = 0
const print = async () => `edition ${++edition}`
console.log('loaded:', await cache.getOrLoad('news', print))

await sleep(600)
const refreshed = new Promise((resolve) => cache.on('fill', resolve))
console.log('past its ttl, at once:', await cache.getOrLoad('news', print))
await refreshed
console.log('refreshed behind it:', await cache.getOrLoad('news', print))

await sleep(600)
cache.on('failure', ({ error }) =>
  console.log(`the event: ${error.code}, ${/** @type {Error} */ (error.cause).message}`),
)
const broken = async () => Promise.reject(new Error('the press is broken'))
const served = await cache.getOrLoad('news', broken, { softTimeout: '1s' }) // waits a second for fresh news, or for the failure
console.log('past its ttl, and the source is down:', served)

await cache.close()
redis.disconnect()

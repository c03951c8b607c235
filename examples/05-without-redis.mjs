/**
 * Nothing listens where Redis should be. Callers are answered all the same, by one load a process. It prints
 *
 *   degraded: refused
 *   100 callers, 1 load
 *   the next one does not wait for Redis again
 *   invalidate: STORE_UNAVAILABLE
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createCache } from 'herdless'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'

const redis = new Redis({ host: '127.0.0.1', port: 1 })
redis.on('error', () => {}) // it says so again with every attempt to connect
const cache = createCache({ store: redisStore(redis), namespace: 'example-5', commandTimeout: 300 })
cache.on('degraded', ({ error }) => console.log('degraded:', error.reason))

let loads = 0
async function loadUser() {
  loads++
  await sleep(50)
  return { name: 'Ada' }
}

const callers = Array.from({ length: 100 }, () => cache.getOrLoad('user:1', loadUser))
const { length } = await Promise.all(callers)
console.log(`${length} callers, ${loads} load`)

const before = performance.now()
await cache.getOrLoad('user:2', loadUser)
if (performance.now() - before < 300) console.log('the next one does not wait for Redis again')

await cache.invalidate('user:1').catch((error) => console.log('invalidate:', error.code))

await cache.close()
redis.disconnect()

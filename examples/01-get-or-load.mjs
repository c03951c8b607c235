/**
 * A hundred callers ask for one key that is not there: one load, and everybody has its answer. It prints
 *
 *   100 callers, 1 load
 *   asked again: { name: 'Ada' }, still 1 load
 *   in Redis: fresh
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createCache } from 'herdless'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379')
const cache = createCache({ store: redisStore(redis), namespace: 'example-1', ttl: '10s' })
await cache.invalidate('user:1') // the value of an earlier run

let loads = 0
async function loadUser() {
  loads++
  await sleep(200) // the database
  return { name: 'Ada' }
}

const callers = Array.from({ length: 100 }, () => cache.getOrLoad('user:1', loadUser))
const answers = await Promise.all(callers)
console.log(`${answers.length} callers, ${loads} load`)

const again = await cache.getOrLoad('user:1', loadUser)
console.log('asked again: %o, still %d load', again, loads)

console.log('in Redis:', (await cache.peek('user:1')).state)

await cache.close()
redis.disconnect()

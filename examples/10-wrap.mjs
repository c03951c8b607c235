/**
 * A function whose results are cached: once for a hundred callers, anew after an invalidation. It prints
 *
 *   100 callers, called for: de 42
 *   its key: user(42,{locale:"de"})
 *   invalidated, called for: de 42
 *   another list of arguments, called for: fr 42
 *   a user that is not there is remembered for 5 s at most: true
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createCache, loadContext } from 'herdless'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379')
const cache = createCache({ store: redisStore(redis), namespace: `example-10:${Date.now()}`, ttl: '1m' })

/** @type {string[]} */
const calls = []
/** @param {number} id @param {{ locale: string }} options */
async function loadUser(id, { locale }) {
  calls.push(`${locale} ${id}`)
  await sleep(100) // the database
  if (id === 404) loadContext()?.ttl('5s')
  return id === 404 ? null : { id, locale }
}
const user = cache.wrap(loadUser, { key: 'user' })

await Promise.all(Array.from({ length: 100 }, () => user(42, { locale: 'de' })))
console.log('100 callers, called for:', ...calls.splice(0))
console.log('its key:', user.keyOf(42, { locale: 'de' }))
await user.invalidate(42, { locale: 'de' })
await user(42, { locale: 'de' })
console.log('invalidated, called for:', ...calls.splice(0))
await Promise.all([user(42, { locale: 'de' }), user(42, { locale: 'fr' })])
console.log('another list of arguments, called for:', ...calls)
const nobody = await user(404, { locale: 'de' }).then(() => user.peek(404, { locale: 'de' }))
console.log('a user that is not there is remembered for 5 s at most:', nobody.state === 'fresh' && nobody.ttl <= 5_000)
await cache.close()
redis.disconnect()

/**
 * Runs in a project that has the package installed: 100 callers of 10 caches ask for one missing key at once, and it is
 * loaded once.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { createCache } from 'herdless'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'

const clients = Array.from({ length: 10 }, () => new Redis(process.env['REDIS_URL'] ?? ''))
const namespace = `stampede-${randomUUID()}`
const caches = clients.map((client) => createCache({ store: redisStore(client), namespace, ttl: '1m' }))
let [loads, misses] = [0, 0]
/** Resolves when all callers have found nothing. */
const allMissed = new Promise((resolve) => {
  for (const cache of caches) cache.on('miss', () => ++misses === 100 && resolve(undefined))
})
const load = async () => {
  loads += 1
  await allMissed
  return { answer: 42 }
}

const callers = caches.flatMap((cache) => Array.from({ length: 10 }, () => cache.getOrLoad('key', load)))
deepEqual(await Promise.all(callers), Array(100).fill({ answer: 42 }))
equal(loads, 1)
console.log(`${callers.length} callers, ${loads} load`)

await Promise.all(caches.map((cache) => cache.close()))
for (const client of clients) client.disconnect()

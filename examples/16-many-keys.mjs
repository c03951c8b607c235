/**
 * Two processes, as it were, ask for a hundred products at once, of which half are in the cache. It prints
 *
 *   products: 100 and 100
 *   loaded: 50, each once: true
 *   queries: 1 or 2
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createCache } from 'herdless'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'

const clients = [1, 2].map(() => new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379'))
const caches = clients.map((redis) => createCache({ store: redisStore(redis), namespace: 'example-16', ttl: '10s' }))
const keys = Array.from({ length: 100 }, (_, id) => `product:${id}`)
for (const cache of caches) {
  for (const [id, key] of keys.entries()) await (id % 2 ? cache.invalidate(key) : cache.set(key, { id }))
}

let queries = 0
/** @type {string[]} */
const loaded = []
/** @param {readonly string[]} wanted */
async function loadMany(wanted) {
  queries++
  loaded.push(...wanted)
  await sleep(100) // SELECT ... WHERE id = ANY (wanted)
  return wanted.map((key) => ({ id: Number(key.slice('product:'.length)) }))
}

const answers = await Promise.all(caches.map((cache) => cache.getOrLoadMany(keys, loadMany)))
console.log('products:', answers.map((products) => products.length).join(' and '))
console.log(`loaded: ${loaded.length}, each once: ${new Set(loaded).size === loaded.length}`)
console.log('queries:', queries <= 2 ? '1 or 2' : queries)

for (const cache of caches) await cache.close()
for (const redis of clients) redis.disconnect()

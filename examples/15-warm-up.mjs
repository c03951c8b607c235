/**
 * Two processes, as it were, warm up the same thousand keys as they start. It prints
 *
 *   1000 keys, 1000 loads, never more than 16 at once: true, failed: 0
 *   their ttls are spread over a tenth of a minute: true
 *   once more: 0 loads, 1000 present
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createCache, warmUp } from 'herdless'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'

const url = process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379'
const clients = [new Redis(url), new Redis(url)]
const namespace = `example-15-${process.pid}`
const caches = clients.map((client) => createCache({ store: redisStore(client), namespace, ttl: '1m' }))

const keys = Array.from({ length: 1_000 }, (_, index) => `product:${index}`)
const orders = [keys, keys.toReversed()]
let [loads, running, most] = [0, 0, 0]
/** @param {import('herdless').LoadContext} context */
async function loader({ key }) {
  loads++
  most = Math.max(most, ++running)
  await sleep(5)
  running--
  return { key }
}

const results = await Promise.all(caches.map((cache, index) => warmUp(cache, orders[index] ?? keys, loader)))
const failed = results.reduce((sum, result) => sum + result.failed, 0)
console.log(`${keys.length} keys, ${loads} loads, never more than 16 at once: ${most <= 16}, failed: ${failed}`)
const seen = await Promise.all(caches.flatMap((cache) => keys.map((key) => cache.peek(key))))
const ttls = seen.map((peeked) => (peeked.state === 'fresh' ? peeked.ttl / 60_000 : 0))
console.log('their ttls are spread over a tenth of a minute:', Math.min(...ttls) > 0.8 && Math.max(...ttls) > 0.9)
const again = await Promise.all(caches.map((cache) => warmUp(cache, keys, loader)))
console.log(`once more: ${loads - keys.length} loads, ${again[0]?.present} present`)
for (const cache of caches) await cache.close()
for (const client of clients) client.disconnect()

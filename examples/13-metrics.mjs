/**
 * A page that is opened by a crowd, seen in three ways: a channel, what Prometheus scrapes, and stats. It prints
 *
 *   example-13 loads "page" with a lease: true
 *   herdless_hits_total{namespace="example-13"} 50
 *   herdless_misses_total{namespace="example-13"} 100
 *   hit ratio 0.33, 149 loads saved
 */
import { subscribe } from 'node:diagnostics_channel'
import { setTimeout as sleep } from 'node:timers/promises'
import { createCache } from 'herdless'
import { collectMetrics } from 'herdless/prometheus'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'
import client from 'prom-client'

subscribe('herdless:load', (message) => {
  const { namespace, key, leased } = /** @type {{ namespace: string, key: string, leased: boolean }} */ (message)
  console.log(`${namespace} loads "${key}" with a lease: ${leased}`)
})

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379')
const cache = createCache({ store: redisStore(redis), namespace: 'example-13' })
await cache.invalidate('page') // what an earlier run has left
collectMetrics(cache, { client })

const loader = () => sleep(300, 'page')
await Promise.all(Array.from({ length: 100 }, () => cache.getOrLoad('page', loader)))
for (let call = 0; call < 50; call++) await cache.getOrLoad('page', loader)

const scraped = await client.register.metrics()
console.log(scraped.match(/^herdless_(hits|misses)_total.*$/gm)?.join('\n'))
const { hitRatio, loadsSaved } = cache.stats()
console.log(`hit ratio ${hitRatio?.toFixed(2)}, ${loadsSaved} loads saved`)
await cache.close()
redis.disconnect()

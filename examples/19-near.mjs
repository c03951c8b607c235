/**
 * Two processes, as it were, keep copies of a price. When it has been changed, both have let go of them. It prints
 *
 *   10000 hits, none of them from Redis
 *   the price is 12 here, and 12 there
 */
import { createCache } from 'herdless'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'

const url = process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379'
const clients = [new Redis(url), new Redis(url)]
const [here, there] = clients.map((client) =>
  createCache({ store: redisStore(client), namespace: 'example-19', near: {} }),
)
if (here === undefined || there === undefined) throw new Error('Expected two caches')

let price = 10
/** @param {import('herdless').Cache} cache */
const ask = (cache) => cache.getOrLoad('price', () => price)
await here.invalidate('price') // what an earlier run has left
for (const cache of [here, there]) while (cache.stats().nearHits === 0) await ask(cache)

const before = here.stats()
for (let call = 0; call < 10_000; call++) await ask(here)
const { hits, nearHits } = here.stats()
console.log(
  `${hits - before.hits} hits, ${nearHits - before.nearHits === hits - before.hits ? 'none' : 'some'} of them from Redis`,
)

price = 12
await here.invalidate('price')
console.log(`the price is ${await ask(here)} here, and ${await ask(there)} there`)
for (const cache of [here, there]) await cache.close()
for (const client of clients) client.disconnect()

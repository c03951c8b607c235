/**
 * Somebody makes up ten thousand keys. Behind a Bloom filter hardly any of them reaches Redis or the source. It prints
 *
 *   product:7 is named product:7
 *   10000 made-up keys, fewer than 200 queries and keys in Redis: true
 *   product:1000 before it was added: null
 *   product:1000 after it was added: product:1000
 */
import { BloomFilter } from 'bloomfilter'
import { createCache, onlyKnown } from 'herdless'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379')
const cache = createCache({ store: redisStore(redis), namespace: 'example-14', ttl: '1s' })
const count = async () => (await redis.keys('{example-14:*}')).length

const source = new Set(Array.from({ length: 1_000 }, (_, id) => `product:${id}`))
const bloom = BloomFilter.withTargetError(source.size, 0.01)
for (const key of source) bloom.add(key)
const products = onlyKnown(cache, { has: (key) => bloom.test(key) })

let queries = 0
/** @param {import('herdless').LoadContext} context */
const loader = ({ key }) => (queries++, source.has(key) ? key : null)
console.log(`product:7 is named ${await products.getOrLoad('product:7', loader)}`)

queries = 0
const before = await count()
const flood = Array.from({ length: 10_000 }, (_, id) => products.getOrLoad(`made-up:${id}`, loader, { ttl: '1m' }))
await Promise.all(flood)
const isCalm = queries < 200 && (await count()) - before < 200
console.log('10000 made-up keys, fewer than 200 queries and keys in Redis:', isCalm)

const added = 'product:1000'
console.log(`${added} before it was added:`, await products.getOrLoad(added, loader))
for (const place of [bloom, source]) place.add(added) // first the filter, then the source
console.log(`${added} after it was added:`, await products.getOrLoad(added, loader))
await cache.close()
redis.disconnect()

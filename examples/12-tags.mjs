/**
 * A product changes while a list that shows it is being loaded. The page is void, the list is loaded again. It prints
 *
 *   page:7 is missing, page:8 is fresh
 *   the list has been loaded 2 times
 *   the caller is given the price 12
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createCache } from 'herdless'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379')
const cache = createCache({ store: redisStore(redis), namespace: 'example-12', ttl: '1m' })
for (const key of ['page:7', 'page:8', 'list']) await cache.invalidate(key) // what an earlier run has left

let price = 10
for (const id of [7, 8]) await cache.getOrLoad(`page:${id}`, () => `page of ${id}`, { tags: [`product:${id}`] })

let loads = 0
const list = cache.getOrLoad('list', async ({ tags }) => {
  loads++
  const product = { id: 7, price }
  await sleep(300)
  tags(`product:${product.id}`)
  return product
})
await new Promise((resolve) => cache.on('load', resolve))

price = 12
await cache.invalidateTags(['product:7'])
const [first, second] = [await cache.peek('page:7'), await cache.peek('page:8')]
console.log(`page:7 is ${first.state}, page:8 is ${second.state}`)
const product = await list
console.log(`the list has been loaded ${loads} times`)
console.log(`the caller is given the price ${product.price}`)
await cache.close()
redis.disconnect()

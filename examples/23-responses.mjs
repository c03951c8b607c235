/**
 * A page is rendered once for a crowd. Its price changes, and the next request shows it. It prints
 *
 *   100 visitors are told 10, rendered 1 time
 *   the next: 10, herdless; hit
 *   after the change: 12, herdless; fwd=uri-miss; stored
 */
import { once } from 'node:events'
import express from 'express'
import { createCache } from 'herdless'
import { cacheResponses } from 'herdless/express'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379')
const cache = createCache({ store: redisStore(redis), namespace: 'example-23' })
let [price, rendered] = [10, 0]
const app = express()
app.get('/products/:id', cacheResponses(cache, { ttl: '1m' }), (request, response) => {
  rendered++
  response.set('Cache-Tag', `product:${request.params.id}`).send(`${price}`)
})
const server = app.listen(0)
await once(server, 'listening')
const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
const ask = async () => {
  const answer = await fetch(`http://localhost:${port}/products/7`)
  return [await answer.text(), answer.headers.get('cache-status')?.replace(/; ttl=\d+/, '')]
}
const stored = new Promise((resolve) => cache.on('fill', resolve))
const crowd = await Promise.all(Array.from({ length: 100 }, ask))
console.log(`100 visitors are told ${[...new Set(crowd.map(([text]) => text))]}, rendered ${rendered} time`)
await stored
console.log(`the next: ${(await ask()).join(', ')}`)
price = 12
await cache.invalidateTags(['product:7'])
console.log(`after the change: ${(await ask()).join(', ')}`)
server.close()
await cache.close()
redis.disconnect()

/**
 * A source is asked only whether its answer has changed. It prints
 *
 *   loaded { rate: 1.08 } with 200
 *   refreshed { rate: 1.08 } with 304
 *   the rate changes to 1.09
 *   refreshed { rate: 1.09 } with 200
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createCache } from 'herdless'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'

let rate = 1.08
const source = createServer((request, response) => {
  const known = request.headers['if-none-match'] === `"${rate}"`
  response.writeHead(known ? 304 : 200, { etag: `"${rate}"` }).end(known ? '' : JSON.stringify({ rate }))
}).listen(0)
await once(source, 'listening')
const { port } = /** @type {import('node:net').AddressInfo} */ (source.address())
const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379')
const cache = createCache({ store: redisStore(redis), namespace: 'example-17', ttl: '1m', grace: '1h' })
await cache.invalidate('rate') // the value of an earlier run
let status = 0
/** @type {import('herdless').Loader<unknown>} */
const loader = async ({ stale, signal, validators, notModified }) => {
  const response = await fetch(`http://localhost:${port}`, { signal, headers: { 'if-none-match': stale?.etag ?? '' } })
  status = response.status
  if (status === 304) return notModified()
  validators({ etag: response.headers.get('etag') ?? '' })
  return await response.json()
}
console.log('loaded', await cache.getOrLoad('rate', loader), 'with', status)
console.log('refreshed', await cache.refresh('rate', loader), 'with', status)
console.log('the rate changes to', (rate = 1.09))
console.log('refreshed', await cache.refresh('rate', loader), 'with', status)
await cache.close()
redis.disconnect()
source.close()

/** What the blocks of docs/start.md have before they begin, from the second on: what the blocks before them have made, and a visitor. */
import { once } from 'node:events'
import express from 'express'
import { createCache } from 'herdless'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { atEnd } from './at-end.mjs'
import './product-table.mjs'

export { cacheResponses } from 'herdless/express'

export const db = new Pool()
export const redis = new Redis(process.env['REDIS_URL'] ?? '')
export const cache = createCache({ store: redisStore(redis), namespace: 'shop', ttl: '1m', grace: '10m' })

/** @param {string | number} id */
export const findProduct = (id) =>
  cache.getOrLoad(
    `product:${id}`,
    async () => {
      const { rows } = await db.query('select name, cents from product where id = $1', [id])
      return rows[0] ?? null
    },
    { negativeTtl: '10s' },
  )

export const app = express()
app.use(express.json())
export const server = app.listen(0)
await once(server, 'listening')
atEnd(async () => {
  server.close()
  await cache.close()
  redis.disconnect()
  await db.end()
})
const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())

/**
 * What a visitor is told, and what Cache-Status says of that.
 *
 * @param {string} path
 * @param {object} [put]  what is sent with a PUT
 */
export async function ask(path, put) {
  const request = put && { method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify(put) }
  const answer = await fetch(`http://localhost:${port}${path}`, request)
  const status = answer.headers.get('cache-status')
  const text = await answer.text()
  // A page is stored a moment after its own visitor has it.
  while (!(await cache.leases()[Symbol.asyncIterator]().next()).done);
  return [answer.status, text, status].filter(Boolean).join(' ')
}

/** Tells this process to end, and waits until it has let go of all that it had. */
export async function endOfProcess() {
  const disconnected = once(redis, 'end')
  process.kill(process.pid, 'SIGTERM')
  await disconnected
  while (!db.ended) await new Promise((resolve) => setTimeout(resolve, 5))
  if (server.listening) throw new Error('the server still listens')
}

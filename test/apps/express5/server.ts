import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import express, { type ErrorRequestHandler } from 'express'
import { CacheError } from 'herdless'
import { Redis } from 'ioredis'
import pg from 'pg'
import { NotFoundError, Shop } from './shop.js'

const redis = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379')
// Its settings come from the environment: PGHOST and so on.
const pool = new pg.Pool()
const shop = new Shop(redis, pool, process.env.NAMESPACE)

const app = express()
app.get('/products/:id', async (req, res) => void res.json(await shop.product(Number(req.params.id))))
app.get('/customers/:id', async (req, res) => void res.json(await shop.customer(Number(req.params.id))))
app.delete('/products/:id', async (req, res) => {
  await shop.removeProduct(Number(req.params.id))
  res.sendStatus(204)
})
app.get('/stats', (_req, res) => void res.json(shop.cache.stats()))

const handleError: ErrorRequestHandler = (error, _req, res, next) => {
  if (res.headersSent) return next(error)
  if (error instanceof NotFoundError) return void res.status(404).json({ error: error.message })
  const isClosed = error instanceof CacheError && error.code === 'CLOSED'
  res.status(isClosed ? 503 : 500).json({ error: String(error) })
}
app.use(handleError)

const server = app.listen(0, '127.0.0.1')
await once(server, 'listening')
console.log(`listens on ${(server.address() as AddressInfo).port}`)

process.once('SIGTERM', async () => {
  const answered = new Promise((resolve) => server.close(resolve))
  await Promise.race([answered, pause(Number(process.env.DRAIN ?? 10_000), undefined, { ref: false })])
  await shop.cache.close({ timeout: 0 })
  await answered
  await Promise.all([redis.quit(), pool.end()])
})

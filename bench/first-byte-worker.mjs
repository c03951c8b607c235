/**
 * An Express app whose handlers stand behind `cacheResponses` on Redis, and below `/bare` without it. After 20 ms each says its
 * head and what it has: all of it, or a first chunk and the last one 200 ms later, or events that say when they were sent.
 */
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import express from 'express'
import { createCache } from 'herdless'
import { cacheResponses } from 'herdless/express'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'

const [, , url = ''] = process.argv
const cache = createCache({ store: redisStore(new Redis(url)), namespace: 'bench' })
const product = { id: 7, name: 'a product', tags: ['one', 'two'], text: 'x'.repeat(1_940) }

const handlers = express.Router()
handlers.get('/json/:id', async (_request, response) => {
  await pause(20)
  response.json(product)
})
handlers.get('/chunked/:id', async (_request, response) => {
  await pause(20)
  response.write('first')
  await pause(200)
  response.end('last')
})
handlers.get('/events/:id', async (_request, response) => {
  await pause(20)
  response.set('Content-Type', 'text/event-stream').flushHeaders()
  for (let event = 0; event < 10; event++) {
    await pause(10)
    response.write(`data: ${process.hrtime.bigint()}\n\n`)
  }
  response.end()
})
const app = express().use('/bare', handlers).use(cacheResponses(cache), handlers)
const server = app.listen(0, '127.0.0.1')
await once(server, 'listening')
// The first miss finds the connections open.
await cache.getOrLoad('ready', () => true)
process.send?.(server.address())
process.once('disconnect', () => process.exit())

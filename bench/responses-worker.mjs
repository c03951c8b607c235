/** An Express app whose handler takes 300 ms, behind `cacheResponses` on Redis; says how often the handler has run. */
import { once } from 'node:events'
import express from 'express'
import { createCache } from 'herdless'
import { cacheResponses } from 'herdless/express'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'

const [, , url = '', handlerTime = '300'] = process.argv
const client = new Redis(url)
const cache = createCache({ store: redisStore(client), namespace: 'bench' })
let runs = 0
const app = express()
app.use(cacheResponses(cache, { skip: ({ url }) => url?.startsWith('/bare') === true }))
app.get('/:kind/:round', (request, response) => {
  runs++
  if (request.params.kind === 'private') response.set('Cache-Control', 'private')
  setTimeout(() => response.json({ round: request.params.round, run: runs }), Number(handlerTime))
})
const server = app.listen(0, '127.0.0.1')
await once(server, 'listening')
// The first miss finds the connections open.
await cache.getOrLoad('ready', () => true)
process.on('message', () => {
  process.send?.(runs)
  runs = 0
})
process.send?.(server.address())
process.once('disconnect', () => process.exit())

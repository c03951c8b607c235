/**
 * One server that answers each request with the same 2 kB of JSON: bare node:http, or an app of Express, in one of several ways,
 * with whole responses cached or not, by herdless or by apicache; a hit is a copy in the process, or in Redis.
 * Says what processor time it has used when it is asked.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createCache } from 'herdless'
import { cachedServer, cacheResponses } from 'herdless/express'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'
import { requirePeer } from './peers/packages.mjs'

const [, , way = '', version = '', redisUrl = ''] = process.argv
const product = { id: 7, name: 'a product', tags: ['one', 'two'], text: 'x'.repeat(1_940) }

/** @returns {import('node:http').Server} */
function bare() {
  return createServer((_request, response) => {
    const body = JSON.stringify(product)
    response.setHeader('Content-Type', 'application/json; charset=utf-8')
    response.setHeader('Content-Length', Buffer.byteLength(body))
    response.end(body)
  }).listen(0, '127.0.0.1')
}

const near = () => createCache({ near: {}, ttl: '1h' })
const inRedis = () => createCache({ store: redisStore(new Redis(redisUrl)), ttl: '1h' })

/** @typedef {import('express').Express} Express */

/** @param {(app: Express) => import('node:http').Server} open @param {import('express').RequestHandler} [middleware] */
async function withExpress(open, middleware) {
  /** @type {typeof import('express')} */
  const express = version === 'express4' ? requirePeer(version) : (await import('express')).default
  const app = express()
  if (middleware) app.use(middleware)
  app.get('/product', (_request, response) => {
    response.json(product)
  })
  return open(app)
}

/** @param {Express} app */
const listen = (app) => app.listen(0, '127.0.0.1')

/** @type {Record<string, () => import('node:http').Server | Promise<import('node:http').Server>>} */
const ways = {
  'node:http': bare,
  'app.listen': () => withExpress(listen),
  'app.listen, apicache': () => withExpress(listen, requirePeer('apicache').middleware('1 hour')),
  'app.listen, cacheResponses': () => withExpress(listen, cacheResponses(near())),
  'app.listen, cacheResponses in Redis': () => withExpress(listen, cacheResponses(inRedis())),
  cachedServer: () => withExpress((app) => cachedServer(app, near()).listen(0, '127.0.0.1')),
}
const server = await ways[way]?.()
if (server === undefined) throw new Error(`There is no way ${way}`)
if (!server.listening) await once(server, 'listening')
process.on('message', () => process.send?.(process.cpuUsage()))
process.send?.(server.address())
process.once('disconnect', () => process.exit())

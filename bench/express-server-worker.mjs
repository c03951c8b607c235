/**
 * One server that answers each request with the same 2 kB of JSON: bare node:http, or an app of Express, in one of several ways,
 * with whole responses cached or not; a hit is a copy in the process.
 * Says what processor time it has used when it is asked.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createCache } from 'herdless'
import { cachedServer, cacheResponses } from 'herdless/express'
import { requirePeer } from './peers/packages.mjs'

const [, , way = '', version = ''] = process.argv
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

const cache = createCache({ near: {}, ttl: '1h' })

/** @param {(app: import('express').Express) => import('node:http').Server} open @param {boolean} [cached] */
async function withExpress(open, cached = false) {
  /** @type {typeof import('express')} */
  const express = version === 'express4' ? requirePeer(version) : (await import('express')).default
  const app = express()
  if (cached) app.use(cacheResponses(cache))
  app.get('/product', (_request, response) => {
    response.json(product)
  })
  return open(app)
}

/** @type {Record<string, () => import('node:http').Server | Promise<import('node:http').Server>>} */
const ways = {
  'node:http': bare,
  'app.listen': () => withExpress((app) => app.listen(0, '127.0.0.1')),
  'app.listen, cacheResponses': () => withExpress((app) => app.listen(0, '127.0.0.1'), true),
  cachedServer: () => withExpress((app) => cachedServer(app, cache).listen(0, '127.0.0.1')),
}
const server = await ways[way]?.()
if (server === undefined) throw new Error(`There is no way ${way}`)
if (!server.listening) await once(server, 'listening')
process.on('message', () => process.send?.(process.cpuUsage()))
process.send?.(server.address())
process.once('disconnect', () => process.exit())

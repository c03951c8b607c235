/**
 * One server with a cache of responses, of the build in the folder that is named; without a Redis all hits are copies in the
 * process. Says what processor time it has used when it is asked.
 */
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [, , folder = '', way = '', redisUrl = ''] = process.argv
/** @param {string} file */
const from = (file) => import(pathToFileURL(join(folder, file)).href)
const { createCache } = await from('index.js')
const { redisStore } = await from('redis/index.js')
const page = 'x'.repeat(2_000)

async function cacheOf() {
  if (redisUrl === '') return createCache({ near: {}, ttl: '1h' })
  const { Redis } = await import('ioredis')
  return createCache({ near: {}, ttl: '1h', namespace: `bench-${process.pid}`, store: redisStore(new Redis(redisUrl)) })
}

const cache = await cacheOf()

/** @param {(app: import('express').Express) => unknown} [before] */
async function bareExpress(before) {
  const { default: express } = await import('express')
  const app = express()
  before?.(app)
  app.get('/page', (_request, response) => void response.send(page))
  return app
}

/** @param {(app: import('express').Express) => unknown} before */
async function expressWith(before) {
  const { cacheResponses } = await from('express/index.js')
  return await bareExpress((app) => {
    before(app)
    app.use(cacheResponses(cache))
  })
}

/** @type {Record<string, () => Promise<import('node:http').Server>>} */
const ways = {
  'Express without a cache': async () => createHttpServer(await bareExpress()),
  Express: async () => createHttpServer(await expressWith(() => {})),
  'Express, session and user': async () => {
    const { default: session } = await import('express-session')
    return createHttpServer(
      await expressWith((app) => {
        app.use(session({ secret: 'a secret', resave: false, saveUninitialized: false }))
        app.use((request, _response, next) => {
          Object.assign(request, { user: { name: 'ada' } })
          next()
        })
      }),
    )
  },
  cachedServer: async () => (await from('express/index.js')).cachedServer(await bareExpress(), cache),
  'node:http': async () => {
    const middleware = (await from('express/index.js')).cacheResponses(cache)
    return createHttpServer((request, response) => middleware(request, response, () => response.end(page)))
  },
  Koa: async () => {
    const [{ default: Koa }, { cacheResponses }] = await Promise.all([import('koa'), from('koa/index.js')])
    const app = new Koa()
    app.use(cacheResponses(cache))
    app.use((ctx) => {
      ctx.body = page
    })
    return createHttpServer(app.callback())
  },
  Fastify: async () => {
    const [{ fastify }, { cacheResponses }] = await Promise.all([import('fastify'), from('fastify/index.js')])
    const app = fastify()
    app.addHook('onRequest', cacheResponses(cache))
    app.get('/page', async () => page)
    await app.ready()
    return app.server
  },
  Hono: async () => {
    const [{ Hono }, { createAdaptorServer }] = await Promise.all([import('hono'), import('@hono/node-server')])
    const { cacheResponses } = await from('hono/index.js')
    const app = new Hono()
    app.use(cacheResponses(cache))
    app.get('/page', (c) => c.text(page))
    return /** @type {import('node:http').Server} */ (createAdaptorServer({ fetch: app.fetch }))
  },
}
const server = await ways[way]?.()
if (server === undefined) throw new Error(`There is no way ${way}`)
server.listen(0, '127.0.0.1')
await once(server, 'listening')
process.on('message', () => process.send?.(process.cpuUsage()))
process.send?.(server.address())
process.once('disconnect', () => process.exit())

/**
 * What a user in ES modules may write: every client of ioredis 5 and 6, of pg, postgres.js and ZooKeeper is one for us, and
 * a Packr of msgpackr, and prom-client, and a loaded value keeps its type.
 */
import { createSecretKey } from 'node:crypto'
import type { Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { createCache, locked, memoryLock, memoryStore, CacheError, type Lock } from 'herdless'
import { compressed, encrypted, msgpackrCodec, v8Codec } from 'herdless/codecs'
import { createServer, messageClasses } from 'herdless/express'
import { cacheResponses as ofFastify, cachedServer } from 'herdless/fastify'
import { cacheResponses as ofHono } from 'herdless/hono'
import { cacheResponses as ofKoa } from 'herdless/koa'
import { instrument } from 'herdless/otel'
import { postgresLock } from 'herdless/postgres'
import { collectMetrics } from 'herdless/prometheus'
import { redisLock, redisStore, redlock } from 'herdless/redis'
import { zookeeperLock } from 'herdless/zookeeper'
import { metrics, trace } from '@opentelemetry/api'
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base'
import { getRequestListener } from '@hono/node-server'
import express, { type Application } from 'express'
import { fastify } from 'fastify'
import { Hono } from 'hono'
import { Cluster, Redis } from 'ioredis'
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5'
import { Packr } from 'msgpackr'
import { createClient } from 'node-zookeeper-client'
import pg from 'pg'
import postgres from 'postgres'
import prometheus from 'prom-client'
import * as everythingOfPrometheus from 'prom-client'

const nodes = [{ host: 'localhost', port: 6379 }]
const stores = [
  memoryStore(),
  redisStore(new Redis()),
  redisStore(new Cluster(nodes)),
  redisStore(new Redis5()),
  redisStore(new Cluster5(nodes)),
]

for (const store of stores) {
  const cache = createCache({ store, namespace: 'shop', ttl: '5m' })
  const price: number = await cache.getOrLoad('price:1', async () => 42)
  // @ts-expect-error: the loader gives a number
  const wrong: string = await cache.getOrLoad('price:1', async () => 42)
  console.log(price, wrong)
}

const locks: Lock[] = [
  memoryLock(),
  redisLock(new Redis()),
  redisLock(new Cluster(nodes)),
  redisLock(new Redis5()),
  redlock([new Redis(), new Redis5(), new Redis()]),
  postgresLock(new pg.Pool()),
  postgresLock(postgres()),
  zookeeperLock(createClient('localhost')),
  zookeeperLock(() => createClient('localhost')),
]

for (const lock of locks) {
  const fence: bigint | null = await lock.run('job', (lease) => lease.fence)
  const names: string[] = await lock.run(['a', 'b'], (leases) => leases.map(({ name }) => name))
  // @ts-expect-error: nobody waits in order for a single try
  await lock.tryAcquire('job', { fair: true })
  locked({ get: async () => null, set: async () => undefined }, lock)
  console.log(fence, names)
}

const keys = [
  { id: 'bytes', key: new Uint8Array(32) },
  { id: 'object', key: createSecretKey(new Uint8Array(32)) },
]
for (const codec of [v8Codec(), msgpackrCodec(new Packr({ moreTypes: true }))]) {
  createCache({ codec: encrypted(compressed(codec, { algorithm: 'zstd', level: 3 }), { keys, context: 'shop' }) })
  // @ts-expect-error: a key is never a text
  encrypted(codec, { keys: [{ id: 'text', key: 'secret' }] })
}

const observed = createCache({ stats: { topKeys: 5 } })
const stop: () => void = collectMetrics(observed, { client: prometheus })
collectMetrics(observed, { client: everythingOfPrometheus, register: new prometheus.Registry(), buckets: [0.1, 1] })
// @ts-expect-error: where the metrics go is a register
collectMetrics(observed, { client: prometheus, register: 'default' })
const stopTraces: () => void = instrument(observed)
instrument(observed, { tracerProvider: trace.getTracerProvider(), meterProvider: metrics.getMeterProvider() })
instrument(observed, { tracerProvider: new BasicTracerProvider(), keys: true, metrics: false })
// @ts-expect-error: a span has the key, or has not
instrument(observed, { keys: 'user:*' })
observed.trace({
  begin: () => ({
    context: '',
    becomes: () => {},
    follows: () => {},
    run: (work) => work(),
    end: () => {},
  }),
})
for await (const { key, token } of observed.leases()) await observed.breakLease(key, token)
const why: readonly string[] = (await observed.explain('k')).because
const saved: number | null = observed.stats().secondsSaved
console.log(stop, stopTraces, why, saved)

const app = express()
const application: Application = app
const server: Server = createServer(app, { keepAliveTimeout: 5_000 }).listen(3000)
createHttpsServer({ key: '', cert: '', ...messageClasses(application) }, app)
// @ts-expect-error: it is neither an app nor a function
createServer({ request: app.request, response: app.response })
// @ts-expect-error: the classes are made by it
createServer(application, { IncomingMessage: class {} })
console.log(server)

const responses = createCache()
// The types of Koa itself do not hold: test/http/koa.test.ts uses it with them.
const koa = ofKoa(responses, { ttl: '1m', key: (request) => request.url ?? '' })
const hono = new Hono().use(ofHono(responses)).get('/', (c) => c.text('page'))
const fastifyApp = fastify({ serverFactory: (handler) => cachedServer(handler, responses) })
fastifyApp.addHook('onRequest', ofFastify(responses, { maxBody: 1_000 }))
fastifyApp.get('/', { onRequest: ofFastify(responses) }, async () => 'page')
cachedServer(getRequestListener(hono.fetch), responses)
// @ts-expect-error: there is no such option
ofKoa(responses, { maxAge: 1 })
console.log(koa)

export const isOurs = (error: unknown): boolean => error instanceof CacheError && error.code.length > 0

/**
 * What a user in CommonJS may write: every client of ioredis and of node-redis is a client for the store, and a loaded value
 * keeps its type.
 */
import herdless = require('herdless')
import codecs = require('herdless/codecs')
import serving = require('herdless/express')
import ofFastify = require('herdless/fastify')
import ofHono = require('herdless/hono')
import ofKoa = require('herdless/koa')
import otel = require('herdless/otel')
import prometheus = require('herdless/prometheus')
import redis = require('herdless/redis')
import store = require('herdless/store')
import express = require('express')
import fastify = require('fastify')
import hono = require('hono')
import ioredis = require('ioredis')
import msgpackr = require('msgpackr')
import promClient = require('prom-client')
import nodeRedis = require('redis')

const nodes = [{ host: 'localhost', port: 6379 }]
const stores = [
  herdless.memoryStore(),
  redis.redisStore(new ioredis.Redis()),
  redis.redisStore(new ioredis.Cluster(nodes)),
  redis.redisStore(nodeRedis.createClient()),
  redis.redisStore(nodeRedis.createCluster({ rootNodes: [] })),
  redis.redisStore(nodeRedis.createSentinel({ name: 'main', sentinelRootNodes: nodes })),
]

async function prices(): Promise<number[]> {
  const caches = stores.map((store) => herdless.createCache({ store, namespace: 'shop', ttl: '5m' }))
  // @ts-expect-error: the loader gives numbers
  const wrong: Promise<string>[] = caches.map((cache) => cache.getOrLoad('price:1', async () => 42))
  console.log(wrong)
  return Promise.all(caches.map((cache) => cache.getOrLoad('price:1', async () => 42)))
}

const locks = [
  redis.redisLock(nodeRedis.createClient()),
  redis.redlock([nodeRedis.createClient(), new ioredis.Redis()]),
]
for (const lock of locks) void lock.run('job', (lease) => lease.signal)

const codec = codecs.compressed(codecs.msgpackrCodec(new msgpackr.Packr()))
prometheus.collectMetrics(herdless.createCache({ codec }), { client: promClient, register: promClient.register })
otel.instrument(herdless.createCache(), { keys: true })
serving.cachedServer(express(), herdless.createCache()).listen(3000)
ofKoa.cacheResponses(herdless.createCache())
fastify().addHook('onRequest', ofFastify.cacheResponses(herdless.createCache()))
new hono.Hono().use(ofHono.cacheResponses(herdless.createCache()))

const answer: Pick<store.Store, 'claim'> = { claim: async () => ({ state: 'pass' }) satisfies store.Claim }
void answer

export const isOurs = (error: unknown): boolean => error instanceof herdless.CacheError && error.code.length > 0
export { prices }

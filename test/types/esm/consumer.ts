/**
 * What a user in ES modules may write: every client of ioredis 5 and 6 is a client for the store, and a loaded value
 * keeps its type.
 */
import { createCache, memoryStore, CacheError } from 'herdless'
import { redisStore } from 'herdless/redis'
import { Cluster, Redis } from 'ioredis'
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5'

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

export const isOurs = (error: unknown): boolean => error instanceof CacheError && error.code.length > 0

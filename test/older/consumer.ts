/** What a user of the oldest supported clients may write: every one of them is a client for the store and for locks. */
import { createCache } from 'herdless'
import { redisLock, redisStore, redlock } from 'herdless/redis'
import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster, createSentinel } from 'redis'

const nodes = [{ host: 'localhost', port: 6379 }]
const clients = [
  new Redis(),
  new Cluster(nodes),
  createClient(),
  createClient({ RESP: 3 }),
  createCluster({ rootNodes: [{ url: 'redis://localhost:6379' }] }),
  createSentinel({ name: 'main', sentinelRootNodes: nodes }),
] as const

for (const client of clients) {
  const cache = createCache({ store: redisStore(client), namespace: 'shop', ttl: '5m' })
  const price: number = await cache.getOrLoad('price:1', async () => 42)
  console.log(price, redisLock(client))
}

console.log(redlock([new Redis(), createClient()]))

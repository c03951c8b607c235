import { Cluster } from 'ioredis'
import { Cluster as Cluster5 } from 'ioredis5'
import { afterAll, beforeAll, test } from 'vitest'
import { redisStore, type RedisStoreOptions } from '../../src/redis/index.ts'
import { storeContract } from '../../src/testing/index.ts'
import { startCluster, type RedisCluster } from '../support/servers.ts'

let cluster: RedisCluster
beforeAll(async () => {
  cluster = await startCluster({ masters: 3 })
})
afterAll(() => cluster.stop())

const addresses = () => cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port }))

const kinds: readonly { name: string; connect: () => Cluster | Cluster5; options?: RedisStoreOptions }[] = [
  { name: 'ioredis 6', connect: () => new Cluster(addresses()) },
  { name: 'ioredis 6, polling', connect: () => new Cluster(addresses()), options: { wakeUp: 'poll' } },
  {
    name: 'ioredis 6, RESP3, key prefix',
    connect: () => new Cluster(addresses(), { keyPrefix: 'app:', redisOptions: { protocol: 3 } }),
  },
  { name: 'ioredis 5', connect: () => new Cluster5(addresses()) },
]

for (const { name, connect, options = {} } of kinds) {
  const clients: (Cluster | Cluster5)[] = []
  afterAll(() => {
    for (const client of clients) client.disconnect()
  })
  storeContract({
    name: `redisStore on a cluster, ${name}`,
    test,
    pushes: options.wakeUp !== 'poll',
    open: async () => {
      if (clients.length === 0) clients.push(connect(), connect())
      return { stores: clients.map((client) => redisStore(client, options)), close: async () => undefined }
    },
  })
}

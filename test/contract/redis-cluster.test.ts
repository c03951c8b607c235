import { Cluster } from 'ioredis'
import { Cluster as Cluster5 } from 'ioredis5'
import { afterAll, beforeAll, test } from 'vitest'
import { portOf } from '../../src/redis/clients/redis-client.ts'
import { redisStore, type RedisStoreOptions } from '../../src/redis/index.ts'
import { clientContract, storeContract } from '../../src/testing/index.ts'
import { disconnect, nodeRedisCluster, nodeRedisCluster5, type OpenClient } from '../support/node-redis.ts'
import { startCluster, type RedisCluster } from '../support/servers.ts'

let cluster: RedisCluster
beforeAll(async () => {
  cluster = await startCluster({ masters: 3 })
})
afterAll(() => cluster.stop())

const ports = () => cluster.nodes.map(({ port }) => port)
const addresses = () => ports().map((port) => ({ host: '127.0.0.1', port }))

const kinds: readonly { name: string; connect: () => OpenClient; options?: RedisStoreOptions }[] = [
  { name: 'ioredis 6', connect: () => new Cluster(addresses()) },
  { name: 'ioredis 6, polling', connect: () => new Cluster(addresses()), options: { wakeUp: 'poll' } },
  {
    name: 'ioredis 6, RESP3, key prefix',
    connect: () => new Cluster(addresses(), { keyPrefix: 'app:', redisOptions: { protocol: 3 } }),
  },
  { name: 'ioredis 5', connect: () => new Cluster5(addresses()) },
  { name: 'node-redis 6, key prefix', connect: () => nodeRedisCluster(ports(), { keyPrefix: 'app:' }) },
  { name: 'node-redis 5', connect: () => nodeRedisCluster5(ports()) },
]

for (const { name, connect, options = {} } of kinds) {
  const clients: OpenClient[] = []
  afterAll(() => {
    for (const client of clients) disconnect(client)
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
  if (options.wakeUp !== 'poll') {
    clientContract({
      name: `on a cluster, ${name}`,
      test,
      open: async () => {
        const client = connect()
        return { port: portOf(client), close: async () => disconnect(client) }
      },
    })
  }
}

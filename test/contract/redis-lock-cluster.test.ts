import { Cluster } from 'ioredis'
import { Cluster as Cluster5 } from 'ioredis5'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { redisLock, type RedisLockOptions } from '../../src/redis/index.ts'
import { lockContract } from '../../src/testing/index.ts'
import { startCluster, type RedisCluster } from '../support/servers.ts'

let cluster: RedisCluster
beforeAll(async () => {
  cluster = await startCluster({ masters: 3 })
})
afterAll(() => cluster.stop())

const addresses = () => cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port }))

const kinds: readonly { name: string; connect: () => Cluster | Cluster5; options: RedisLockOptions }[] = [
  { name: 'ioredis 6', connect: () => new Cluster(addresses()), options: {} },
  { name: 'ioredis 6, stealing in vain', connect: () => new Cluster(addresses()), options: { stealFromDead: true } },
  { name: 'ioredis 5, polling', connect: () => new Cluster5(addresses()), options: { wakeUp: 'poll' } },
]

for (const { name, connect, options } of kinds) {
  lockContract({
    name: `redisLock on a cluster, ${name}`,
    test,
    open: async () => {
      const clients = [connect(), connect()]
      return {
        locks: clients.map((client) => redisLock(client, options)),
        waiting: (lock) => (clients[0] as Cluster).zcard(`{lock:${lock}}:queue`),
        close: async () => {
          for (const client of clients) client.disconnect()
        },
      }
    },
  })
}

test('a client of a cluster that puts a prefix before keys is refused: the keys of a lock would part', () => {
  const client = new Cluster([], { keyPrefix: 'app:', lazyConnect: true })
  expect(() => redisLock(client)).toThrow(/^Expected a client of a cluster without `keyPrefix`/)
})

import { Cluster } from 'ioredis'
import { Cluster as Cluster5 } from 'ioredis5'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { portOf } from '../../src/redis/clients/redis-client.ts'
import { redisLock, type RedisLockOptions } from '../../src/redis/index.ts'
import { lockContract } from '../../src/testing/index.ts'
import { disconnect, nodeRedisCluster, nodeRedisCluster5, type OpenClient } from '../support/node-redis.ts'
import { startCluster, type RedisCluster } from '../support/servers.ts'

let cluster: RedisCluster
beforeAll(async () => {
  cluster = await startCluster({ masters: 3 })
})
afterAll(() => cluster.stop())

const ports = () => cluster.nodes.map(({ port }) => port)
const addresses = () => ports().map((port) => ({ host: '127.0.0.1', port }))

const kinds: readonly { name: string; connect: () => OpenClient; options: RedisLockOptions }[] = [
  { name: 'ioredis 6', connect: () => new Cluster(addresses()), options: {} },
  { name: 'ioredis 6, stealing in vain', connect: () => new Cluster(addresses()), options: { stealFromDead: true } },
  { name: 'ioredis 5, polling', connect: () => new Cluster5(addresses()), options: { wakeUp: 'poll' } },
  { name: 'node-redis 6', connect: () => nodeRedisCluster(ports()), options: {} },
  { name: 'node-redis 5, polling', connect: () => nodeRedisCluster5(ports()), options: { wakeUp: 'poll' } },
]

for (const { name, connect, options } of kinds) {
  lockContract({
    name: `redisLock on a cluster, ${name}`,
    test,
    open: async () => {
      const clients = [connect(), connect()]
      return {
        locks: clients.map((client) => redisLock(client, options)),
        waiting: async (lock) =>
          Number(await portOf(clients[0] as OpenClient).call('zcard', `{lock:${lock}}:queue`, [])),
        close: async () => {
          for (const client of clients) disconnect(client)
        },
      }
    },
  })
}

test('a client of a cluster that puts a prefix before keys is refused: the keys of a lock would part', () => {
  const message = /^Expected a client of a cluster without `keyPrefix`/
  const client = new Cluster([], { keyPrefix: 'app:', lazyConnect: true })
  expect(() => redisLock(client)).toThrow(message)
  const other = nodeRedisCluster(ports(), { keyPrefix: 'app:' })
  onTestFinished(() => disconnect(other))
  expect(() => redisLock(other)).toThrow(message)
})

import { Cluster } from 'ioredis'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { redisLock } from '../../src/redis/index.ts'
import { isOlder } from '../older/majors.mjs'
import { disconnect, nodeRedisCluster } from '../support/node-redis.ts'
import { startCluster, type RedisCluster } from '../support/servers.ts'
import { chosen, declareClients, declareLocks, declareStores } from './redis-clients.ts'

let cluster: RedisCluster
beforeAll(async () => {
  cluster = await startCluster({ masters: 3 })
})
afterAll(() => cluster.stop())

const ports = () => cluster.nodes.map(({ port }) => port)
const addresses = () => ports().map((port) => ({ host: '127.0.0.1', port }))
const ioredis = () => new Cluster(addresses())

// Version 5 of node-redis has no prefix.
const prefixed = [
  {
    name: 'ioredis, RESP3, key prefix',
    connect: () => new Cluster(addresses(), { keyPrefix: 'app:', redisOptions: { protocol: 3 } }),
  },
  ...(isOlder
    ? []
    : [{ name: 'node-redis, key prefix', connect: () => nodeRedisCluster(ports(), { keyPrefix: 'app:' }) }]),
]

declareStores(
  'redisStore on a cluster,',
  chosen([
    { name: 'ioredis', connect: ioredis },
    { name: 'ioredis, polling', connect: ioredis, options: { wakeUp: 'poll' } },
    ...prefixed,
  ]),
)

declareClients('on a cluster,', [{ name: 'ioredis', connect: ioredis }, ...prefixed])

declareLocks(
  'redisLock on a cluster,',
  chosen([
    { name: 'ioredis', connect: ioredis },
    { name: 'ioredis, stealing in vain', connect: ioredis, options: { stealFromDead: true } },
    { name: 'node-redis', connect: () => nodeRedisCluster(ports()) },
    { name: 'node-redis, polling', connect: () => nodeRedisCluster(ports()), options: { wakeUp: 'poll' } },
  ]),
)

test('a client of a cluster that puts a prefix before keys is refused: the keys of a lock would part', () => {
  for (const { connect } of prefixed) {
    const client = connect()
    onTestFinished(() => disconnect(client))
    expect(() => redisLock(client)).toThrow(/^Expected a client of a cluster without `keyPrefix`/)
  }
})

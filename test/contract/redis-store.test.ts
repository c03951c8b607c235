import { Redis, type RedisOptions } from 'ioredis'
import { Redis as Redis5 } from 'ioredis5'
import { afterAll, inject, test } from 'vitest'
import { redisStore, type RedisStoreOptions } from '../../src/redis/index.ts'
import { storeContract } from '../../src/testing/index.ts'
import { disconnect, nodeRedis, nodeRedis5, type NodeRedisOptions, type OpenClient } from '../support/node-redis.ts'

type ClientOptions = Pick<RedisOptions, 'keyPrefix' | 'protocol' | 'lazyConnect' | 'enableAutoPipelining'>

const ioredis6 = (options: ClientOptions = {}) => new Redis(inject('redisUrl'), options)
const ioredis5 = (options: Omit<ClientOptions, 'protocol'> = {}) => new Redis5(inject('redisUrl'), options)

const node6 = (options: NodeRedisOptions = {}) => nodeRedis({ url: inject('redisUrl'), ...options })
const node5 = () => nodeRedis5({ url: inject('redisUrl') })

/** Each kind of client that users have, and the options of the store on it. */
const kinds: readonly { name: string; connect: () => OpenClient; options?: RedisStoreOptions }[] = [
  { name: 'ioredis 6', connect: ioredis6 },
  { name: 'ioredis 6, polling', connect: ioredis6, options: { wakeUp: 'poll' } },
  { name: 'ioredis 6, RESP2', connect: () => ioredis6({ protocol: 2 }) },
  { name: 'ioredis 6, RESP3', connect: () => ioredis6({ protocol: 3 }) },
  { name: 'ioredis 6, RESP3, polling', connect: () => ioredis6({ protocol: 3 }), options: { wakeUp: 'poll' } },
  { name: 'ioredis 6, key prefix', connect: () => ioredis6({ keyPrefix: 'app:' }) },
  { name: 'ioredis 6, key prefix with braces', connect: () => ioredis6({ keyPrefix: 'a{p}p:' }) },
  {
    name: 'ioredis 6, lazy and pipelining by itself',
    connect: () => ioredis6({ lazyConnect: true, enableAutoPipelining: true }),
  },
  { name: 'ioredis 5', connect: ioredis5 },
  { name: 'ioredis 5, polling', connect: ioredis5, options: { wakeUp: 'poll' } },
  { name: 'ioredis 5, key prefix', connect: () => ioredis5({ keyPrefix: 'app:' }) },
  { name: 'node-redis 6', connect: node6 },
  { name: 'node-redis 6, RESP2', connect: () => node6({ RESP: 2 }) },
  { name: 'node-redis 6, key prefix with braces', connect: () => node6({ keyPrefix: 'a{p}p:' }) },
  { name: 'node-redis 5', connect: node5 },
]

for (const { name, connect, options = {} } of kinds) {
  // Connections last for all tests of a kind; stores, and the connections that they open themselves, for one.
  const clients: OpenClient[] = []
  afterAll(() => {
    for (const client of clients) disconnect(client)
  })
  storeContract({
    name: `redisStore on ${name}`,
    test,
    pushes: options.wakeUp !== 'poll',
    open: async () => {
      if (clients.length === 0) clients.push(connect(), connect())
      return { stores: clients.map((client) => redisStore(client, options)), close: async () => undefined }
    },
  })
}

import { Redis } from 'ioredis'
import { inject } from 'vitest'
import { nodeRedis } from '../support/node-redis.ts'
import { declareClients } from './redis-clients.ts'

declareClients('a client of', [
  { name: 'ioredis', connect: () => new Redis(inject('redisUrl')) },
  {
    name: 'ioredis, RESP3, key prefix with braces',
    connect: () => new Redis(inject('redisUrl'), { protocol: 3, keyPrefix: 'a{p}p:' }),
  },
  {
    name: 'ioredis, lazy and pipelining by itself',
    connect: () => new Redis(inject('redisUrl'), { lazyConnect: true, enableAutoPipelining: true }),
  },
  { name: 'node-redis', connect: () => nodeRedis({ url: inject('redisUrl') }) },
  {
    name: 'node-redis, RESP2, key prefix with braces',
    connect: () => nodeRedis({ url: inject('redisUrl'), RESP: 2, keyPrefix: 'a{p}p:' }),
  },
])

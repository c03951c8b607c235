import { Redis } from 'ioredis'
import { Redis as Redis5 } from 'ioredis5'
import { inject, test } from 'vitest'
import { portOf } from '../../src/redis/clients/redis-client.ts'
import { clientContract } from '../../src/testing/index.ts'
import { disconnect, nodeRedis, nodeRedis5, type OpenClient } from '../support/node-redis.ts'

const kinds: Record<string, (url: string) => OpenClient> = {
  'ioredis 6': (url) => new Redis(url),
  'ioredis 6, RESP3, key prefix': (url) => new Redis(url, { protocol: 3, keyPrefix: 'app:' }),
  'ioredis 6, pipelining by itself': (url) => new Redis(url, { enableAutoPipelining: true }),
  'ioredis 5': (url) => new Redis5(url),
  'node-redis 6': (url) => nodeRedis({ url }),
  'node-redis 6, RESP2, key prefix': (url) => nodeRedis({ url, RESP: 2, keyPrefix: 'app:' }),
  'node-redis 5': (url) => nodeRedis5({ url }),
  'node-redis 5, RESP3': (url) => nodeRedis5({ url, RESP: 3 }),
}

for (const [name, connect] of Object.entries(kinds)) {
  clientContract({
    name,
    test,
    open: async () => {
      const client = connect(inject('redisUrl'))
      return { port: portOf(client), close: async () => disconnect(client) }
    },
  })
}

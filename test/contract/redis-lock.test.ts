import { Redis } from 'ioredis'
import { Redis as Redis5 } from 'ioredis5'
import { inject, test } from 'vitest'
import { portOf } from '../../src/redis/clients/redis-client.ts'
import { redisLock, type RedisLockOptions } from '../../src/redis/locks/redis-lock.ts'
import { lockContract } from '../../src/testing/lock-contract/lock-contract.ts'
import { disconnect, nodeRedis, nodeRedis5, type OpenClient } from '../support/node-redis.ts'

const kinds: readonly { name: string; connect: () => OpenClient; options: RedisLockOptions }[] = [
  { name: 'ioredis 6', connect: () => new Redis(inject('redisUrl')), options: {} },
  { name: 'ioredis 6, polling', connect: () => new Redis(inject('redisUrl')), options: { wakeUp: 'poll' } },
  { name: 'ioredis 6, stealing', connect: () => new Redis(inject('redisUrl')), options: { stealFromDead: true } },
  { name: 'ioredis 5', connect: () => new Redis5(inject('redisUrl')), options: {} },
  { name: 'node-redis 6', connect: () => nodeRedis({ url: inject('redisUrl') }), options: {} },
  { name: 'node-redis 6, polling', connect: () => nodeRedis({ url: inject('redisUrl') }), options: { wakeUp: 'poll' } },
  {
    name: 'node-redis 6, stealing',
    connect: () => nodeRedis({ url: inject('redisUrl'), RESP: 2 }),
    options: { stealFromDead: true },
  },
  { name: 'node-redis 5', connect: () => nodeRedis5({ url: inject('redisUrl') }), options: {} },
]

for (const { name, connect, options } of kinds) {
  lockContract({
    name: `redisLock on ${name}`,
    test,
    open: async () => {
      const clients = [connect(), connect()]
      const ports = clients.map(portOf)
      return {
        locks: clients.map((client) => redisLock(client, options)),
        waiting: async (name) => Number(await ports[0]?.call('zcard', `{lock:${name}}:queue`, [])),
        close: async () => {
          for (const client of clients) disconnect(client)
        },
      }
    },
  })
}

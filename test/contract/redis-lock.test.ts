import { Redis } from 'ioredis'
import { Redis as Redis5 } from 'ioredis5'
import { inject, test } from 'vitest'
import { redisLock, type RedisLockOptions } from '../../src/redis/locks/redis-lock.ts'
import { lockContract } from '../../src/testing/lock-contract/lock-contract.ts'

const kinds: readonly { name: string; connect: () => Redis | Redis5; options: RedisLockOptions }[] = [
  { name: 'ioredis 6', connect: () => new Redis(inject('redisUrl')), options: {} },
  { name: 'ioredis 6, polling', connect: () => new Redis(inject('redisUrl')), options: { wakeUp: 'poll' } },
  { name: 'ioredis 6, stealing', connect: () => new Redis(inject('redisUrl')), options: { stealFromDead: true } },
  { name: 'ioredis 5', connect: () => new Redis5(inject('redisUrl')), options: {} },
]

for (const { name, connect, options } of kinds) {
  lockContract({
    name: `redisLock on ${name}`,
    test,
    open: async () => {
      const clients = [connect(), connect()]
      return {
        locks: clients.map((client) => redisLock(client, options)),
        waiting: (name) => (clients[0] as Redis).zcard(`{lock:${name}}:queue`),
        close: async () => {
          for (const client of clients) client.disconnect()
        },
      }
    },
  })
}

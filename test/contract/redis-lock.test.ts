import { Redis } from 'ioredis'
import { inject } from 'vitest'
import { nodeRedis } from '../support/node-redis.ts'
import { declareLocks } from './redis-clients.ts'

const ioredis = () => new Redis(inject('redisUrl'))

declareLocks('redisLock on', [
  { name: 'ioredis', connect: ioredis },
  { name: 'ioredis, polling', connect: ioredis, options: { wakeUp: 'poll' } },
  { name: 'ioredis, stealing', connect: ioredis, options: { stealFromDead: true } },
  { name: 'node-redis', connect: () => nodeRedis({ url: inject('redisUrl') }) },
])

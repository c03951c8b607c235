import { Redis } from 'ioredis'
import { inject } from 'vitest'
import { nodeRedis } from '../support/node-redis.ts'
import { declareStores } from './redis-clients.ts'

declareStores('redisStore on', [
  { name: 'ioredis', connect: () => new Redis(inject('redisUrl')) },
  { name: 'ioredis, polling', connect: () => new Redis(inject('redisUrl')), options: { wakeUp: 'poll' } },
  { name: 'node-redis', connect: () => nodeRedis({ url: inject('redisUrl') }) },
])

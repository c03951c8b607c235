import { declareContracts, ioredis5, ioredis6, node5, node6 } from './redis-on-clients.ts'

// Each client that users have; with its settings, redis-settings.test.ts.
declareContracts([
  { name: 'ioredis 6', connect: ioredis6 },
  { name: 'ioredis 6, polling', connect: ioredis6, options: { wakeUp: 'poll' } },
  { name: 'ioredis 6, key prefix', connect: () => ioredis6({ keyPrefix: 'app:' }) },
  { name: 'ioredis 5', connect: ioredis5 },
  { name: 'node-redis 6', connect: node6 },
  { name: 'node-redis 5', connect: node5 },
])

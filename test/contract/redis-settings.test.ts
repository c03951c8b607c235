import { declareContracts, ioredis5, ioredis6, node6 } from './redis-on-clients.ts'

declareContracts([
  { name: 'ioredis 6, RESP2', connect: () => ioredis6({ protocol: 2 }) },
  { name: 'ioredis 6, RESP3', connect: () => ioredis6({ protocol: 3 }) },
  { name: 'ioredis 6, RESP3, polling', connect: () => ioredis6({ protocol: 3 }), options: { wakeUp: 'poll' } },
  { name: 'ioredis 6, key prefix with braces', connect: () => ioredis6({ keyPrefix: 'a{p}p:' }) },
  {
    name: 'ioredis 6, lazy and pipelining by itself',
    connect: () => ioredis6({ lazyConnect: true, enableAutoPipelining: true }),
  },
  { name: 'ioredis 5, polling', connect: ioredis5, options: { wakeUp: 'poll' } },
  { name: 'ioredis 5, key prefix', connect: () => ioredis5({ keyPrefix: 'app:' }) },
  { name: 'node-redis 6, RESP2', connect: () => node6({ RESP: 2 }) },
  { name: 'node-redis 6, key prefix with braces', connect: () => node6({ keyPrefix: 'a{p}p:' }) },
])

import { Redis } from 'ioredis'
import { afterAll, beforeAll } from 'vitest'
import { nodeRedisSentinel } from '../support/node-redis.ts'
import { startSentinel, type SentinelGroup } from '../support/servers.ts'
import { chosen, declareClients, declareLocks, declareStores } from './redis-clients.ts'

let group: SentinelGroup
beforeAll(async () => {
  group = await startSentinel({ replicas: 1 })
})
afterAll(() => group.stop())

const ports = () => group.sentinels.map(({ port }) => port)

const kinds = [
  {
    name: 'ioredis',
    connect: () => new Redis({ sentinels: ports().map((port) => ({ host: '127.0.0.1', port })), name: 'herdless' }),
  },
  { name: 'node-redis', connect: () => nodeRedisSentinel('herdless', ports()) },
]

declareStores('redisStore under sentinels,', chosen(kinds))
declareClients('under sentinels,', kinds)
declareLocks('redisLock under sentinels,', chosen(kinds.toReversed()))

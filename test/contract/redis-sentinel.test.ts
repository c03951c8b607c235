import { Redis } from 'ioredis'
import { afterAll, beforeAll, test } from 'vitest'
import { portOf } from '../../src/redis/clients/redis-client.ts'
import { redisLock, redisStore } from '../../src/redis/index.ts'
import { clientContract, lockContract, storeContract } from '../../src/testing/index.ts'
import { disconnect, nodeRedisSentinel, nodeRedisSentinel5, type OpenClient } from '../support/node-redis.ts'
import { startSentinel, type SentinelGroup } from '../support/servers.ts'

let group: SentinelGroup
beforeAll(async () => {
  group = await startSentinel({ replicas: 1 })
})
afterAll(() => group.stop())

const ports = () => group.sentinels.map(({ port }) => port)

const kinds: Record<string, () => OpenClient> = {
  'ioredis 6': () => new Redis({ sentinels: ports().map((port) => ({ host: '127.0.0.1', port })), name: 'herdless' }),
  'node-redis 6': () => nodeRedisSentinel('herdless', ports()),
  'node-redis 5': () => nodeRedisSentinel5('herdless', ports()),
}

for (const [name, connect] of Object.entries(kinds)) {
  const clients: OpenClient[] = []
  afterAll(() => {
    for (const client of clients) disconnect(client)
  })
  storeContract({
    name: `redisStore under sentinels, ${name}`,
    test,
    open: async () => {
      if (clients.length === 0) clients.push(connect(), connect())
      return { stores: clients.map((client) => redisStore(client)), close: async () => undefined }
    },
  })
  clientContract({
    name: `under sentinels, ${name}`,
    test,
    open: async () => {
      const client = connect()
      return { port: portOf(client), close: async () => disconnect(client) }
    },
  })
}

lockContract({
  name: 'redisLock under sentinels, node-redis 6',
  test,
  open: async () => {
    const clients = [nodeRedisSentinel('herdless', ports()), nodeRedisSentinel('herdless', ports())]
    await Promise.all(clients.map((client) => portOf(client).call('time', null, [])))
    return {
      locks: clients.map((client) => redisLock(client)),
      close: async () => clients.forEach(disconnect),
    }
  },
})

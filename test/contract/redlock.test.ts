import { Redis } from 'ioredis'
import { afterAll, beforeAll, test } from 'vitest'
import { portOf } from '../../src/redis/clients/redis-client.ts'
import { redlock } from '../../src/redis/locks/redlock.ts'
import { lockContract } from '../../src/testing/lock-contract/lock-contract.ts'
import { urlOf, type Address } from '../../tools/servers/start-redis.mjs'
import { disconnect, nodeRedis, type OpenClient } from '../support/node-redis.ts'
import { startNodes } from '../support/servers.ts'

let nodes: Awaited<ReturnType<typeof startNodes>>
beforeAll(async () => {
  nodes = await startNodes(5)
})
afterAll(() => nodes.stop())

const kinds: Record<string, (address: Address) => OpenClient> = {
  ioredis: (address) => new Redis(urlOf(address)),
  'node-redis': (address) => nodeRedis({ url: urlOf(address) }),
}

for (const [name, connect] of Object.entries(kinds)) {
  lockContract({
    name: `redlock on five servers, ${name}`,
    test,
    fences: false,
    fair: false,
    open: async () => {
      const fleet = [0, 1].map(() => nodes.nodes.map(({ address }) => connect(address)))
      await Promise.all(fleet.flat().map((client) => portOf(client).call('ping', null, [])))
      return {
        locks: fleet.map((clients) => redlock(clients)),
        close: async () => {
          for (const client of fleet.flat()) disconnect(client)
        },
      }
    },
  })
}

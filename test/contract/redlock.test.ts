import { Redis } from 'ioredis'
import { afterAll, beforeAll, test } from 'vitest'
import { redlock } from '../../src/redis/locks/redlock.ts'
import { lockContract } from '../../src/testing/lock-contract/lock-contract.ts'
import { startNodes } from '../support/servers.ts'

let nodes: Awaited<ReturnType<typeof startNodes>>
beforeAll(async () => {
  nodes = await startNodes(5)
})
afterAll(() => nodes.stop())

lockContract({
  name: 'redlock on five servers',
  test,
  fences: false,
  fair: false,
  open: async () => {
    const fleet = [0, 1].map(() => nodes.nodes.map(({ address }) => new Redis(address)))
    await Promise.all(fleet.flat().map((client) => client.ping()))
    return {
      locks: fleet.map((clients) => redlock(clients)),
      close: async () => {
        for (const client of fleet.flat()) client.disconnect()
      },
    }
  },
})

import { Redis } from 'ioredis'
import { afterAll, beforeAll, test } from 'vitest'
import { portOf } from '../../src/redis/clients/redis-client.ts'
import { FleetLock } from '../../src/core/lock/fleet-lock.ts'
import { lockDefaults } from '../../src/core/options/lock-plan.ts'
import { systemClock, type Clock } from '../../src/core/time/clock.ts'
import type { Lock } from '../../src/core/contract/lock.ts'
import { RedisLocks } from '../../src/redis/locks/locks.ts'
import { Majority } from '../../src/redis/locks/majority.ts'
import { lockContract } from '../../src/testing/lock-contract/lock-contract.ts'
import { urlOf, type Address } from '../../tools/servers/start-redis.mjs'
import { disconnect, nodeRedis, type OpenClient } from '../support/node-redis.ts'
import { startNodes } from '../support/servers.ts'

let nodes: Awaited<ReturnType<typeof startNodes>>
beforeAll(async () => {
  nodes = await startNodes(5)
})
afterAll(() => nodes.stop())

/** A clock by which a server has a minute to vote instead of 50 ms, so that a busy machine loses no majority. */
const patientClock: Clock = {
  now: () => systemClock.now() / 1_200,
  after: (ms, run, background) => systemClock.after(ms * 1_200, run, background),
}

/** As `redlock` makes it, but for its deadlines. */
function patientRedlock(clients: readonly OpenClient[]): Lock {
  const how = { prefix: 'lock:', wakeUp: 'poll', stealFromDead: false, minReplicas: 0, replicaTimeout: 0 } as const
  const majority = new Majority(
    clients.map((client) => new RedisLocks(portOf(client), how)),
    patientClock,
  )
  return new FleetLock(majority, { plan: lockDefaults, commandTimeout: 60_000, ordered: false })
}

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
        locks: fleet.map(patientRedlock),
        close: async () => {
          for (const client of fleet.flat()) disconnect(client)
        },
      }
    },
    timeout: 60_000,
  })
}

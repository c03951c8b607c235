import { createClient } from 'node-zookeeper-client'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { provisionZooKeeper } from '../../tools/servers/provision-zookeeper.mjs'
import { startZooKeeper, type ZooKeeperProcess } from '../../tools/servers/start-zookeeper.mjs'
import { lockContract } from '../../src/testing/index.ts'
import { zookeeperLock } from '../../src/zookeeper/index.ts'
import { missing } from '../support/provided.ts'

const reason = await missing(provisionZooKeeper)
let server: ZooKeeperProcess

beforeAll(async () => {
  if (reason === undefined) server = await startZooKeeper()
})
afterAll(() => server?.stop())

const client = (): ReturnType<typeof createClient> =>
  createClient(`127.0.0.1:${server.address.port}`, { sessionTimeout: 30_000, spinDelay: 20, retries: 0 })

async function connected(): Promise<ReturnType<typeof client>> {
  const connecting = client()
  await new Promise<void>((resolve) => {
    connecting.once('connected', resolve)
    connecting.connect()
  })
  return connecting
}

const patient = { commandTimeout: '1m' } as const

const kinds = ['a client', 'a function that makes one'] as const

describe.skipIf(reason !== undefined)(`in ZooKeeper${reason ? ` (${reason})` : ''}`, () => {
  for (const kind of kinds) {
    lockContract({
      name: `zookeeperLock with ${kind}`,
      test,
      open: async () => {
        const looking = await connected()
        const clients = kind === 'a client' ? await Promise.all([connected(), connected()]) : []
        return {
          locks:
            clients.length > 0
              ? clients.map((each) => zookeeperLock(each, patient))
              : [zookeeperLock(client, patient), zookeeperLock(client, patient)],
          // One of the places is that of the holder.
          waiting: (name) =>
            new Promise((resolve) => {
              looking.getChildren(`/herdless/locks/${encodeURIComponent(name).replaceAll('.', '%2E')}`, (_, children) =>
                resolve((children?.length ?? 0) - 1),
              )
            }),
          close: async () => {
            for (const each of [...clients, looking]) each.close()
          },
        }
      },
      timeout: 60_000,
    })
  }
})

import { createClient, type Client } from 'node-zookeeper-client'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { provisionZooKeeper } from '../../tools/servers/provision-zookeeper.mjs'
import { startZooKeeperEnsemble, type ZooKeeperProcess } from '../../tools/servers/start-zookeeper.mjs'
import { until } from '../../tools/until.mjs'
import type { Lock, LockLease } from '../../src/core/contract/lock.ts'
import { zookeeperLock } from '../../src/zookeeper/index.ts'
import { startProxy, type Proxy } from '../support/proxy.ts'
import { missing } from '../support/provided.ts'

const reason = await missing(provisionZooKeeper)

/** The server that is cut off from the two others, and one of those. */
const [minority, majority] = [3, 1]

describe.skipIf(reason !== undefined)(
  `a lock in three ZooKeeper servers${reason === undefined ? '' : ` (${reason})`}`,
  () => {
    const proxies: Proxy[] = []
    let servers: readonly ZooKeeperProcess[] = []
    let looking: Client
    let locks: Lock[] = []

    beforeAll(async () => {
      servers = await startZooKeeperEnsemble(async (port, from, to) => {
        if (from !== minority && to !== minority) return port
        const proxy = await startProxy({ port })
        proxies.push(proxy)
        return proxy.port
      })
      looking = maker(minority)()
      await new Promise<void>((resolve) => {
        looking.once('connected', resolve)
        looking.connect()
      })
    })

    afterEach(async () => {
      heal()
      await Promise.all(locks.map((lock) => lock.close()))
      locks = []
    })

    afterAll(async () => {
      looking?.close()
      await Promise.all([...proxies, ...servers].map((each) => each.stop()))
    })

    function heal(): void {
      for (const proxy of proxies) {
        proxy.accept()
        proxy.heal()
      }
    }

    function maker(server: number, sessionTimeout = 20_000): () => Client {
      const port = servers[server - 1]?.address.port
      return () => createClient(`127.0.0.1:${port}`, { sessionTimeout, spinDelay: 20, retries: 0 })
    }

    function open(server: number, sessionTimeout?: number): Lock {
      const lock = zookeeperLock(maker(server, sessionTimeout), { commandTimeout: 300, wait: '20s' })
      locks.push(lock)
      return lock
    }

    /** How many hold it or wait for it, as far as the server in the minority knows. */
    function places(): Promise<number> {
      return new Promise((resolve, reject) => {
        looking.getChildren('/herdless/locks/job', (error, children) =>
          error ? reject(error) : resolve(children.length),
        )
      })
    }

    /** Has somebody in the majority wait for the lock, cuts the minority off, and stays until it has passed on. */
    async function passesOn(lease: LockLease, cut: () => void | Promise<void>): Promise<void> {
      const asked = open(majority).acquire('job')
      await until('it waits', async () => (await places()) === 2)
      await cut()
      const next = await asked
      expect(lease.isValid()).toBe(false)
      expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST' })
      expect(next.isValid()).toBe(true)
      expect(next.fence).toBeGreaterThan(lease.fence as bigint)
    }

    /** Nothing arrives any more, in either direction. */
    function silence(): void {
      for (const proxy of proxies) proxy.blackHole()
    }

    /** The connections end, and there are no others. */
    function refuse(): void {
      for (const proxy of proxies) proxy.refuse()
    }

    test.each([
      ['hears no more of the others', silence],
      ['has lost its connections to the others', refuse],
    ])('is lost before another has it, and is not to be had there, when its server %s', async (_, cut) => {
      const [holder, other] = [open(minority, 1_000), open(minority)]
      await other.run('another', () => {})
      await passesOn(await holder.acquire('job'), cut)
      for (const lock of [holder, other]) {
        await expect(lock.tryAcquire('free')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
      }
      heal()
      for (const lock of [holder, other]) expect(await (await lock.acquire('free')).release()).toBe('released')
    })

    test('is lost before another has it, although it was extended just before its server was cut off', async () => {
      const lease = await open(minority, 4_000).acquire('job', { renew: false })
      await passesOn(lease, async () => {
        // The leader hears of the extension, but not yet that the session lives: it counts from what was said before.
        await until('it is nearly over', () => lease.remaining() < 200)
        expect(await lease.extend()).toBe(true)
        silence()
      })
      // Its server knows of nothing, and would say that all is as before.
      expect(await places()).toBe(2)
    })
  },
)

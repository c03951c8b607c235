import { createClient, type Client } from 'node-zookeeper-client'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { provisionZooKeeper } from '../../tools/servers/provision-zookeeper.mjs'
import { startZooKeeper, type ZooKeeperProcess } from '../../tools/servers/start-zookeeper.mjs'
import { until } from '../../tools/until.mjs'
import type { Lock } from '../../src/core/contract/lock.ts'
import { zookeeperLock, type ZooKeeperLockOptions } from '../../src/zookeeper/index.ts'
import { startProxy } from '../support/proxy.ts'
import { missing } from '../support/provided.ts'

/** What a client keeps of its watches. */
interface Watchers {
  getExistenceWatcherPaths(): string[]
}

const reason = await missing(provisionZooKeeper)

describe.skipIf(reason !== undefined)(`a lock in ZooKeeper${reason === undefined ? '' : ` (${reason})`}`, () => {
  let server: ZooKeeperProcess
  let looking: Client
  let locks: Lock[] = []

  beforeAll(async () => {
    server = await startZooKeeper()
    looking = createClient(`127.0.0.1:${server.address.port}`)
    await new Promise<void>((resolve) => {
      looking.once('connected', resolve)
      looking.connect()
    })
  })

  afterEach(async () => {
    await Promise.all(locks.map((lock) => lock.close()))
    locks = []
  })

  afterAll(async () => {
    looking?.close()
    await server?.stop()
  })

  function maker(port = server.address.port, sessionTimeout = 10_000): () => Client {
    return () => createClient(`127.0.0.1:${port}`, { sessionTimeout, spinDelay: 20, retries: 0 })
  }

  function open(options: ZooKeeperLockOptions = {}, make = maker()): Lock {
    const lock = zookeeperLock(make, options)
    locks.push(lock)
    return lock
  }

  /** The names of the nodes below one; `null` if it is not there. */
  function below(path: string): Promise<string[] | null> {
    return new Promise((resolve) => {
      looking.getChildren(path, (error, children) => resolve(error ? null : children))
    })
  }

  async function placesFor(name: string): Promise<number> {
    return (await below(`/herdless/locks/${name}`))?.length ?? 0
  }

  test('leaves no node behind', async () => {
    const [one, other] = [open({ root: '/a/b' }), open({ root: '/a/b' })]
    const lease = await one.acquire('job')
    const next = other.acquire('job')
    await until('it waits', async () => (await below('/a/b/job'))?.length === 2)
    expect(await other.tryAcquire('job')).toBeNull()
    await lease.release()
    await (await next).release()
    expect(await below('/a/b')).toEqual([])
  })

  test('leaves no watch on a node that was gone before it could be watched', async () => {
    const lease = await open().acquire('job')
    const client = maker()()
    const getChildren = client.getChildren.bind(client)
    type Children = (error: unknown, children: string[]) => unknown
    // The lock is given back between the two reads of the next waiter.
    const overtaken = (path: string, callback: Children): void => {
      const answer: Children = async (...children) => {
        await lease.release()
        callback(...children)
      }
      getChildren(path, answer)
    }
    Object.assign(client, { getChildren: overtaken })
    await open({}, () => client).acquire('job')
    const { watcherManager } = (client as unknown as { connectionManager: { watcherManager: Watchers } })
      .connectionManager
    expect(watcherManager.getExistenceWatcherPaths()).toEqual([])
  })

  test('was given back though the answer to that was lost', async () => {
    await using proxy = await startProxy(server.address)
    const lease = await open({ commandTimeout: '20s' }, maker(proxy.port)).acquire('job')
    const lost = proxy.loseReplyTo('/herdless/locks/job/')
    expect(await lease.release()).toBe('released')
    await lost
  })

  test('may have any name', async () => {
    const names = ['.', '..', 'a/b', '/', 'x'.repeat(7_000), 'ü'.repeat(60_000), 'a\0b', '%2E', '键', ' ']
    const lock = open()
    const leases = await Promise.all(names.map((name) => lock.acquire(name)))
    expect(await Promise.all(names.map((name) => lock.tryAcquire(name)))).toEqual(names.map(() => null))
    expect(await Promise.all(leases.map((lease) => lease.release()))).toEqual(names.map(() => 'released'))
  })

  test('is held no longer than a third of what its session could last unheard', async () => {
    const lock = open({ ttl: '1m' }, maker(undefined, 2_000))
    const lease = await lock.acquire('job')
    expect(lease.remaining()).toBeGreaterThan(333)
    expect(lease.remaining()).toBeLessThanOrEqual(667)
    expect(await lease.extend('1h')).toBe(true)
    expect(lease.remaining()).toBeLessThanOrEqual(667)
  })

  test('is lost, and told so, before the server lets the next have it, when the holder is cut off', async () => {
    await using proxy = await startProxy(server.address)
    const holder = open({ commandTimeout: 300 }, maker(proxy.port, 1_000))
    const lease = await holder.acquire('job')
    const lost = new Promise<number>((resolve) => {
      lease.signal.addEventListener('abort', () => resolve(performance.now()))
    })
    const next = open().acquire('job', { wait: '20s' })
    proxy.blackHole()
    const had = next.then(() => performance.now())
    expect(await lost).toBeLessThan(await had)
    expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST' })
    await (await next).release()
    // The session has expired meanwhile, and another one is opened.
    proxy.heal()
    proxy.cut()
    await (await holder.acquire('job', { wait: '20s' })).release()
  })

  test('that was asked for while the server was out of reach blocks nobody', async () => {
    await using proxy = await startProxy(server.address)
    const lock = open({ commandTimeout: 200 }, maker(proxy.port))
    await lock.run('job', () => {})
    proxy.blackHole('replies')
    await expect(lock.tryAcquire('job')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(await below('/herdless/locks/job')).toHaveLength(1)
    proxy.heal()
    proxy.cut()
    await until('what it had asked for is given up', async () => (await below('/herdless/locks/job')) === null)
  })

  test('of a client of yours ends with its session, and says what helps', async () => {
    await using proxy = await startProxy(server.address)
    const client = maker(proxy.port, 500)()
    client.connect()
    await using lock = zookeeperLock(client, { commandTimeout: 300 })
    await lock.acquire('job')
    const expired = new Promise<void>((resolve) => client.once('expired', resolve))
    proxy.blackHole()
    await until('the server has given it up', async () => (await placesFor('job')) === 0)
    proxy.heal()
    proxy.cut()
    await expired
    await expect(lock.tryAcquire('job')).rejects.toThrow('give a function that makes a client')
    client.close()
  })

  test('of a client that you have closed is not asked for for ever', async () => {
    const client = maker()()
    client.connect()
    const lock = zookeeperLock(client, { commandTimeout: 200 })
    const lease = await lock.acquire('job')
    client.close()
    expect(await lease.release()).toBe('unknown')
    await lock.close()
    await until('it went with its session', async () => (await placesFor('job')) === 0)
  })

  test('that was asked for when it was closed is given up by a client of yours, too', async () => {
    const client = maker()()
    client.connect()
    const lock = zookeeperLock(client)
    const other = open()
    const lease = await other.acquire('job')
    const asked = lock.acquire('job').catch((error: { code: string }) => error.code)
    await until('it waits', async () => (await placesFor('job')) === 2)
    await lock.close()
    expect(await asked).toBe('CLOSED')
    expect(await placesFor('job')).toBe(1)
    await lease.release()
    await other.close()
    client.close()
  })

  test('can be closed before it has ever been connected', async () => {
    const nowhere = zookeeperLock(() => createClient('127.0.0.1:1', { spinDelay: 20 }), { commandTimeout: 100 })
    await expect(nowhere.tryAcquire('job')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await nowhere.close()
    const soon = zookeeperLock(maker(), { commandTimeout: 1 })
    await soon.tryAcquire('job').catch(() => null)
    await soon.close()
    await until('no place is left', async () => (await placesFor('job')) === 0)
  })

  test('wants a client, or a function that makes one, and the path of a node', () => {
    for (const other of [undefined, null, {}, 'localhost:2181']) {
      expect(() => zookeeperLock(other as never)).toThrow(/^Expected a client of node-zookeeper-client/)
    }
    for (const root of ['', '/', 'a', '/a/', '//', '/a//b', '/a/../b', 5]) {
      expect(() => zookeeperLock(maker(), { root: root as never })).toThrow(/^Expected `root` to be the path of a node/)
    }
  })
})

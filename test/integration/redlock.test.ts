import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import type { Lock } from '../../src/core/contract/lock.ts'
import { redlock, type RedlockOptions } from '../../src/redis/index.ts'
import { giveBack } from '../../src/redis/scripts.ts'
import { CriticalSection } from '../support/critical-section.ts'
import { startProxy, type Proxy } from '../support/proxy.ts'
import { startNodes, type RedisNodes, type RedisServer } from '../support/servers.ts'

describe('a lock on five servers', () => {
  let nodes: RedisNodes
  let proxies: Proxy[]
  const open: { lock: Lock; clients: Redis[] }[] = []

  beforeAll(async () => {
    nodes = await startNodes(5)
    proxies = await Promise.all([...nodes].map((node) => startProxy(node)))
  })

  afterEach(async () => {
    for (const proxy of proxies) proxy.heal()
    for (const { lock, clients } of open.splice(0)) {
      await lock.close()
      for (const client of clients) client.disconnect()
    }
    await Promise.all(
      [...nodes].map(async ({ client }) => {
        // What was held back on its way may be a request whose release is lost with the connection.
        await until('the server has read all that was sent', async () => (await clients(client)) === 1)
        await client.flushall()
      }),
    )
  })

  afterAll(async () => {
    await Promise.all(proxies?.map((proxy) => proxy.stop()) ?? [])
    await nodes?.stop()
  })

  async function opened(options: RedlockOptions = {}): Promise<Lock> {
    const clients = proxies.map(({ port }) => new Redis({ host: '127.0.0.1', port }))
    for (const client of clients) client.on('error', () => {})
    await Promise.all(clients.map((client) => client.ping()))
    const lock = redlock(clients, options)
    open.push({ lock, clients })
    await lock.run('warm-up', () => {})
    return lock
  }

  test('says why where most of its servers refuse connections', async () => {
    const lock = await opened()
    for (const proxy of proxies) proxy.refuse()
    const reason = await until('it is known', async () => {
      const error = (await lock.tryAcquire('job').catch((thrown: unknown) => thrown)) as { reason?: string }
      return error.reason !== 'other' && error.reason
    })
    expect(['closed', 'refused']).toContain(reason)
    for (const proxy of proxies) proxy.accept()
  })

  function hang(count: number): void {
    for (const proxy of proxies.slice(0, count)) proxy.blackHole()
  }

  /** How many clients a server has, this one included. */
  async function clients(client: Redis): Promise<number> {
    return String(await client.client('LIST'))
      .trim()
      .split('\n').length
  }

  /** What each server has under the name of the lock. */
  function held(): Promise<(string | null)[]> {
    return Promise.all([...nodes].map(({ client }) => client.get('lock:job')))
  }

  test('is held where three of them say so, whatever the other two do', async () => {
    const lock = await opened()
    hang(2)
    const lease = await lock.tryAcquire('job')
    expect(lease?.isValid()).toBe(true)
    expect((await held()).filter((token) => token === lease?.token)).toHaveLength(3)
    expect(await lease?.extend()).toBe(true)
    expect(await lease?.release()).toBe('released')
    expect(await held()).toEqual(Array(5).fill(null))
  })

  test('is not waited for where one hangs: the others decide', async () => {
    const lock = await opened()
    hang(1)
    // With the one that hangs each would take 50 ms.
    const begun = performance.now()
    for (let round = 0; round < 100; round++) await lock.run('job', () => {})
    expect(performance.now() - begun).toBeLessThan(100 * 50)
  })

  test('cannot be had where three of them hang, and soon says so', async () => {
    const lock = await opened()
    hang(3)
    await expect(lock.tryAcquire('job')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    const begun = performance.now()
    await expect(lock.acquire('job', { wait: 300 })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(performance.now() - begun).toBeLessThan(2_000)
    await until('the two that answer have forgotten it', async () => (await held()).every((token) => token === null))
  })

  test('that a minority granted late stays with nobody', async () => {
    const lock = await opened()
    // They hear of it, and their answers are lost.
    for (const proxy of proxies.slice(0, 3)) proxy.blackHole('replies')
    await expect(lock.tryAcquire('job')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await until('nobody has it', async () => (await held()).every((token) => token === null))
  })

  test.each([
    ['asked for in vain', 'theirs'],
    ['held for a moment', null],
  ])('that is %s is not left behind on a server that had to be sent the script anew', async (_, theirs) => {
    const lock = await opened()
    const [forgetful, itsClient, itsProxy] = [[...nodes][4], open[0]?.clients[4], proxies[4] as Proxy]
    if (theirs !== null) for (const { client } of [...nodes].slice(0, 3)) await client.set('lock:job', theirs)
    await forgetful?.client.script('FLUSH')
    // Somebody else has given back something there since, and taken nothing.
    await forgetful?.client.script('LOAD', giveBack.lua)
    itsProxy.latency = 20
    // The others have decided by the time it says that it does not know the script.
    await lock.tryAcquire('job').then((lease) => lease?.release())
    // The third is behind what is sent when the second, and that when the first, is answered.
    for (let turn = 0; turn < 3; turn++) await itsClient?.ping()
    itsProxy.latency = 0
    expect(await held()).toEqual([theirs, theirs, theirs, null, null])
  })

  test('is not given to two who ask at once, and then to neither for long', async () => {
    const [one, other] = [await opened(), await opened()]
    const tries = await Promise.all([one.tryAcquire('job'), other.tryAcquire('job')])
    expect(tries.filter((lease) => lease !== null).length).toBeLessThanOrEqual(1)
    await Promise.all(tries.map((lease) => lease?.release() ?? Promise.resolve()))
    const section = new CriticalSection()
    await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? one : other).run('job', section.work, { wait: '20s' })),
    )
    expect(section.most).toBe(1)
  })

  test('is not given to a second while a majority remembers, though a server was restarted empty', async () => {
    const [one, other] = [await opened(), await opened()]
    const lease = await one.acquire('job')
    const [server] = nodes as unknown as RedisServer[]
    await server?.kill()
    await server?.restart()
    await until('it answers again', () => server?.client.ping())
    const given: unknown[] = []
    // On a busy machine too few may answer within 50 ms.
    const refused = async (): Promise<boolean> => given.push(await other.tryAcquire('job')) > 0
    for (let times = 0; times < 10; times++) await until('a majority answers', refused)
    expect(given).toEqual(Array(10).fill(null))
    expect(await until('a majority answers', async () => [await lease.extend()])).toEqual([true])
    // On a busy machine it may not be known whether it was released, but it was not lost.
    expect(await lease.release()).not.toBe('lost')
    await until('another has it', async () => (await other.tryAcquire('job')) !== null)
  })

  test('is lost, and told so, when a majority says that it is theirs', async () => {
    const lock = await opened({ ttl: 300 })
    const lease = await lock.acquire('job')
    const lost = new Promise((resolve) => lease.signal.addEventListener('abort', () => resolve(lease.signal.reason)))
    for (const { client } of [...nodes].slice(0, 3)) await client.set('lock:job', 'theirs', 'PX', 10_000)
    expect(await lost).toMatchObject({ code: 'LEASE_LOST' })
    expect(await lease.release()).toBe('lost')
  })

  test('is not called lost where the others cannot be heard: nobody can tell', async () => {
    const lock = await opened()
    const lease = await lock.acquire('job')
    const [{ client } = { client: null }] = nodes
    await client?.del('lock:job')
    for (const proxy of proxies.slice(3)) proxy.blackHole()
    await expect(lease.extend()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(lease.isValid()).toBe(true)
  })

  test('is refused when the majority has answered after its ttl', async () => {
    const lock = await opened()
    // Each is waited for 5 ms at least, and a ttl has 30 at least: it is the process that stands still meanwhile.
    const asked = lock.tryAcquire('job', { ttl: 30 })
    await new Promise(setImmediate)
    const end = performance.now() + 100
    while (performance.now() < end);
    await expect(asked).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await until('nobody has it', async () => (await held()).every((token) => token === null))
  })
})

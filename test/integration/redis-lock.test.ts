import { setImmediate as turn } from 'node:timers/promises'
import { Cluster } from 'ioredis'
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { until } from '../../tools/until.mjs'
import type { Lock } from '../../src/core/contract/lock.ts'
import { placeKept, placeKeptOnceTold } from '../../src/core/contract/lock-backend.ts'
import { tokenLength } from '../../src/core/lease/token.ts'
import { portOf } from '../../src/redis/clients/redis-client.ts'
import { redisLock } from '../../src/redis/index.ts'
import { RedisLocks } from '../../src/redis/locks/locks.ts'
import { startProxy } from '../support/proxy.ts'
import { startRedis } from '../support/servers.ts'

/** The recipe of the documentation of Redis, as anybody may write it down. */
const compareAndDelete = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end`

const patient = { ttl: '2m', commandTimeout: '30s' } as const
const patiently = { wait: '2m' } as const
const server = await startRedis()

beforeEach(() => server.client.flushall())

afterAll(() => server.stop())

/** Resolves when all have an inbox, whose name their tokens have behind them. */
async function listening(...locks: readonly Lock[]): Promise<void> {
  for (const lock of locks) {
    await until('it listens', () => lock.run('warm-up', ({ token }) => token.includes('@herdless:inbox:')))
  }
}

describe('a lock on Redis', () => {
  test('excludes whoever uses the plain recipe, and is excluded', async () => {
    await using lock = redisLock(server.connect(), patient)
    const plain = server.connect()
    expect(await plain.set('lock:job', 'mine', 'PX', 10_000, 'NX')).toBe('OK')
    expect(await lock.tryAcquire('job')).toBeNull()
    const waiting = lock.acquire('job')
    await until('it waits', async () => (await plain.exists('{lock:job}:queue')) === 1)
    expect(await plain.eval(compareAndDelete, 1, 'lock:job', 'mine')).toBe(1)
    const lease = await waiting
    expect(await plain.set('lock:job', 'mine', 'PX', 10_000, 'NX')).toBeNull()
    expect(await plain.eval(compareAndDelete, 1, 'lock:job', 'mine')).toBe(0)
    expect(await plain.get('lock:job')).toBe(lease.token)
    expect(await plain.eval(compareAndDelete, 1, 'lock:job', lease.token)).toBe(1)
    expect(await lease.release()).toBe('lost')
  })

  test('takes two commands where nobody else wants it', async () => {
    await using lock = redisLock(server.connect(), patient)
    await lock.run('warm-up', () => {})
    await server.resetCounts()
    await lock.run('job', () => {})
    expect(await server.commandCounts()).toEqual({ evalsha: 2 })
  })

  test('leaves nothing without an expiry behind', async () => {
    await using lock = redisLock(server.connect(), patient)
    const lease = await lock.acquire('job')
    await Promise.all([lock.acquire('job', { wait: 50 }).catch(() => {}), lock.tryAcquire('job')])
    for (const key of await server.client.keys('*')) expect([key, await server.client.pttl(key)]).not.toEqual([key, -1])
    await lease.release()
    await until('the place is given up', async () => (await server.client.keys('*')).length === 1)
    expect(await server.client.keys('*')).toEqual(['{lock:job}:fence'])
  })

  test.each(['garbage', '', 'inf', 'nan', '1e300', '9007199254740991'])(
    'is had, with a fence, where somebody has written %j in place of the last one',
    async (written) => {
      await using lock = redisLock(server.connect(), patient)
      await server.client.set('{lock:job}:fence', written)
      const fences: (bigint | null)[] = []
      for (let time = 0; time < 2; time++) fences.push(await lock.run('job', ({ fence }) => fence))
      const [first, second] = fences
      expect(first).toBeGreaterThan(1_700_000_000_000_000n)
      expect(second).toBeGreaterThan(first as bigint)
    },
  )

  test('has a fence that grows, though Redis has lost all that it knew', async () => {
    await using lock = redisLock(server.connect(), patient)
    const fence = (): Promise<bigint> => lock.run('job', (lease) => lease.fence as bigint)
    const before = await fence()
    await server.client.flushall()
    expect(await fence()).toBeGreaterThan(before)
  })

  test('keeps the place of who waits, and of who has been told, for as long as every backend does', async () => {
    const options = { prefix: '', wakeUp: 'push', stealFromDead: false, minReplicas: 0, replicaTimeout: 0 } as const
    const locks = new RedisLocks(portOf(server.connect()), options)
    locks.open()
    onTestFinished(() => locks.close())
    const request = { name: 'job', ttl: 10_000, waits: 'fair' } as const
    const now = async (): Promise<number> => {
      const [seconds, micros] = (await server.client.time()).map(Number) as [number, number]
      return Math.floor((seconds * 1e6 + micros) / 1_000)
    }
    /** For how long a place was kept that was given by then, at least and at most. */
    const kept = async (give: () => Promise<unknown>): Promise<[number, number]> => {
      const before = await now()
      await give()
      const [place = ''] = await server.client.zrange('{job}:places', '0', '0')
      const end = Number(await server.client.zscore('{job}:places', place))
      return [end - (await now()), end - before]
    }
    const held = await locks.take({ ...request, token: 'h'.repeat(tokenLength) })
    if (held.state === 'busy') throw new Error('Expected the lock to be free')
    const [atLeast, atMost] = await kept(() => locks.take({ ...request, token: 'w'.repeat(tokenLength) }))
    expect(placeKept).toBeGreaterThanOrEqual(atLeast)
    expect(placeKept).toBeLessThanOrEqual(atMost)
    const [told, atMostTold] = await kept(() => locks.release(held.hold))
    expect(placeKeptOnceTold).toBeGreaterThanOrEqual(told)
    expect(placeKeptOnceTold).toBeLessThanOrEqual(atMostTold)
  })

  test('tells its holder that Redis does not answer', async () => {
    await using lock = redisLock(server.connect(), { ttl: 3_000, commandTimeout: 1_000 })
    const lease = await lock.acquire('job', patiently)
    const lost = new Promise((resolve) => lease.signal.addEventListener('abort', resolve))
    onTestFinished(() => server.thaw())
    await server.freeze()
    await lost
    expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST' })
    expect(lease.isValid()).toBe(false)
    expect(await lease.release()).toBe('lost')
    await expect(lock.tryAcquire('other')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await expect(lock.acquire('other', { wait: 300 })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    server.thaw()
    await until('it answers again', () => lock.run('other', () => true, patiently))
  })

  test('that was granted too late is not given back to the harm of who has asked again', async () => {
    const client = server.connect()
    const sent = vi.spyOn(client, 'sendCommand')
    await using lock = redisLock(client, { ...patient, commandTimeout: 100, wakeUp: 'poll' })
    await until('it is warm', () => lock.run('warm-up', () => true))
    onTestFinished(() => server.thaw())
    await server.freeze()
    sent.mockClear()
    const asked = lock.acquire('job', { wait: '2m' })
    // All of it is answered at once.
    await until('it has asked several times in vain', () => sent.mock.calls.length > 3)
    server.thaw()
    const lease = await asked
    // What was sent before this is done.
    await until('it is done', () => lock.run('other', () => true))
    expect(await server.client.get('lock:job')).toBe(lease.token)
    expect(await until('it is extended', () => lease.extend())).toBe(true)
  })

  test('that belongs to somebody else by now is not prolonged, and its holder is told', async () => {
    await using lock = redisLock(server.connect(), patient)
    const lease = await lock.acquire('job')
    await server.client.set('lock:job', 'theirs', 'PX', 5_000)
    expect(await lease.extend('1h')).toBe(false)
    expect(await server.client.pttl('lock:job')).toBeLessThanOrEqual(5_000)
    expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST' })
    expect(await lease.release()).toBe('lost')
    expect(await server.client.get('lock:job')).toBe('theirs')
  })

  test('goes to the next who waits, at once, where its holder may be taken for dead', async () => {
    await using proxy = await startProxy(server)
    const options = { ...patient, stealFromDead: true } as const
    const holder = redisLock(server.connect({ port: proxy.port }), options)
    await using other = redisLock(server.connect(), options)
    await listening(holder, other)
    const lease = await holder.acquire('job')
    expect(lease.token).toContain('@herdless:inbox:')
    const next = other.acquire('job', patiently)
    await until('it waits', async () => (await server.client.exists('{lock:job}:queue')) === 1)
    proxy.refuse()
    proxy.cut()
    expect(await next).toMatchObject({ name: 'job' })
    expect(lease.isValid()).toBe(false)
    expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST' })
    // What it has sent is answered, so that it need not wait for the deadline.
    proxy.accept()
    await holder.close()
  })

  test('is not lost to a message that says it is the turn of its holder, however much it is wanted', async () => {
    await using one = redisLock(server.connect(), { ...patient, stealFromDead: true, wait: '2m' })
    await using other = redisLock(server.connect(), { ...patient, stealFromDead: true, wait: '2m' })
    await listening(one, other)
    const lost: unknown[] = []
    const call = async (lock: Lock): Promise<void> => {
      for (let time = 0; time < 10; time++) {
        const lease = await lock.acquire('job')
        lease.signal.addEventListener('abort', () => lost.push(lease.signal.reason))
        await turn()
        expect(await lease.release()).toBe('released')
      }
    }
    await Promise.all(Array.from({ length: 16 }, (_, number) => call(number % 2 === 0 ? one : other)))
    expect(lost).toEqual([])
  })

  test('is given back where nobody heard that it was granted, though its token has an inbox behind it', async () => {
    await using proxy = await startProxy(server)
    await using lock = redisLock(server.connect({ port: proxy.port, commandTimeout: 100 }), { stealFromDead: true })
    await listening(lock)
    proxy.blackHole('replies')
    await expect(lock.tryAcquire('job')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await until('it is free', async () => (await server.client.exists('lock:job')) === 0)
    proxy.heal()
    proxy.cut()
  })

  test('is given back where nobody can say how many replicas know of it', async () => {
    await server.forbid('wait')
    onTestFinished(() => server.permit('wait'))
    await using lock = redisLock(server.connect(), { ...patient, minReplicas: 1 })
    await expect(lock.tryAcquire('job')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await until('it is free', async () => (await server.client.exists('lock:job')) === 0)
    const cluster = new Cluster([], { lazyConnect: true })
    expect(() => redisLock(cluster, { minReplicas: 1 })).toThrow(/^Expected `minReplicas` to be 0 on a cluster/)
  })

  test('that is given back over a connection that broke may have been lost, or not', async () => {
    await using proxy = await startProxy(server)
    await using lock = redisLock(server.connect({ port: proxy.port }), patient)
    const lease = await lock.acquire('job')
    const lost = proxy.loseReplyTo('lock:job')
    expect(await lease.release()).toBe('unknown')
    await lost
    expect(await server.client.exists('lock:job')).toBe(0)
  })

  test('is not taken from a holder that lives, whoever waits for it', async () => {
    const options = { ...patient, stealFromDead: true } as const
    await using holder = redisLock(server.connect(), options)
    await using other = redisLock(server.connect(), options)
    await listening(holder, other)
    const lease = await holder.acquire('job')
    await expect(other.acquire('job', { wait: 1_500 })).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' })
    expect(lease.isValid()).toBe(true)
    expect(await lease.release()).toBe('released')
  })
})

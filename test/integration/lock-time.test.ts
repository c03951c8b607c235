import { execFile } from 'node:child_process'
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { until } from '../../tools/until.mjs'
import { redisLock } from '../../src/redis/index.ts'
import { builtPackage } from '../support/fleet-build.ts'
import { startProxy } from '../support/proxy.ts'
import { startRedis, startSentinel } from '../support/servers.ts'

/** Stands still, and everything in this process with it. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

describe('a holder whose process stands still', () => {
  test('for longer than the ttl knows in the same tick that its lease is over, and is told in the next', async () => {
    await using server = await startRedis()
    await using lock = redisLock(server.connect(), { ttl: 200 })
    const lease = await lock.acquire('job')
    let aborted = false
    lease.signal.addEventListener('abort', () => (aborted = true))
    block(250)
    expect(lease.isValid()).toBe(false)
    expect(lease.remaining()).toBe(0)
    expect(() => lease.assertValid()).toThrow(expect.objectContaining({ code: 'LEASE_LOST' }))
    // Timers that were due have their turn before one that is set now.
    await pause(0)
    expect(aborted).toBe(true)
    expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST' })
  })

  test('gives back at once a lease that is over, without asking anybody', async () => {
    await using server = await startRedis()
    await using proxy = await startProxy(server)
    await using lock = redisLock(server.connect({ port: proxy.port }), { ttl: 200, commandTimeout: 10_000 })
    const lease = await lock.acquire('job')
    block(250)
    proxy.blackHole()
    // Nobody answers, and nobody is waited for.
    expect(await Promise.race([lease.release(), turn('still waiting')])).toBe('lost')
    proxy.heal()
    proxy.cut()
  })

  test('for less than two thirds of the ttl, again and again, keeps it', async () => {
    await using server = await startRedis()
    await using one = redisLock(server.connect(), { ttl: 300 })
    await using other = redisLock(server.connect(), { ttl: 300 })
    const lease = await one.acquire('job')
    const next = other.acquire('job', { wait: '30s' })
    for (let round = 0; round < 20; round++) {
      block(Math.random() * 0.6 * 300)
      // The round trip of a renewal.
      await server.client.ping()
      await turn()
      expect(lease.isValid()).toBe(true)
      expect(await server.client.get('lock:job')).toBe(lease.token)
    }
    expect(await lease.release()).toBe('released')
    await (await next).release()
  })
})

describe('the wall clock of a holder', () => {
  afterEach(() => void vi.restoreAllMocks())

  test.for([60_000, -60_000])('may be off by %i ms: nothing is decided by it', async (shift) => {
    await using server = await startRedis()
    await using one = redisLock(server.connect(), { ttl: 1_000 })
    await using other = redisLock(server.connect())
    const lease = await one.acquire('job')
    const { now } = Date
    vi.spyOn(Date, 'now').mockImplementation(() => now() + shift)
    await server.resetCounts()
    await until('it has been renewed some times', async () => ((await server.commandCounts())['evalsha'] ?? 0) > 4)
    expect(lease.isValid()).toBe(true)
    expect(await other.tryAcquire('job')).toBeNull()
    expect(await lease.release()).toBe('released')
  })
})

test('a lock that is to be known to replicas is refused where none acknowledges it', async () => {
  await using group = await startSentinel()
  const client = group.connect()
  await using lock = redisLock(client, { minReplicas: 1 })
  await lock.run('job', (lease) => expect(lease.isValid()).toBe(true))
  await using alone = redisLock(client, { minReplicas: 99, commandTimeout: 200 })
  await expect(alone.tryAcquire('job')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  // It was given back.
  await until('it can be had', () => lock.tryAcquire('job'))
})

test('nothing keeps a process alive once its locks are closed, and its own clients', async () => {
  await using server = await startRedis()
  const built = await builtPackage()
  const program = `
    import { redisLock } from '${built}/redis/index.js'
    import { memoryLock } from '${built}/index.js'
    import { Redis } from 'ioredis'
    const client = new Redis(${server.port}, '127.0.0.1')
    const lock = redisLock(client, { stealFromDead: true })
    const lease = await lock.acquire('job')
    const waiting = lock.acquire('job', { wait: '1h' }).catch((error) => error.code)
    const memory = memoryLock()
    await memory.acquire('job', { ttl: '1h' })
    await Promise.all([lock.close(), memory.close()])
    console.log(await waiting, lease.signal.reason.code)
    await client.quit()
  `
  const run = promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], { timeout: 10_000 })
  expect((await run).stdout).toBe('CLOSED CLOSED\n')
  expect(await server.client.keys('lock:*')).toEqual([])
})

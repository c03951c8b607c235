import { execFile } from 'node:child_process'
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { until } from '../../tools/until.mjs'
import { redisLock } from '../../src/redis/index.ts'
import { builtPackage } from '../support/fleet-build.ts'
import { startProxy } from '../support/proxy.ts'
import { startRedis, startSentinel } from '../support/servers.ts'

const patient = { ttl: '2m', commandTimeout: '30s' } as const
const server = await startRedis()

beforeEach(() => server.client.flushall())

afterAll(() => server.stop())

/** Stands still, and everything in this process with it. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

test('a holder that was blocked for longer than its ttl knows so in the same tick, and is told in the next', async () => {
  await using proxy = await startProxy(server)
  await using lock = redisLock(server.connect({ port: proxy.port }), patient)
  const [lease, another] = await Promise.all([lock.acquire('job'), lock.acquire('another')])
  let aborted = false
  lease.signal.addEventListener('abort', () => (aborted = true))
  // Shorter only now: what a busy machine takes until here ends no lease.
  await Promise.all([lease.extend(1_000), another.extend(1_000)])
  block(1_100)
  expect(lease.isValid()).toBe(false)
  expect(lease.remaining()).toBe(0)
  expect(() => lease.assertValid()).toThrow(expect.objectContaining({ code: 'LEASE_LOST' }))
  // Timers that were due have their turn before one that is set now.
  await pause(0)
  expect(aborted).toBe(true)
  expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST' })
  // A lease that is over is given back without asking anybody: nobody answers, and nobody is waited for.
  proxy.blackHole()
  expect(await Promise.race([another.release(), turn('still waiting')])).toBe('lost')
  proxy.heal()
  proxy.cut()
})

test.for([60_000, -60_000])(
  'the wall clock of a holder may be off by %i ms: nothing is decided by it',
  async (shift) => {
    await using one = redisLock(server.connect(), patient)
    await using other = redisLock(server.connect(), patient)
    const lease = await one.acquire('job')
    const { now } = Date
    vi.spyOn(Date, 'now').mockImplementation(() => now() + shift)
    onTestFinished(() => void vi.restoreAllMocks())
    for (let time = 0; time < 3; time++) expect(await lease.extend()).toBe(true)
    expect(lease.isValid()).toBe(true)
    expect(lease.remaining()).toBeLessThanOrEqual(120_000)
    expect(await other.tryAcquire('job')).toBeNull()
    expect(await lease.release()).toBe('released')
  },
)

test('a lock that is to be known to replicas is refused where none acknowledges it', async () => {
  await using group = await startSentinel()
  const client = group.connect()
  await using lock = redisLock(client, { ...patient, minReplicas: 1 })
  await lock.run('job', (lease) => expect(lease.isValid()).toBe(true))
  await using alone = redisLock(client, { minReplicas: 99, commandTimeout: 200 })
  await expect(alone.tryAcquire('job')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  // It was given back.
  await until('it can be had', () => lock.tryAcquire('job'))
})

test('nothing keeps a process alive once its locks are closed, and its own clients', async () => {
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
  const run = promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], { timeout: 120_000 })
  expect((await run).stdout).toBe('CLOSED CLOSED\n')
  expect(await server.client.keys('lock:*')).toEqual([])
})

import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createCache, type Cache } from '../../src/index.ts'
import { redisLock, redisStore } from '../../src/redis/index.ts'
import { startRedis } from '../support/servers.ts'

/** All but `nextTick`, by which the sockets of Node.js work. */
const toFake = [
  'Date',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'clearImmediate',
  'setInterval',
  'clearInterval',
  'setTimeout',
  'clearTimeout',
] as const

const server = await startRedis()
let caches: Cache[]

beforeEach(async () => {
  await server.client.flushall()
  vi.useFakeTimers({ toFake: [...toFake] })
  const both = [{}, { near: {} }].map((options) => ({ ...options, commandTimeout: '30s' as const }))
  caches = both.map((options) => createCache({ store: redisStore(server.connect()), ...options }))
})

afterEach(async () => {
  vi.useRealTimers()
  await Promise.all(caches.map((cache) => cache.close()))
})

afterAll(() => server.stop())

test('on Redis, calls settle though the time of the test stands still', async () => {
  const [a, b] = caches as [Cache, Cache]
  let loads = 0
  const load = (): Promise<number> => Promise.resolve(++loads)
  expect(await Promise.all([a.getOrLoad('k', load), b.getOrLoad('k', load)])).toEqual([1, 1])
  expect(await a.getOrLoadMany(['k', 'l'], (keys) => keys.map(() => 7))).toEqual([1, 7])
  expect(await b.getOrLoad('k', load)).toBe(1)
  await a.invalidate('k')
  expect(await b.getOrLoad('k', load)).toBe(2)
  await expect(a.getOrLoad('e', () => Promise.reject(new Error('away')))).rejects.toThrow('away')
  await expect(b.getOrLoad('e', () => 1)).rejects.toThrow('away')
})

test('on Redis, a value ages by the clock of the server, whatever time the test has', async () => {
  const [a, b] = caches as [Cache, Cache]
  const load = vi.fn(() => 'v')
  await a.getOrLoad('k', load, { ttl: '60s' })
  await vi.advanceTimersByTimeAsync(3_600_000)
  for (const cache of [a, b, a, b]) expect(await cache.getOrLoad('k', load, { ttl: '60s' })).toBe('v')
  expect(load).toHaveBeenCalledOnce()
})

test('on Redis, no deadline passes and no lease is lost because a test moves its time', async () => {
  const [a, b] = caches as [Cache, Cache]
  let finish!: (value: string) => void
  const loading = a.getOrLoad('k', () => new Promise<string>((resolve) => (finish = resolve)))
  const waits = new Promise((resolve) => b.on('wait', resolve))
  await new Promise((resolve) => a.on('load', resolve))
  const waiting = b.getOrLoad('k', () => 'another load')
  await waits
  await vi.advanceTimersByTimeAsync(600_000)
  finish('v')
  expect(await Promise.all([loading, waiting])).toEqual(['v', 'v'])
})

test('a lock on Redis is held in real time', async () => {
  await using lock = redisLock(server.connect(), { commandTimeout: '30s' })
  const lease = await lock.acquire('job')
  await vi.advanceTimersByTimeAsync(600_000)
  expect(await lock.tryAcquire('job')).toBeNull()
  await lease.release()
  expect(await lock.run('job', () => 'done')).toBe('done')
})

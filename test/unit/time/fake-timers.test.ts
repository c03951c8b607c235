import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createCache, memoryLock, type Cache } from '../../../src/index.ts'

/** All that Jest fakes by default, but for `nextTick`, which Vitest refuses to fake in a child process. */
const all = [
  ...(['Date', 'performance', 'queueMicrotask', 'setImmediate', 'clearImmediate'] as const),
  ...(['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] as const),
]

const realSetTimeout = setTimeout

/** Runs a test while `nextTick` runs nothing, as if it were faked; its calls run afterwards. */
async function withoutNextTick(run: () => Promise<void>): Promise<void> {
  const late: Parameters<typeof process.nextTick>[] = []
  const restore = replaceNextTick((...call: Parameters<typeof process.nextTick>) => void late.push(call))
  // Vitest itself cannot end a test without it, and its run hangs if its own calls are lost.
  const hangs = new Promise<never>((_, reject) => realSetTimeout(() => reject(new Error('It hangs')), 60_000).unref())
  try {
    await Promise.race([run(), hangs])
  } finally {
    restore()
    for (const call of late) process.nextTick(...call)
  }
}

/** @returns a function that puts the `nextTick` of Node.js back */
function replaceNextTick(fake: typeof process.nextTick): () => void {
  const real: unknown = Reflect.get(process, 'nextTick')
  process.nextTick = fake
  return () => void Reflect.set(process, 'nextTick', real)
}

describe('with fake timers, on the store in memory', () => {
  let cache: Cache

  beforeEach(() => {
    cache = createCache()
    vi.useFakeTimers({ toFake: [...all] })
  })

  afterEach(async () => {
    vi.useRealTimers()
    await cache.close()
  })

  test('calls settle though no time passes', () =>
    withoutNextTick(async () => {
      let loads = 0
      const load = async (): Promise<number> => ++loads
      expect(await Promise.all([cache.getOrLoad('k', load), cache.getOrLoad('k', load)])).toEqual([1, 1])
      expect(await cache.getOrLoad('k', load)).toBe(1)
      expect(await cache.getOrLoadMany(['k', 'l'], (keys) => keys.map(() => 7))).toEqual([1, 7])
      expect(await cache.wrap((id: string) => `price of ${id}`, { key: 'price' })('a')).toBe('price of a')
      await cache.set('m', 2)
      expect(await cache.peek('m')).toMatchObject({ state: 'fresh', value: 2 })
      await cache.invalidate('m')
      expect(await cache.peek('m')).toEqual({ state: 'missing' })
      await cache.invalidateTags(['t'])
      await expect(cache.getOrLoad('e', () => Promise.reject(new Error('away')))).rejects.toThrow('away')
      await cache.close()
    }))

  test('a value ages with the time of the test, and only with that', async () => {
    let loads = 0
    const load = (): number => ++loads
    const options = { ttl: '60s' } as const
    expect(await cache.getOrLoad('k', load, options)).toBe(1)
    vi.advanceTimersByTime(59_000)
    expect(await cache.getOrLoad('k', load, options)).toBe(1)
    vi.advanceTimersByTime(2_000)
    expect(await cache.getOrLoad('k', load, options)).toBe(2)
    await vi.advanceTimersByTimeAsync(61_000)
    expect(await cache.getOrLoad('k', load, options)).toBe(3)
  })

  test('the time is read anew within a tick, because a test may advance it there', async () => {
    const ages: number[] = []
    // The first call loads, the second reads the store, and the others have a near copy, both in one tick.
    for (const step of [0, 0, 10_000, 20_000]) {
      vi.advanceTimersByTime(step)
      ages.push((await cache.getOrLoadEntry('k', () => 1, { ttl: '60s' })).age)
    }
    expect(ages).toEqual([0, 0, 10_000, 30_000])
  })

  test('timeouts go by the time of the test', async () => {
    const slow = cache.getOrLoad('k', () => new Promise(() => undefined), { hardTimeout: '5s' })
    const failure = slow.catch((error: unknown) => error)
    await vi.advanceTimersByTimeAsync(5_000)
    expect(await failure).toMatchObject({ code: 'LOAD_TIMEOUT' })
  })

  test('a lock in memory is taken, waited for and lost by the time of the test', async () => {
    const lock = memoryLock({ ttl: '10s' })
    const lease = await lock.acquire('job')
    const waiting = lock.acquire('job', { wait: '30s' })
    await vi.advanceTimersByTimeAsync(20_000)
    await lease.release()
    await (await waiting).release()
    expect(await lock.run('job', () => 'done')).toBe('done')
    await lock.close()
  })

  test('a test that returns to real timers finds real time again', async () => {
    expect(await cache.getOrLoad('k', () => 1)).toBe(1)
    vi.useRealTimers()
    const real = createCache()
    expect(await real.getOrLoad('k', () => 1, { ttl: 20 })).toBe(1)
    await expect.poll(async () => (await real.peek('k')).state, { timeout: 60_000 }).not.toBe('fresh')
    await real.close()
  })
})

test('a library that is imported when the timers are fake settles, too', async () => {
  const nextTick = process.nextTick.bind(process)
  const restore = replaceNextTick(Object.assign(nextTick.bind(null), { clock: {} }))
  vi.resetModules()
  const { TickBatch } = await import('../../../src/core/time/clock.ts')
  restore()
  await withoutNextTick(async () => {
    const handedOn = await new Promise((resolve) => {
      const batch = new TickBatch<number>(resolve)
      for (const item of [1, 2, 3]) batch.add(item)
    })
    expect(handedOn).toEqual([1, 2, 3])
  })
})

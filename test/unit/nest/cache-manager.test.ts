import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createCache } from '../../../src/create-cache.ts'
import { memoryStore } from '../../../src/memory/memory-store.ts'
import { CacheManager } from '../../../src/nest/cache-manager.ts'
import type { Cache } from '../../../src/index.ts'

let cache: Cache
let manager: CacheManager

beforeEach(() => {
  vi.useFakeTimers()
  cache = createCache({ store: memoryStore(), ttl: '1m', grace: '1h' })
  manager = new CacheManager(cache)
})
afterEach(async () => {
  await cache.close()
  vi.useRealTimers()
})

describe('a cache manager', () => {
  test('gets what was set until its ttl is over, also if the cache has a grace', async () => {
    expect(await manager.set('k', 1, 1_000)).toBe(1)
    await manager.mset([{ key: 'l', value: 2 }])
    expect(await manager.mget(['k', 'l', 'm'])).toEqual([1, 2, undefined])
    expect(await manager.ttl('k')).toBe(Date.now() + 1_000)
    await vi.advanceTimersByTimeAsync(1_001)
    expect([await manager.get('k'), await manager.get('l'), await manager.ttl('k')]).toEqual([undefined, 2, undefined])
  })

  test('keeps a value with a ttl of 0, whatever the ttl of the cache', async () => {
    await manager.set('k', 1, 0)
    await manager.wrap('l', () => 2, 0)
    await vi.advanceTimersByTimeAsync(86_400_000)
    expect(await manager.mget(['k', 'l'])).toEqual([1, 2])
  })

  test('deletes one value, several and all', async () => {
    await manager.mset(['k', 'l', 'm', 'n'].map((key) => ({ key, value: key })))
    expect([await manager.del('k'), await manager.mdel(['l', 'm'])]).toEqual([true, true])
    expect(await manager.mget(['k', 'l', 'm', 'n'])).toEqual([undefined, undefined, undefined, 'n'])
    expect(await manager.clear()).toBe(true)
    expect(await manager.get('n')).toBeUndefined()
  })

  test('loads once for those who ask at once, and stores for the ttl of the value', async () => {
    const load = vi.fn(async () => ({ seconds: 3 }))
    const wrapped = (): Promise<{ seconds: number }> => manager.wrap('k', load, ({ seconds }) => seconds * 1_000)
    await Promise.all([wrapped(), wrapped()])
    expect(load).toHaveBeenCalledTimes(1)
    expect(await manager.wrap('k', load, { raw: true })).toEqual({ value: { seconds: 3 }, expires: Date.now() + 3_000 })
  })

  test('does not store undefined, and stores null', async () => {
    const load = vi.fn<() => null | undefined>(() => undefined)
    for (let times = 0; times < 2; times++) await manager.wrap('k', load)
    expect(load).toHaveBeenCalledTimes(2)
    load.mockReturnValue(null)
    for (let times = 0; times < 2; times++) expect(await manager.wrap('l', load)).toBeNull()
    expect(load).toHaveBeenCalledTimes(3)
  })

  test('loads anew within the threshold before the end, and returns the present value meanwhile', async () => {
    let version = 0
    const asked = (): Promise<number> => manager.wrap('k', () => ++version, 10_000, 2_000)
    expect(await asked()).toBe(1)
    await vi.advanceTimersByTimeAsync(7_900)
    expect([await asked(), version]).toEqual([1, 1])
    await vi.advanceTimersByTimeAsync(200)
    expect(await asked()).toBe(1)
    await vi.waitFor(async () => expect(await manager.get('k')).toBe(2))
    expect(version).toBe(2)
  })
})

import { expect, test } from 'vitest'
import { locked, memoryLock, type KeyValue } from '../../../src/index.ts'
import { systemClock, type Clock } from '../../../src/core/time/clock.ts'
import type { Store } from '../../../src/core/contract/store.ts'

const value = { payload: Buffer.from('7'), ttl: 60_000, grace: 0, loadTime: 1, inlineLimit: 0 }

/**
 * A store of a process that is paused for `pause` milliseconds between a read of the key-value store and its next write;
 * the ttl of its locks is 10 s.
 */
function paused(pause: number): { store: Store; written: () => string[] } {
  let shift = 0
  const values = new Map<string, Uint8Array>()
  const keyValue: KeyValue = {
    async get(key) {
      shift += pause
      return values.get(key) ?? null
    },
    async set(key, bytes) {
      values.set(key, bytes)
    },
  }
  const clock: Clock = { now: () => systemClock.now() + shift, after: (...about) => systemClock.after(...about) }
  return { store: locked(keyValue, memoryLock({ clock })), written: () => [...values.keys()] }
}

const writes: Record<string, (store: Store) => Promise<unknown>> = {
  'a value': (store) => store.set('shop:7', 'a'.repeat(16), value),
  'an invalidation': (store) => store.invalidate('shop:7'),
  'an invalidation of a tag': (store) => store.invalidateTags(['shop:tag']),
  'a lease': (store) => store.claim({ key: 'shop:7', token: 'a'.repeat(16), leaseTtl: 1_000 } as never),
}

test.each(Object.entries(writes))('%s is not written once the lock may have ended', async (_, write) => {
  const { store, written } = paused(9_500)
  await expect(write(store)).rejects.toMatchObject({ code: 'LEASE_LOST' })
  expect(written()).toEqual([])
})

test.each(Object.entries(writes))('%s is written while the lock lasts', async (_, write) => {
  const { store, written } = paused(2_000)
  await write(store)
  expect(written().length).toBeGreaterThan(0)
})

test.each<[string, (store: Store) => Promise<unknown>]>([
  ['a value that lives for less', (store) => store.set('shop:8', 'b'.repeat(16), { ...value, tags: ['shop:tag'] })],
  ['an invalidation', (store) => store.invalidateTags(['shop:tag'])],
])('a tag is kept for as long as a value that has it, in spite of %s', async (_, write) => {
  const lives = new Map<string, number>()
  const values = new Map<string, Uint8Array>()
  const keyValue: KeyValue = {
    get: async (key) => values.get(key) ?? null,
    async set(key, bytes, ttl) {
      values.set(key, bytes)
      lives.set(key, ttl)
    },
  }
  const store = locked(keyValue, memoryLock())
  const month = 30 * 86_400_000
  await store.set('shop:7', 'a'.repeat(16), { ...value, ttl: month, tags: ['shop:tag'] })
  const before = lives.get(':shop:tag') ?? 0
  await write(store)
  expect(before).toBeGreaterThanOrEqual(month)
  // Some milliseconds have passed.
  expect(lives.get(':shop:tag')).toBeGreaterThan(month - 60_000)
})

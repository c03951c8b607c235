import { expect, test } from 'vitest'
import { createCache, memoryStore } from '../../../src/index.ts'
import { settled } from '../../support/fake-clock.ts'

// 100 000 of them are asked for in test/integration/crowd.test.ts.
const many = 10_000

const patient = { commandTimeout: '10m', leaseTtl: '10m', hardTimeout: '10m', ttl: '1h' } as const

test('ten thousand keys at once are loaded once each', async () => {
  const cache = createCache({ ...patient, store: memoryStore({ max: many }) })
  let loads = 0
  const loader = async ({ key }: { key: string }): Promise<string> => {
    loads++
    await settled()
    return key
  }
  const keys = Array.from({ length: many }, (_, index) => `key ${index}`)
  const values = await Promise.all(keys.map((key) => cache.getOrLoad(key, loader)))
  expect(values.every((value, index) => value === keys[index])).toBe(true)
  expect(loads).toBe(many)
  await cache.close()
})

test('ten thousand callers of one key get one load', async () => {
  const store = memoryStore()
  const caches = Array.from({ length: 4 }, () => createCache({ ...patient, store }))
  let loads = 0
  const loader = async (): Promise<number> => {
    await settled()
    return ++loads
  }
  const calls = caches.flatMap((cache) => Array.from({ length: many / 4 }, () => cache.getOrLoad('k', loader)))
  const values = await Promise.all(calls)
  expect(values.every((value) => value === 1)).toBe(true)
  expect(loads).toBe(1)
  await Promise.all(caches.map((cache) => cache.close()))
})

test('ten thousand failed loads, a hundred times a hundred, each reject their caller', async () => {
  const cache = createCache({ ...patient, failureCooldown: 0 })
  let failures = 0
  for (let round = 0; round < 100; round++) {
    const calls = Array.from({ length: 100 }, (_, index) =>
      cache.getOrLoad(`key ${round} ${index}`, () => Promise.reject(new Error('down'))),
    )
    for (const result of await Promise.allSettled(calls)) if (result.status === 'rejected') failures++
  }
  expect(failures).toBe(10_000)
  await cache.close()
})

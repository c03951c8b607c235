import { describe, expect, test } from 'vitest'
import { createCache, memoryStore } from '../../../src/index.ts'
import { FakeClock, settled } from '../../support/fake-clock.ts'
import { asked, pending } from '../support/answer.ts'
import { allLoading, loading } from '../support/source.ts'

describe('a memory store', () => {
  test('drops the value that was used least recently when it holds too many', async () => {
    const cache = createCache({ store: memoryStore({ max: 2 }) })
    await cache.set('a', 1)
    await cache.set('b', 2)
    expect(await cache.peek('a')).toMatchObject({ value: 1 })
    await settled()
    await cache.set('c', 3)
    expect([await cache.peek('a'), await cache.peek('b'), await cache.peek('c')]).toMatchObject([
      { value: 1 },
      { state: 'missing' },
      { value: 3 },
    ])
  })

  test('keeps callers that ask one after the other waiting for no turn of the event loop', async () => {
    await using cache = createCache({ store: memoryStore() })
    await new Promise((resolve) => setImmediate(resolve))
    let hasTurned = false
    setImmediate(() => (hasTurned = true))
    for (const key of ['a', 'b', 'c']) expect(await cache.getOrLoad(key, () => key)).toBe(key)
    expect(hasTurned).toBe(false)
  })

  test('drops values when they take too many bytes', async () => {
    const cache = createCache({ store: memoryStore({ maxSize: 10_000 }) })
    await cache.set('a', 'x'.repeat(6_000))
    await cache.set('b', 'x'.repeat(6_000))
    expect([await cache.peek('a'), await cache.peek('b')]).toMatchObject([{ state: 'missing' }, { state: 'fresh' }])
  })

  test('gives a value that is too large for it to all who waited, loaded once (rule 5)', async () => {
    const clock = new FakeClock()
    const store = memoryStore({ clock, maxSize: 1_000 })
    const caches = [createCache({ store, clock }), createCache({ store, clock }), createCache({ store, clock })]
    const { source, answers } = await allLoading(caches)
    const large = 'x'.repeat(5_000)
    await source.resolve(0, large)
    expect(answers).toEqual(Array.from({ length: 3 }, () => ({ state: 'value', value: large })))
    expect(source.runs).toHaveLength(1)
  })

  test('answers nobody with a value whose tag was invalidated and forgotten while it was loaded (rule 4)', async () => {
    await using cache = createCache({ store: memoryStore(), ttl: '1m' })
    const { source, answer: before } = await loading(cache, { tags: ['t'] })
    await cache.invalidateTags(['t'])
    // As many as it remembers.
    const others = Array.from({ length: 10_000 }, (_, index) => `other ${index}`)
    for (let at = 0; at < others.length; at += 50) await cache.invalidateTags(others.slice(at, at + 50))
    const after = await asked(cache.getOrLoad('k', source.loader, { tags: ['t'] }))
    await source.resolve(0, 'old')
    expect(await cache.peek('k')).toEqual({ state: 'missing' })
    expect(after).toEqual(pending)
    await source.resolve(1, 'new')
    expect(after).toEqual({ state: 'value', value: 'new' })
    expect(before.state).toBe('value')
    expect(await cache.peek('k')).toMatchObject({ state: 'fresh', value: 'new' })
  })

  test('keeps a lease although its values are dropped', async () => {
    const clock = new FakeClock()
    const store = memoryStore({ clock, max: 1 })
    const caches = [createCache({ store, clock }), createCache({ store, clock })]
    const { source, answers } = await allLoading(caches)
    for (let count = 0; count < 10; count++) await caches[0]?.set(`other ${count}`, count)
    await source.resolve(0, 'v')
    expect(answers).toEqual([
      { state: 'value', value: 'v' },
      { state: 'value', value: 'v' },
    ])
  })
})

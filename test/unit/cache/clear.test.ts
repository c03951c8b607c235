import { describe, expect, test } from 'vitest'
import { createCache, locked, memoryLock, memoryStore, type KeyValue } from '../../../src/index.ts'
import { settled } from '../../support/fake-clock.ts'
import { asked, valued } from '../support/answer.ts'
import { fleet } from '../support/fleet.ts'
import { loading, throwing } from '../support/source.ts'

const missing = { state: 'missing' }

describe('clear of a cache without prefixes', () => {
  test('voids all values of its namespace in the fleet, of all versions, and nothing of another', async () => {
    const { a, b, ways, clock } = fleet({ near: {} })
    const versioned = createCache({ store: ways.c, clock, version: 1 })
    const other = createCache({ store: ways.c, clock, namespace: 'other' })
    for (const cache of [b, versioned, other]) await cache.set('k', 'old')
    await b.set('^odd', 'old')
    for (const key of ['k', '^odd']) expect(await b.getOrLoad(key, () => 'new')).toBe('old')
    const heard: unknown[] = []
    a.on('clearing', (event) => heard.push(event))
    a.on('invalidatePrefix', (event) => heard.push(event))
    await a.clear()
    expect(await Promise.all([b.peek('k'), b.peek('^odd'), versioned.peek('k')])).toEqual([missing, missing, missing])
    expect(await b.getOrLoad('k', () => 'new')).toBe('new')
    expect(await other.peek('k')).toMatchObject({ value: 'old' })
    expect(heard).toEqual([{ keys: 3 }, { prefix: '' }])
  })

  test('softly ends the ttl of all values', async () => {
    const { a, b } = fleet({ grace: '1m' })
    await b.set('k', 'old')
    await a.clear({ soft: true })
    expect(await b.peek('k')).toMatchObject({ state: 'stale', value: 'old' })
  })

  test.for(['a', 'b'] as const)('voids a load of %s that is under way (rule 4)', async (where) => {
    const { a, b, ...all } = fleet()
    const { source, answer } = await loading({ a, b }[where])
    const cleared = await asked(a.clear())
    const after = await asked(all.c.getOrLoad('k', source.loader))
    await source.resolve(0, 'old')
    await source.resolve(1, 'new')
    expect(cleared).toEqual(valued(undefined))
    expect([answer, after]).toEqual([valued('new'), valued('new')])
  })

  test('voids the value of a load that ends while it goes on (rule 4)', async () => {
    const { a, b, ways } = fleet()
    const { source } = await loading(b)
    // What was listed first is on its way.
    const go = ways.a.hold('names', 'after')
    const cleared = await asked(a.clear())
    await source.resolve(0, 'old')
    go()
    await settled()
    expect(cleared).toEqual(valued(undefined))
    expect(await b.peek('k')).toEqual(missing)
  })

  test('forgets an error that is remembered', async () => {
    const { a, b } = fleet({ failureCooldown: '1m' })
    await b.getOrLoad('k', throwing(new Error('the source is away'))).catch(() => null)
    await a.clear()
    expect(await b.getOrLoad('k', () => 'well')).toBe('well')
  })

  test('rejects when the store is away, and is refused by a store that cannot list its keys', async () => {
    const { a, ways } = fleet()
    ways.a.mode = 'failing'
    await expect(a.clear()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    const kept = new Map<string, Uint8Array>()
    const keyValue: KeyValue = {
      get: async (key) => kept.get(key),
      set: async (key, value) => kept.set(key, value),
    }
    const cache = createCache({ store: locked(keyValue, memoryLock()) })
    await expect(cache.clear()).rejects.toThrow('Expected a cache with the option `prefixes`, or a store that can list')
  })
})

test('clear with prefixes lists no keys, and voids nothing of another namespace', async () => {
  const { a, b, ways, clock } = fleet({ prefixes: ':' })
  const other = createCache({ store: ways.c, clock, namespace: 'other', prefixes: ':' })
  for (const cache of [b, other]) await cache.set('k', 'old')
  await a.clear()
  expect(ways.a.sent).toEqual(['invalidateTags'])
  expect(await b.peek('k')).toEqual(missing)
  expect(await other.peek('k')).toMatchObject({ value: 'old' })
})

test('a cache in memory alone is cleared, too', async () => {
  await using cache = createCache({ store: memoryStore() })
  await cache.set('k', 1)
  await cache.clear()
  expect(await cache.peek('k')).toEqual(missing)
})

import { describe, expect, test } from 'vitest'
import { siblingOf } from '../../../src/core/cache/sibling.ts'
import { createCache, memoryStore, type Cache } from '../../../src/index.ts'
import { FakeClock, settled } from '../../support/fake-clock.ts'
import { answerOf, asked, pending } from '../support/answer.ts'
import { fleet, told } from '../support/fleet.ts'

/** Text in capitals. */
const codec = {
  encode: (value: unknown) => Buffer.from(String(value).toUpperCase()),
  decode: (payload: Buffer) => payload.toString(),
}

describe('a cache for values of another kind, beside one of the user', () => {
  test('has its store, its namespace, its tags and its events, and a codec of its own', async () => {
    const cache = createCache({ namespace: 'shop', ttl: '7m' })
    const { cache: beside, events, defaultTtl } = siblingOf(cache, { codec })
    const fills = told(cache, 'fill')
    expect(await beside.getOrLoad('k', ({ tags }) => (tags('t'), 'v'))).toBe('v')
    expect(await beside.getOrLoad('k', () => 'other')).toBe('V')
    expect(fills).toMatchObject([{ key: 'k' }])
    expect(events.stats('cache')).toEqual(cache.stats())
    expect(cache.stats()).toMatchObject({ loads: 1, hits: 1 })
    expect(defaultTtl).toBe(420_000)
    await cache.invalidateTags(['t'])
    expect(await beside.peek('k')).toEqual({ state: 'missing' })
    await beside.set('k', 'again')
    await cache.invalidate('k')
    expect(await beside.peek('k')).toEqual({ state: 'missing' })
    await cache.close()
  })

  test('shows what is there, stale or not, and from a copy in this process without asking', async () => {
    const clock = new FakeClock()
    const store = memoryStore({ clock })
    const cache = createCache({ store, clock, near: { values: 'cloned' }, grace: 0, refreshAhead: 0.5 })
    const { cache: beside, look } = bound(cache)
    expect(await look('k')).toEqual({ state: 'missing' })
    await beside.getOrLoad('k', ({ ttl, grace }) => (ttl('10s'), grace('5s'), 'v'))
    await beside.getOrLoad('k', () => 'other')
    await clock.advance(1_000)
    const [one, other] = [look('k'), look('k')]
    expect(one).toEqual({ state: 'fresh', value: 'V', age: 1_000, ttl: 9_000 })
    expect(other).not.toBeInstanceOf(Promise)
    await clock.advance(10_000)
    expect(await look('k')).toEqual({ state: 'stale', value: 'V', age: 11_000, ttl: -1_000 })
    await clock.advance(5_000)
    expect(await look('k')).toEqual({ state: 'missing' })
    await cache.close()
  })

  test('gives all its callers the same value, whatever that is', async () => {
    const cache = createCache({ near: { values: 'cloned' } })
    const { cache: beside } = siblingOf(cache, {
      codec: { encode: () => Buffer.from('x'), decode: (payload) => Buffer.from(payload) },
    })
    await beside.set('k', 'v')
    const [first, second] = [await beside.getOrLoad('k', () => 0), await beside.getOrLoad('k', () => 0)]
    expect(first).toBeInstanceOf(Buffer)
    expect(second).toBe(first)
    await cache.close()
  })

  test('lets its copies go when the cache beside it invalidates a tag, before the store has heard of it', async () => {
    const { a, ways } = fleet({ near: {} })
    const { cache: beside, look } = bound(a)
    for (let time = 0; time < 2; time++) await beside.getOrLoad('k', ({ tags }) => (tags('t'), 'v'))
    expect(look('k')).toMatchObject({ value: 'V' })
    ways.a.mode = 'silent'
    answerOf(a.invalidateTags(['t']))
    const looked = look('k')
    expect(looked).toBeInstanceOf(Promise)
    answerOf(looked as Promise<unknown>)
  })

  test('ends with it, and not before: who waits there is answered', async () => {
    const cache = createCache()
    const { cache: beside } = siblingOf(cache, { codec })
    let answer!: (value: string) => void
    const loading = beside.getOrLoad('k', () => new Promise<string>((resolve) => (answer = resolve)))
    await settled()
    const closing = await asked(cache.close())
    expect(closing).toEqual(pending)
    answer('v')
    expect(await loading).toBe('v')
    await settled()
    expect(closing).toMatchObject({ state: 'value' })
    await expect(beside.peek('k')).rejects.toMatchObject({ code: 'CLOSED' })
    expect(() => siblingOf(cache, { codec })).toThrow(expect.objectContaining({ code: 'CLOSED' }))
  })

  test('changes nothing where the cache beside it only observes', async () => {
    const cache = createCache({ mode: 'observe' })
    const { cache: beside, look } = bound(cache)
    expect(await beside.getOrLoad('k', () => 'first')).toBe('first')
    expect(await beside.getOrLoad('k', () => 'second')).toBe('second')
    expect(await look('k')).toEqual({ state: 'missing' })
    await cache.close()
  })

  test('is only for caches of ours', () => {
    for (const wrong of [null, undefined, {}, 'cache', { getOrLoad: () => undefined }]) {
      expect(() => siblingOf(wrong as unknown as Cache, { codec })).toThrow(
        /^Expected a cache made by createCache\(\), got /,
      )
    }
  })
})

function bound(cache: Cache) {
  const sibling = siblingOf(cache, { codec })
  return { cache: sibling.cache, look: (key: string) => sibling.look<string>(key) }
}

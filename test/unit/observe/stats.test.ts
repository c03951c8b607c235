import { describe, expect, test } from 'vitest'
import { TopKeys } from '../../../src/core/observe/counters.ts'
import { createCache } from '../../../src/index.ts'
import { settled } from '../../support/fake-clock.ts'
import { allAsked, answerOf, answersOf } from '../support/answer.ts'
import { fleet } from '../support/fleet.ts'
import { Source } from '../support/source.ts'

describe('stats', () => {
  test('of a cache that was just opened are zeros, and nothing where there is nothing to divide by', () => {
    expect(createCache({ namespace: 'shop' }).stats()).toEqual({
      namespace: 'shop',
      hits: 0,
      nearHits: 0,
      stale: 0,
      misses: 0,
      loads: 0,
      waits: 0,
      failures: 0,
      garbage: 0,
      hitRatio: null,
      loadsSaved: 0,
      secondsSaved: null,
      topKeys: [],
    })
  })

  test('count each call once, and what the loads took that were spared, while nobody listens', async () => {
    const { a, b, clock } = fleet()
    const source = new Source<string>()
    await allAsked([a.getOrLoad('k', source.loader), a.getOrLoad('k', source.loader), a.getOrLoad('k', source.loader)])
    answersOf([b.getOrLoad('k', source.loader), b.getOrLoad('k', source.loader)])
    await clock.advance(2_000)
    await source.resolve(0, 'v')
    for (let hit = 0; hit < 7; hit++) await a.getOrLoad('k', source.loader)
    expect(a.stats()).toMatchObject({ hits: 7, misses: 3, loads: 1, waits: 0, hitRatio: 0.7, loadsSaved: 9 })
    expect(a.stats().secondsSaved).toBe(18)
    expect(b.stats()).toMatchObject({ hits: 0, misses: 2, loads: 0, waits: 1, hitRatio: 0, loadsSaved: 2 })
    expect(b.stats().secondsSaved).toBe(null)
  })

  test('take the mean of several loads', async () => {
    const { a, clock } = fleet()
    for (const [index, took] of [100, 300].entries()) {
      const source = new Source<string>()
      answerOf(a.getOrLoad(`k${index}`, source.loader))
      await clock.advance(took)
      await source.resolve(0, 'v')
    }
    for (let hit = 0; hit < 5; hit++) await a.getOrLoad('k0', () => 'v')
    expect(a.stats()).toMatchObject({ loadsSaved: 5, secondsSaved: 1 })
  })

  test('count a hit with a signal, which takes another way, like any other', async () => {
    const { a } = fleet()
    await a.set('k', 'v')
    await a.getOrLoad('k', () => 'w', { signal: new AbortController().signal })
    await a.getOrLoad('k', () => 'w')
    expect(a.stats()).toMatchObject({ hits: 2, misses: 0, hitRatio: 1, loads: 0, loadsSaved: 2 })
  })

  test('count a stale value that is served at once, and its refresh as a load', async () => {
    const { a, clock } = fleet({ ttl: '1s', grace: '1m' })
    await a.set('k', 'v')
    await clock.advance(2_000)
    await a.getOrLoad('k', () => 'w')
    await settled()
    expect(a.stats()).toMatchObject({ hits: 0, stale: 1, misses: 0, hitRatio: 1, loads: 1, loadsSaved: 0 })
  })

  test('count a caller that waits for a fresh value before it is served the stale one as a miss alone', async () => {
    const { a, clock } = fleet({ ttl: '1s', grace: '1m', softTimeout: '100ms' })
    await a.set('k', 'v')
    await clock.advance(2_000)
    const answer = answerOf(a.getOrLoad('k', new Source<string>().loader))
    await clock.advance(200)
    expect(answer).toMatchObject({ value: 'v' })
    expect(a.stats()).toMatchObject({ stale: 0, misses: 1, hitRatio: 0 })
  })

  test('count failures, and save nothing by loads that were made twice', async () => {
    const { a } = fleet({ failureCooldown: 0 })
    const bad = (): never => {
      throw new Error('down')
    }
    await allAsked([a.getOrLoad('k', bad)])
    expect(a.stats()).toMatchObject({ misses: 1, loads: 1, failures: 1, loadsSaved: 0, secondsSaved: null })
  })
})

describe('the keys of stats', () => {
  test('are those that were asked for while they were loaded, here or elsewhere, and nobody else', async () => {
    const { a, b } = fleet({ stats: { topKeys: 2 } })
    const source = new Source<string>()
    const ask = (cache: typeof a, key: string, callers: number): unknown =>
      answersOf(Array.from({ length: callers }, () => cache.getOrLoad(key, source.loader)))
    for (const [key, callers] of [
      ['alone', 1],
      ['pair', 2],
      ['herd', 5],
      ['trio', 3],
    ] as const)
      ask(a, key, callers)
    await settled()
    ask(b, 'herd', 3)
    await settled()
    expect(a.stats().topKeys).toEqual([
      { key: 'herd', count: 4, error: 0 },
      { key: 'trio', count: 2, error: 0 },
    ])
    expect(b.stats().topKeys).toEqual([{ key: 'herd', count: 3, error: 0 }])
  })

  test('are not kept unless they are asked for', async () => {
    const { a } = fleet()
    const source = new Source<string>()
    await allAsked([a.getOrLoad('k', source.loader), a.getOrLoad('k', source.loader)])
    expect(a.stats().topKeys).toEqual([])
  })

  test.for([-1, 0.5, 1_001, '5'])('cannot be %s many', (topKeys) => {
    expect(() => createCache({ stats: { topKeys: topKeys as number } })).toThrow(TypeError)
  })

  test('are told from a typo', () => {
    expect(() => createCache({ stats: { topkeys: 5 } as object })).toThrow('Unknown option `topkeys` of stats')
  })
})

describe('Space-Saving', () => {
  /** The keys of a skewed stream, shuffled by a fixed rule, and how often each is in it. */
  function stream(): { keys: string[]; truth: Map<string, number> } {
    const truth = new Map<string, number>()
    for (let rank = 1; rank <= 2_000; rank++) truth.set(`key-${rank}`, Math.ceil(2_000 / rank))
    const keys = [...truth].flatMap(([key, count]) => Array.from({ length: count }, () => key))
    let seed = 42
    for (let last = keys.length - 1; last > 0; last--) {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
      const other = seed % (last + 1)
      ;[keys[last], keys[other]] = [keys[other] as string, keys[last] as string]
    }
    return { keys, truth }
  }

  test('keeps each key that is more than one part in fifty of all, and is wrong by no more than it says', () => {
    const { keys, truth } = stream()
    const sketch = new TopKeys(50)
    for (const key of keys) sketch.count(key)
    const top = sketch.top(50)
    expect(top).toHaveLength(50)
    const frequent = [...truth].filter(([, count]) => count > keys.length / 50).map(([key]) => key)
    expect(frequent.length).toBeGreaterThan(3)
    expect(top.map(({ key }) => key)).toEqual(expect.arrayContaining(frequent))
    for (const { key, count, error } of top) {
      const times = truth.get(key) ?? 0
      expect(count).toBeGreaterThanOrEqual(times)
      expect(count - error).toBeLessThanOrEqual(times)
      expect(error).toBeLessThanOrEqual(keys.length / 50)
    }
    expect(top.reduce((sum, { count }) => sum + count, 0)).toBe(keys.length)
  })

  test('is exact while there are no more keys than counters', () => {
    const sketch = new TopKeys(3)
    for (const key of ['a', 'b', 'b', 'c', 'c', 'c', 'b', 'b']) sketch.count(key)
    expect(sketch.top(2)).toEqual([
      { key: 'b', count: 4, error: 0 },
      { key: 'c', count: 3, error: 0 },
    ])
  })

  test('gives a new key the place of the least, and says how often it may have been there before', () => {
    const sketch = new TopKeys(2)
    for (const key of ['a', 'a', 'a', 'b', 'b', 'c']) sketch.count(key)
    expect(sketch.top(9)).toEqual([
      { key: 'a', count: 3, error: 0 },
      { key: 'c', count: 3, error: 2 },
    ])
  })
})

test('the figures are rounded: a ratio to four digits, a time to the millisecond', async () => {
  const { a, clock } = fleet({ ttl: '1h' })
  const slow = async (): Promise<number> => {
    await new Promise<void>((resolve) => clock.after(1_000 / 3, resolve))
    return 1
  }
  const first = a.getOrLoad('k', slow)
  await clock.advance(1_000)
  await first
  await a.getOrLoad('k', slow)
  await a.getOrLoad('k', slow)
  const { hitRatio, secondsSaved } = a.stats()
  expect(hitRatio).toBe(0.6667)
  expect(secondsSaved).toBe(Number(secondsSaved?.toFixed(3)))
})

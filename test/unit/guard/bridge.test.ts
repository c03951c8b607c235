import { describe, expect, test } from 'vitest'
import type { Cache, CacheOptions } from '../../../src/index.ts'
import { allAsked, asked, valued } from '../support/answer.ts'
import { fleet } from '../support/fleet.ts'
import { loading } from '../support/source.ts'

/** A fleet of which `a` has lost its store; each load of `k` gives its number. */
function away(options: CacheOptions = {}) {
  const all = fleet({ warnings: false, ...options })
  all.ways.a.mode = 'failing'
  let loads = 0
  const ask = (key = 'k', given: { tags?: string[] } = {}): Promise<unknown> =>
    all.a.getOrLoad(key, () => ++loads, given)
  return { ...all, ask, loadsSoFar: () => loads }
}

describe('a process without the store', () => {
  test('gives what it has loaded to the callers of the next second', async () => {
    const { ask, clock } = away()
    expect([await ask(), await ask()]).toEqual([1, 1])
    await clock.advance(999)
    expect(await ask()).toBe(1)
    await clock.advance(1)
    expect([await ask(), await ask()]).toEqual([2, 2])
  })

  test('loads once for callers who ask while it loads, and after', async () => {
    const { a, source } = away()
    const ask = (): Promise<string> => a.getOrLoad('k', source.loader)
    const answers = [await asked(ask()), ...(await allAsked([ask(), ask()]))]
    await source.resolve(0, 'v')
    expect(answers).toEqual([valued('v'), valued('v'), valued('v')])
    expect(source.runs).toHaveLength(1)
  })

  test('loads for a caller who wants a refresh', async () => {
    const { a, ask, source } = away()
    await ask()
    expect(await a.refresh('k', () => 'new')).toBe('new')
    const answers = [await asked(a.refresh('k', source.loader)), await asked(a.refresh('k', source.loader))]
    await source.resolve(0, 'first')
    await source.resolve(1, 'second')
    expect(answers).toEqual([valued('first'), valued('second')])
  })

  test('gives each caller a value of its own', async () => {
    const { a } = away()
    await a.getOrLoad('k', () => ({ items: [1] }))
    const one = await a.getOrLoad('k', () => ({ items: [2] }))
    one.items.push(3)
    expect(await a.getOrLoad('k', () => ({ items: [4] }))).toEqual({ items: [1] })
  })

  test.for([
    ['was invalidated here', (cache: Cache) => cache.invalidate('k')],
    ['was set here', (cache: Cache) => cache.set('k', 'set')],
    ['has a tag that was invalidated here', (cache: Cache) => cache.invalidateTags(['t'])],
  ] as const)('gives nothing that %s, though the store could not be told', async ([, write]) => {
    const { a, ask } = away()
    await ask('k', { tags: ['t'] })
    expect(await asked(write(a))).toMatchObject({ state: 'error', error: { code: 'STORE_UNAVAILABLE' } })
    expect(await ask('k', { tags: ['t'] })).toBe(2)
  })

  test('keeps no load that was invalidated here before it ended', async () => {
    const { a, ask } = away()
    const { source, answer: first } = await loading(a)
    await asked(a.invalidate('k'))
    await source.resolve(0, 'old')
    expect(first).toEqual(valued('old'))
    expect(await ask()).toBe(1)
  })

  test('gives nothing that it has loaded before it had an answer of the store', async () => {
    const { b, ways, ask } = away()
    await ask()
    ways.a.mode = 'answering'
    await b.set('k', 'new')
    expect(await ask()).toBe('new')
    ways.a.mode = 'failing'
    expect(await ask()).toBe(2)
  })

  test.for([
    ['a call', async (cache: Cache) => [await cache.getOrLoad('k', () => 'none')]],
    ['a call for many keys', (cache: Cache) => cache.getOrLoadMany(['k'], () => ['none'])],
  ] as const)('keeps no load that began before the store has answered %s', async ([, found]) => {
    const { a, b, ways, ask } = away()
    const { source } = await loading(a)
    ways.a.mode = 'answering'
    await b.set('k', 'new')
    expect(await found(a)).toEqual(['new'])
    await source.resolve(0, 'old')
    ways.a.mode = 'failing'
    expect(await ask()).toBe(1)
  })

  test.for([[{ bridge: 0 }], [{ ttl: 1 }]] as const)(
    'keeps nothing, or not beyond its ttl, with %j',
    async ([options]) => {
      const { ask, clock } = away(options)
      await ask()
      await clock.advance(1)
      expect(await ask()).toBe(2)
    },
  )

  test('lets go of a value when its time is over', async () => {
    const { a, ways, ask, clock } = away()
    await ask()
    ways.a.mode = 'answering'
    const reads = async (...keys: string[]): Promise<number> => {
      ways.a.sent.length = 0
      await a.getOrLoadMany(keys, (wanted) => wanted.map(() => 1))
      return ways.a.sent.filter((command) => command === 'read').length
    }
    // Each key is read for itself while a value is kept.
    expect(await reads('one', 'two')).toBe(2)
    await clock.advance(1_000)
    expect(await reads('three', 'four')).toBe(1)
  })

  test('keeps the value of a later load for a whole second', async () => {
    const { a, ask, clock } = away()
    await ask()
    await clock.advance(500)
    await asked(a.invalidate('k'))
    expect(await ask()).toBe(2)
    await clock.advance(999)
    expect(await ask()).toBe(2)
  })

  test('keeps a thousand values at most', async () => {
    const { ask, loadsSoFar } = away()
    for (let key = 0; key <= 1_000; key++) await ask(`k${key}`)
    expect(await ask('k1000')).toBe(1_001)
    expect(await ask('k0')).toBe(1_002)
    expect(loadsSoFar()).toBe(1_002)
  })
})

import { describe, expect, test } from 'vitest'
import { createCache } from '../../../src/index.ts'
import { asked, valued } from '../support/answer.ts'
import { fleet } from '../support/fleet.ts'
import { never, throwing } from '../support/source.ts'

describe('getOrLoadEntry says of a value', () => {
  test('that it was loaded, or how old it was found', async () => {
    const { a, b, clock } = fleet({ ttl: '10s', grace: '1m' })
    const loaded = await a.getOrLoadEntry('k', () => 'v', { tags: ['t', '^u'] })
    expect(loaded).toEqual({ value: 'v', state: 'loaded', age: 0, ttl: 10_000, tags: ['t', '^u'] })
    await clock.advance(4_000)
    const fresh = { value: 'v', state: 'fresh', age: 4_000, ttl: 6_000, tags: ['t', '^u'] }
    expect(await b.getOrLoadEntry('k', never)).toEqual(fresh)
    await clock.advance(8_000)
    const stale = { value: 'v', state: 'stale', age: 12_000, ttl: 0, tags: ['t', '^u'] }
    expect(await b.getOrLoadEntry('k', () => 'new')).toEqual(stale)
  })

  test('that it was loaded, to each caller that waited for it, in any process', async () => {
    const { a, b, source } = fleet({ ttl: '10s' })
    const answers = [
      await asked(a.getOrLoadEntry('k', source.loader)),
      await asked(a.getOrLoadEntry('k', source.loader)),
      await asked(b.getOrLoadEntry('k', source.loader)),
      await asked(b.getOrLoad('k', source.loader)),
    ]
    await source.resolve(0, 'v')
    const loaded = valued({ value: 'v', state: 'loaded', age: 0, ttl: 10_000, tags: [] })
    expect(answers).toEqual([loaded, loaded, loaded, valued('v')])
  })

  test('that a copy in the process is fresh', async () => {
    const { a, clock } = fleet({ ttl: '10s', near: {} })
    await a.set('k', 'v', { tags: ['t'] })
    await a.getOrLoad('k', never)
    await clock.advance(100)
    const fresh = { value: 'v', state: 'fresh', age: 100, ttl: 9_900, tags: ['t'] }
    expect(await a.getOrLoadEntry('k', never)).toEqual(fresh)
    expect(a.stats()).toMatchObject({ nearHits: 1 })
  })

  test('nothing of tags that are not of the user', async () => {
    const { a, b } = fleet({ prefixes: '/', version: '2', ttl: '10s' })
    await a.getOrLoadEntry('p/k', () => 'v', { tags: ['t'] })
    expect(await b.getOrLoadEntry('p/k', never)).toMatchObject({ state: 'fresh', tags: ['t'] })
  })

  test('that it is not stored: without the store, and after doNotStore', async () => {
    const { a, ways } = fleet({ warnings: false })
    const unstored = { value: 'v', state: 'loaded', age: 0, ttl: 0, tags: [] }
    expect(
      await a.getOrLoadEntry('k', ({ doNotStore }) => {
        doNotStore()
        return 'v'
      }),
    ).toEqual(unstored)
    ways.a.mode = 'failing'
    expect(await a.getOrLoadEntry('other', () => 'v')).toEqual(unstored)
    expect(await a.getOrLoadEntry('other', never), 'and that the process has kept it').toMatchObject({ state: 'fresh' })
  })

  test('nothing, if the answer is an error', async () => {
    const { a } = fleet({ errorKind: () => 'answer' })
    const none = new RangeError('none')
    await expect(a.getOrLoadEntry('k', throwing(none))).rejects.toThrow(none)
    await expect(a.getOrLoadEntry('k', never)).rejects.toThrow('none')
  })
})

describe('getOrLoadEntries says of each value', () => {
  test.each([{}, { near: {} }])(
    'what getOrLoadEntry says, with %j, and loads the missing ones together',
    async (near) => {
      const { a, b, clock } = fleet({ ttl: '10s', grace: '1m', ...near })
      await b.set('old', 'o', { tags: ['t'] })
      await clock.advance(12_000)
      await b.set('new', 'n')
      await a.peek('new')
      await clock.advance(100)
      const asked: (readonly string[])[] = []
      const answers = await a.getOrLoadEntries(['new', 'old', 'x', 'y'], (keys) => {
        asked.push(keys)
        return keys.map((key) => (key === 'y' ? new RangeError('none') : `loaded ${key}`))
      })
      expect(answers).toEqual([
        { value: 'n', state: 'fresh', age: 100, ttl: 9_900, tags: [] },
        { value: 'o', state: 'stale', age: 12_100, ttl: 0, tags: ['t'] },
        { value: 'loaded x', state: 'loaded', age: 0, ttl: 10_000, tags: [] },
        new RangeError('none'),
      ])
      expect(asked.flat().filter((key) => key !== 'old')).toEqual(['x', 'y'])
    },
  )

  test('in every mode, and for a closed cache that it is closed', async () => {
    const cache = createCache()
    const all = (): Promise<unknown> => cache.getOrLoadEntries(['k'], () => ['v'])
    const unstored = { value: 'v', state: 'loaded', age: 0, ttl: 0, tags: [] }
    cache.mode = 'observe'
    expect(await all()).toEqual([unstored])
    expect(await cache.getOrLoadEntry('k', () => 'v')).toEqual(unstored)
    cache.mode = 'off'
    expect(await all()).toEqual([unstored])
    await cache.close()
    expect(await all()).toMatchObject([{ code: 'CLOSED' }])
  })
})

describe('peekMany', () => {
  test('gives what peek gives, in the order of the keys, and reads each key once', async () => {
    const { a, ways } = fleet({ ttl: '10s' })
    await a.set('b', 1)
    const before = ways.a.count('read')
    expect(await a.peekMany(['a', 'b', 'b'])).toEqual([
      { state: 'missing' },
      { state: 'fresh', value: 1, age: 0, ttl: 10_000 },
      { state: 'fresh', value: 1, age: 0, ttl: 10_000 },
    ])
    expect(ways.a.count('read') - before).toBe(2)
  })

  test('gives the error of a key in its place, and refuses what are no keys', async () => {
    const { a, ways } = fleet({ warnings: false })
    ways.a.mode = 'failing'
    expect(await a.peekMany(['a'])).toMatchObject([{ code: 'STORE_UNAVAILABLE', key: 'a' }])
    await expect(a.peekMany('a' as never)).rejects.toThrow(new TypeError('Expected an array of keys, got "a" (string)'))
    await expect(a.peekMany(['a', 5 as never])).rejects.toThrow(TypeError)
    await expect(a.peekMany([''])).rejects.toThrow(TypeError)
    await expect(a.peekMany(['a'], { schma: 1 } as never)).rejects.toThrow('Unknown option `schma` of peekMany')
  })
})

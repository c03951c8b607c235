import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import type { BatchLoader, CacheOptions, LoadContext } from '../../../src/index.ts'
import { settled } from '../../support/fake-clock.ts'
import { asked, valued } from '../support/answer.ts'
import { fleet, told } from '../support/fleet.ts'

/** What a source of many was asked for, and how it answers. */
class Batches {
  readonly asked: {
    keys: readonly string[]
    contexts: readonly LoadContext[]
    resolve: (values: unknown[]) => void
  }[] = []

  readonly loadMany: BatchLoader<unknown> = (keys, contexts) =>
    new Promise((resolve) => {
      this.asked.push({ keys, contexts, resolve })
    })

  get keys(): (readonly string[])[] {
    return this.asked.map(({ keys }) => keys)
  }
}

const valuesOf: BatchLoader<string> = (keys) => keys.map((key) => `of ${key}`)

function open(options: CacheOptions = {}) {
  return { ...fleet(options), source: new Batches() }
}

describe('getOrLoadMany', () => {
  test('loads what is missing together, and answers in the order of the keys', async () => {
    const { a, source } = open()
    await a.set('b', 'set')
    const answer = await asked(a.getOrLoadMany(['a', 'b', 'c', 'a'], source.loadMany))
    expect(source.keys).toEqual([['a', 'c']])
    source.asked[0]?.resolve([1, 3])
    await settled()
    expect(answer).toEqual(valued([1, 'set', 3, 1]))
    expect(await a.getOrLoadMany(['c', 'a'], source.loadMany)).toEqual([3, 1])
    expect(source.keys).toHaveLength(1)
  })

  test('loads exactly the keys that nobody else in the fleet loads, and waits for the others', async () => {
    const { a, b, c, source } = open()
    const one = await asked(a.getOrLoadMany(['k1', 'k2', 'k3'], source.loadMany))
    const other = await asked(b.getOrLoadMany(['k3', 'k4', 'k2', 'k5'], source.loadMany))
    const single = await asked(c.getOrLoad('k4', () => 'never'))
    expect(source.keys).toEqual([
      ['k1', 'k2', 'k3'],
      ['k4', 'k5'],
    ])
    source.asked[1]?.resolve([4, 5])
    await settled()
    expect(single).toEqual(valued(4))
    source.asked[0]?.resolve([1, 2, 3])
    await settled()
    expect(one).toEqual(valued([1, 2, 3]))
    expect(other).toEqual(valued([3, 4, 2, 5]))
  })

  test('gives the error of a key in its place, and the values of the others', async () => {
    const { a, b } = open()
    const answers = await a.getOrLoadMany(['a', 'b', 'c'], (keys) =>
      keys.map((key) => (key === 'b' ? new Error('no b') : key)),
    )
    expect(answers).toMatchObject(['a', { message: 'no b' }, 'c'])
    expect(await b.peek('c')).toMatchObject({ value: 'c' })
    // Its error is remembered as that of any load.
    expect(await b.getOrLoadMany(['b'], valuesOf)).toMatchObject([{ message: 'no b' }])
  })

  test('gives each key the error of a loader that fails altogether', async () => {
    const { a } = open()
    const failing = a.getOrLoadMany(['a', 'b'], () => {
      throw new Error('no source')
    })
    expect(await failing).toMatchObject([{ message: 'no source' }, { message: 'no source' }])
  })

  test.for([
    [[1], 'an array of 2 values, got one of 1'],
    [[1, 2, 3], 'an array of 2 values, got one of 3'],
    [undefined, 'an array of 2 values, got undefined'],
    [{ a: 1, b: 2 }, 'an array of 2 values, got an object'],
  ] as const)('takes a loader that answers %j for one that fails', async ([bad, message]) => {
    const { a } = open()
    const answers = await a.getOrLoadMany(['a', 'b'], () => bad as unknown as unknown[])
    const error = { name: 'TypeError', message: `Expected loadMany to return ${message}` }
    expect(answers).toMatchObject([error, error])
  })

  test('gives each key its own context', async () => {
    const { a, b, source } = open()
    const answer = await asked(a.getOrLoadMany(['short', 'tagged', 'private'], source.loadMany))
    const [short, tagged, own] = source.asked[0]?.contexts ?? []
    expect([short?.key, tagged?.key, own?.key]).toEqual(['short', 'tagged', 'private'])
    short?.ttl('5s')
    tagged?.tags('t')
    own?.doNotStore()
    source.asked[0]?.resolve([1, 2, 3])
    await settled()
    expect(answer).toEqual(valued([1, 2, 3]))
    expect(await b.peek('short')).toMatchObject({ ttl: 5_000 })
    expect(await b.peek('private')).toEqual({ state: 'missing' })
    await b.invalidateTags(['t'])
    expect(await b.peek('tagged')).toEqual({ state: 'missing' })
  })

  test('finds that a loader of many waits for one of its own', async () => {
    const { a } = open()
    const answers = await a.getOrLoadMany(['a', 'b'], async (keys) => {
      await a.getOrLoad(keys.at(-1) as string, () => 'nested')
      return keys
    })
    expect(answers).toMatchObject([{ code: 'CIRCULAR_LOAD' }, { code: 'CIRCULAR_LOAD' }])
  })

  test('rejects with the reason of its signal, and the load goes on for the others', async () => {
    const { a, b, source } = open()
    const controller = new AbortController()
    const left = await asked(a.getOrLoadMany(['a', 'b'], source.loadMany, { signal: controller.signal }))
    controller.abort(new Error('enough'))
    await settled()
    expect(left).toMatchObject({ state: 'error', error: { message: 'enough' } })
    source.asked[0]?.resolve([1, 2])
    await settled()
    expect(await b.getOrLoadMany(['a', 'b'], source.loadMany)).toEqual([1, 2])
  })

  test.for(['cache', 'observe', 'off'] as const)(
    'adds one listener to a signal for all keys, and removes it (%s)',
    async (mode) => {
      const { a, source } = open({ mode })
      const { signal } = new AbortController()
      const keys = Array.from({ length: 30 }, (_, index) => `k${index}`)
      const answer = await asked(a.getOrLoadMany(keys, source.loadMany, { signal }))
      expect(getEventListeners(signal, 'abort')).toHaveLength(1)
      for (const each of source.asked) each.resolve([...each.keys])
      await settled()
      expect(answer).toEqual(valued(keys))
      expect(getEventListeners(signal, 'abort')).toHaveLength(0)
    },
  )

  test('answers no keys with no values, and asks nobody', async () => {
    const { a, ways, source } = open()
    expect(await a.getOrLoadMany([], source.loadMany)).toEqual([])
    expect([ways.a.sent, source.asked]).toEqual([[], []])
  })

  test('refuses what is no array of keys, or no loader, at once', async () => {
    const { a } = open()
    const refused = (keys: unknown, loader: unknown = valuesOf): Promise<unknown> =>
      a.getOrLoadMany(keys as string[], loader as typeof valuesOf)
    await expect(refused('abc')).rejects.toThrow(new TypeError('Expected an array of keys, got "abc" (string)'))
    await expect(refused(['a', 7])).rejects.toThrow(TypeError)
    await expect(refused(['a'], 'loader')).rejects.toThrow('Expected loadMany to be a function, got "loader" (string)')
    await expect(a.getOrLoadMany(['a'], valuesOf, { tll: 5 } as object)).rejects.toThrow(TypeError)
  })
})

describe('values that are read together', () => {
  test('are one command, and each is judged for itself: fresh, stale, outdated, an error, or missing', async () => {
    const { a, b, clock, ways } = fleet({
      grace: '1m',
      errorKind: () => 'answer',
      negativeTtl: { error: '1m' },
    })
    await a.set('fresh', 'fresh', { ttl: '1m' })
    await a.set('stale', 'old', { ttl: 10 })
    const gone = new Error('there is none')
    await a.getOrLoad('none', () => Promise.reject(gone)).catch(() => undefined)
    await clock.advance(20)
    const misses = told(b, 'miss')
    ways.b.sent.length = 0
    const answers = await b.getOrLoadMany(['fresh', 'stale', 'none', 'missing', 'fresh'], valuesOf)
    expect(ways.b.count('read')).toBe(1)
    expect(answers).toEqual(['fresh', 'old', expect.objectContaining({ message: gone.message }), 'of missing', 'fresh'])
    expect(misses).toEqual([{ key: 'missing' }])
    expect(b.stats()).toMatchObject({ hits: 3, stale: 1, misses: 1 })
  })

  test('are asked for one by one where the store did not answer for all', async () => {
    const { a, b, ways } = fleet()
    await a.set('k', 'set')
    ways.b.mode = 'failing'
    expect(await b.getOrLoadMany(['k', 'l'], valuesOf)).toEqual(['of k', 'of l'])
  })

  test('are waited for when the cache closes, and so are the loads after them', async () => {
    const { a, ways } = fleet()
    const letGo = ways.a.hold('read', 'after')
    const answer = await asked(a.getOrLoadMany(['k', 'l'], valuesOf))
    const closing = a.close()
    letGo()
    await closing
    expect(answer).toEqual(valued(['of k', 'of l']))
  })

  test('have a deadline of their own where a caller has less time than a read may take', async () => {
    const { a, ways, clock } = fleet()
    ways.a.mode = 'silent'
    const answer = await asked(a.getOrLoadMany(['k'], valuesOf, { waitTimeout: 100 }))
    await clock.advance(101)
    expect(answer).toMatchObject({ value: [{ code: 'WAIT_TIMEOUT' }] })
  })
})

describe('a burst of keys', () => {
  const keys = Array.from({ length: 2_500 }, (_, index) => `k${index}`)

  test('has at most a thousand claims under way', async () => {
    const { a, ways } = fleet()
    const letGo = ways.a.hold('claim', 'before')
    const answer = await asked(a.getOrLoadMany(keys, valuesOf))
    expect(ways.a.count('claim')).toBe(1_000)
    letGo()
    await settled()
    expect(answer).toEqual(valued(keys.map((key) => `of ${key}`)))
    expect(ways.a.count('claim')).toBe(2_500)
  })

  test('has at most some hundred reads under way, and shares those that wait for their turn', async () => {
    const { a, ways } = fleet()
    const letGo = ways.a.hold('read', 'before')
    const ask = (): Promise<unknown> => Promise.all(keys.map((key) => a.getOrLoad(key, () => `of ${key}`)))
    const first = await asked(ask())
    expect(ways.a.count('read')).toBe(128)
    const second = await asked(ask())
    letGo()
    await settled()
    expect([first, second]).toEqual(Array.from({ length: 2 }, () => valued(keys.map((key) => `of ${key}`))))
    // Those that were sent before the second caller asked are no answer for it.
    expect(ways.a.count('read')).toBe(2_500 + 128)
  })

  test('waits for one deadline of a store that has fallen silent, and not for one a wave', async () => {
    const { a, ways, clock } = fleet({ warnings: false })
    ways.a.mode = 'silent'
    const answer = await asked(
      Promise.all(keys.map((key) => a.getOrLoad(key, () => `of ${key}`).catch(() => 'refused'))),
    )
    await clock.advance(500)
    expect(answer).toMatchObject({ state: 'value' })
    expect(ways.a.count('read')).toBe(128)
  })

  test('is read by one call in eight waves while they hit, and in two once they miss', async () => {
    const { a, ways } = fleet()
    const waves = async (): Promise<number[]> => {
      const underWay: number[] = []
      ways.a.sent.length = 0
      ways.a.mode = 'silent'
      const answer = await asked(a.getOrLoadMany(keys, valuesOf))
      for (let sent = 0; sent < ways.a.count('read');) {
        underWay.push(ways.a.count('read') - sent)
        sent = ways.a.count('read')
        ways.a.thaw()
        ways.a.mode = 'silent'
        await settled()
      }
      ways.a.thaw()
      await settled()
      expect(answer).toEqual(valued(keys.map((key) => `of ${key}`)))
      return underWay
    }
    expect(await waves()).toEqual([8, 2, 2, 2, 2, 2, 2])
    expect(await waves()).toEqual([8, 8, 4])
  })

  test('claims no key whose callers have left before its turn, nor any once the cache is closed', async () => {
    const { a, b, ways, clock } = fleet()
    const letGo = [ways.a.hold('claim', 'before'), ways.b.hold('claim', 'before')]
    const leaving = new AbortController()
    const left = await asked(a.getOrLoadMany(keys, valuesOf, { signal: leaving.signal }))
    leaving.abort(new Error('left'))
    const closed = await asked(b.getOrLoadMany(keys, valuesOf))
    const closing = b.close({ timeout: 0 })
    await clock.advance(1)
    for (const go of letGo) go()
    await closing
    await settled()
    expect(left).toMatchObject({ state: 'error', error: { message: 'left' } })
    expect(closed).toMatchObject({ value: expect.arrayContaining([expect.objectContaining({ code: 'CLOSED' })]) })
    expect([ways.a.count('claim'), ways.b.count('claim')]).toEqual([1_000, 1_000])
  })
})

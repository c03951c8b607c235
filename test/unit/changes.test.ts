import { describe, expect, test } from 'vitest'
import { CacheError, collectChanges, createCache, invalidateAfter, type Cache, type Changes } from '../../src/index.ts'
import { settled } from '../support/fake-clock.ts'
import { fleet } from './support/fleet.ts'

const tagsOf = (count: number): string[] => Array.from({ length: count }, (_, index) => `t${index}`)

async function statesOf(cache: Cache, ...keys: string[]): Promise<string[]> {
  return await Promise.all(keys.map(async (key) => (await cache.peek(key)).state))
}

describe('collected changes', () => {
  test('have no effect before they are applied, and then on every process', async () => {
    const { a, b } = fleet()
    await a.set('product:7', 'old')
    await a.set('page:7', 'old', { tags: ['product:7'] })
    await a.set('page:8', 'old', { tags: ['product:8'] })
    const changes = collectChanges()
    changes.invalidate(a, 'product:7')
    changes.invalidateTags(a, ['product:7'])
    await settled()
    expect(await statesOf(b, 'product:7', 'page:7', 'page:8')).toEqual(['fresh', 'fresh', 'fresh'])
    await changes.apply()
    expect(await statesOf(b, 'product:7', 'page:7', 'page:8')).toEqual(['missing', 'missing', 'fresh'])
  })

  test('of several caches are applied together, each to its own', async () => {
    const { a } = fleet()
    const other = createCache()
    for (const cache of [a, other]) {
      await cache.set('k1', 1)
      await cache.set('k2', 2, { tags: ['t'] })
    }
    const changes = collectChanges()
    changes.invalidate(a, 'k1')
    changes.invalidateTags(other, ['t'])
    await changes.apply()
    expect(await statesOf(a, 'k1', 'k2')).toEqual(['missing', 'fresh'])
    expect(await statesOf(other, 'k1', 'k2')).toEqual(['fresh', 'missing'])
    await other.close()
  })

  test('are carried out once each, and all tags of a cache together', async () => {
    const { a, ways } = fleet()
    const changes = collectChanges()
    for (const key of ['k1', 'k2', 'k1']) changes.invalidate(a, key)
    for (const tags of [['t1', 't2'], ['t2', 't3'], ['t1']]) changes.invalidateTags(a, tags)
    const events: unknown[] = []
    a.on('invalidateTags', ({ tags }) => events.push(tags))
    a.on('invalidate', ({ key }) => events.push(key))
    await changes.apply()
    expect(events).toEqual(expect.arrayContaining(['k1', 'k2', ['t1', 't2', 't3']]))
    expect([ways.a.count('invalidate'), ways.a.count('invalidateTags')]).toEqual([2, 1])
  })

  test('may have more tags than one command takes', async () => {
    const { a, b, ways } = fleet()
    const tags = tagsOf(130)
    for (const tag of tags) await a.set(tag, 'old', { tags: [tag] })
    const changes = collectChanges()
    for (const tag of tags) changes.invalidateTags(a, [tag])
    await changes.apply()
    expect(new Set(await statesOf(b, ...tags))).toEqual(new Set(['missing']))
    expect(ways.a.count('invalidateTags')).toBe(3)
  })

  test('are sent at once, not one after the other', async () => {
    const { a, ways } = fleet()
    const changes = collectChanges()
    for (const key of ['k1', 'k2', 'k3']) changes.invalidate(a, key)
    changes.invalidateTags(a, ['t'])
    const go = ways.a.hold('invalidate', 'before')
    const applied = changes.apply()
    await settled()
    expect([ways.a.count('invalidate'), ways.a.count('invalidateTags')]).toEqual([3, 1])
    go()
    await applied
  })

  test('are applied once, however often they are applied', async () => {
    const { a, ways } = fleet()
    const changes = collectChanges()
    changes.invalidate(a, 'k')
    changes.invalidateTags(a, ['t'])
    await Promise.all([changes.apply(), changes.apply()])
    await changes.apply()
    expect([ways.a.count('invalidate'), ways.a.count('invalidateTags')]).toEqual([1, 1])
  })

  test('have no effect once they are discarded, though they are applied then', async () => {
    const { a, ways } = fleet()
    const changes = collectChanges()
    changes.invalidate(a, 'k')
    changes.invalidateTags(a, ['t'])
    changes.discard()
    await changes.apply()
    expect([ways.a.count('invalidate'), ways.a.count('invalidateTags')]).toEqual([0, 0])
  })

  test('are discarded at the end of a block that is left before they are applied', async () => {
    const { a, ways } = fleet()
    const write = async (): Promise<void> => {
      using changes = collectChanges()
      changes.invalidate(a, 'k')
      await Promise.reject(new Error('the commit failed'))
      await changes.apply()
    }
    await expect(write()).rejects.toThrow('the commit failed')
    expect(ways.a.count('invalidate')).toBe(0)
  })

  test('take no further one after the end of their transaction, for it would be lost', async () => {
    const { a } = fleet()
    const [applied, discarded] = [collectChanges(), collectChanges()]
    await applied.apply()
    discarded.discard()
    expect(() => applied.invalidate(a, 'k')).toThrow(new TypeError('Expected no further change: these are applied'))
    expect(() => applied.invalidateTags(a, ['t'])).toThrow(TypeError)
    expect(() => discarded.invalidate(a, 'k')).toThrow(new TypeError('Expected no further change: these are discarded'))
  })

  test('refuse what is no cache, no key or no tag at once', () => {
    const { a } = fleet()
    const changes = collectChanges()
    expect(() => changes.invalidate('product:7' as never, 'k')).toThrow('Expected a cache, got "product:7" (string)')
    expect(() => changes.invalidateTags(null as never, ['t'])).toThrow('Expected a cache, got null')
    expect(() => changes.invalidate(a, '')).toThrow('Expected a key to be')
    expect(() => changes.invalidate(a, 7 as never)).toThrow('Expected a key to be')
    expect(() => changes.invalidateTags(a, 't' as never)).toThrow('Expected `tags` to be an array')
    expect(() => changes.invalidateTags(a, [''])).toThrow('Expected a tag to be')
  })
})

describe('changes that the store refuses', () => {
  test('reject with the error of the one that failed, with its key', async () => {
    const { a, b, ways } = fleet()
    ways.a.mode = 'failing'
    const changes = collectChanges()
    changes.invalidate(a, 'k1')
    changes.invalidate(b, 'k2')
    await expect(changes.apply()).rejects.toMatchObject({ name: 'CacheError', code: 'STORE_UNAVAILABLE', key: 'k1' })
  })

  test('reject with one error that has all of theirs as its cause', async () => {
    const { a, b, ways } = fleet()
    ways.a.mode = 'failing'
    const changes = collectChanges()
    for (const key of ['k1', 'k2']) changes.invalidate(a, key)
    changes.invalidate(b, 'k3')
    const error = (await changes.apply().catch((thrown: unknown) => thrown)) as CacheError
    expect(error).toBeInstanceOf(CacheError)
    expect([error.code, error.key]).toEqual(['STORE_UNAVAILABLE', undefined])
    expect(error.message).toBe('2 of 3 invalidations failed, the first with: The store failed: connect ECONNREFUSED')
    expect((error.cause as AggregateError).errors.map(({ key }: CacheError) => key)).toEqual(['k1', 'k2'])
    expect(error.stack).toContain('changes.test.ts')
  })

  test('are carried out when they are applied again, and those that succeeded are not', async () => {
    const { a, b, c, ways } = fleet()
    await c.set('k1', 'old')
    await c.set('k2', 'old', { tags: ['t'] })
    ways.a.mode = 'failing'
    const changes = collectChanges()
    changes.invalidate(a, 'k1')
    changes.invalidateTags(a, ['t'])
    changes.invalidate(b, 'k3')
    await expect(changes.apply()).rejects.toThrow('2 of 3 invalidations failed')
    expect(await statesOf(c, 'k1', 'k2')).toEqual(['fresh', 'fresh'])
    ways.a.mode = 'answering'
    await changes.apply()
    expect(await statesOf(c, 'k1', 'k2')).toEqual(['missing', 'missing'])
    expect(ways.b.count('invalidate')).toBe(1)
  })
})

describe('invalidateAfter', () => {
  test('applies the changes after the work, and resolves with its result when that has happened', async () => {
    const { a, b, ways } = fleet()
    await a.set('k', 'old')
    let commit!: () => void
    const committed = new Promise<void>((resolve) => (commit = resolve))
    const go = ways.a.hold('invalidate', 'before')
    let told: unknown
    const after = invalidateAfter(async (changes) => {
      changes.invalidate(a, 'k')
      await committed
      return 'the result'
    }).then((result) => (told = result))
    await settled()
    expect(ways.a.count('invalidate')).toBe(0)
    commit()
    await settled()
    expect([ways.a.count('invalidate'), told]).toEqual([1, undefined])
    go()
    expect(await after).toBe('the result')
    expect((await b.peek('k')).state).toBe('missing')
  })

  test('applies nothing if the work throws, and throws that', async () => {
    const { a, ways } = fleet()
    const problem = new Error('rolled back')
    const work = (changes: Changes): never => {
      changes.invalidate(a, 'k')
      throw problem
    }
    await expect(invalidateAfter(work)).rejects.toBe(problem)
    await expect(invalidateAfter(async (changes) => work(changes))).rejects.toBe(problem)
    expect(ways.a.count('invalidate')).toBe(0)
  })

  test('takes no change of work that has failed', async () => {
    const { a } = fleet()
    let late!: Changes
    await expect(
      invalidateAfter((changes) => {
        late = changes
        throw new Error('rolled back')
      }),
    ).rejects.toThrow('rolled back')
    expect(() => late.invalidate(a, 'k')).toThrow('Expected no further change: these are discarded')
  })

  test('rejects if the changes cannot be carried out', async () => {
    const { a, ways } = fleet()
    ways.a.mode = 'failing'
    const after = invalidateAfter((changes) => changes.invalidate(a, 'k'))
    await expect(after).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', key: 'k' })
  })

  test('says what it expects', async () => {
    await expect(invalidateAfter('work' as never)).rejects.toThrow(
      'Expected the work to be a function, got "work" (string)',
    )
  })
})

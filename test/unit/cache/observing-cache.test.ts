import { describe, expect, test } from 'vitest'
import { siblingOf } from '../../../src/core/cache/sibling.ts'
import { createCache, jsonCodec, loadFailure, type Cache, type CacheOptions } from '../../../src/index.ts'
import { settled } from '../../support/fake-clock.ts'
import { allAsked, answerOf, asked, pending, valued } from '../support/answer.ts'
import { fleet } from '../support/fleet.ts'
import { allLoading, loading, Source, throwing } from '../support/source.ts'

function observing(options: CacheOptions = {}) {
  const { a, clock, ways } = fleet({ mode: 'observe', ...options })
  return { cache: a, clock, store: ways.a }
}

describe('a cache that observes', () => {
  test('runs the loader of each call, and tells its store of invalidations alone', async () => {
    const { cache, store } = observing()
    let loads = 0
    for (let call = 1; call <= 3; call++) expect(await cache.getOrLoad('k', () => ++loads)).toBe(call)
    expect(await cache.refresh('k', () => ++loads)).toBe(4)
    await cache.set('k', 'set')
    expect(await cache.peek('k')).toEqual({ state: 'missing' })
    expect(await cache.getOrLoadMany(['k', 'l'], (keys) => keys.map((key) => `of ${key}`))).toEqual(['of k', 'of l'])
    const wrapped = cache.wrap(async (id: number) => `${id} ${++loads}`, { key: 'f' })
    expect([await wrapped(7), await wrapped(7)]).toEqual(['7 5', '7 6'])
    await cache.invalidate('k')
    await cache.invalidateTags(['t'])
    await cache.close()
    expect(store.sent).toEqual(['invalidate', 'invalidate', 'invalidateTags'])
  })

  test('gives many keys the error of each in its place, as a cache does, which says which load failed', async () => {
    const { cache } = observing()
    const load = (keys: readonly string[]): unknown[] => keys.map((key) => (key === 'b' ? new Error('no b') : key))
    const [value, error] = await cache.getOrLoadMany(['a', 'b'], load)
    expect([value, error]).toMatchObject(['a', { message: 'no b' }])
    expect(loadFailure(error)).toMatchObject({ key: 'b' })
    expect(await cache.getOrLoadEntries(['a', 'b'], load)).toMatchObject([{ value: 'a' }, { message: 'no b' }])
    const failed = cache.getOrLoadMany(['c', 'd'], () => Promise.reject(new Error('no source')))
    expect(await failed).toMatchObject([{ message: 'no source' }, { message: 'no source' }])
  })

  test.for(['alone', 'beside a cache of another kind'])('closes with the last answer, %s', async (how) => {
    const { cache, clock } = observing()
    if (how !== 'alone') siblingOf(cache, { codec: jsonCodec() })
    const { source, answer } = await loading(cache)
    const close = await asked(cache.close())
    expect([answer, close]).toEqual([pending, pending])
    const now = clock.now()
    await source.resolve(0, 'v')
    expect([answer, close]).toEqual([valued('v'), valued(undefined)])
    expect(clock.now()).toBe(now)
  })

  test('rejects its callers with CLOSED, and aborts their loaders, when the timeout of its close is over', async () => {
    const { cache, clock } = observing()
    const { source, answers } = await allLoading([cache, cache])
    const close = answerOf(cache.close({ timeout: '1s' }))
    await clock.advance(999)
    expect([...answers, close]).toEqual([pending, pending, pending])
    await clock.advance(1)
    expect(close).toEqual(valued(undefined))
    const closed = { state: 'error', error: { code: 'CLOSED', key: 'k' } }
    expect(answers).toMatchObject([closed, closed])
    expect(source.runs.map(({ context }) => context.signal.aborted)).toEqual([true, true])
  })

  test('counts what would have been', async () => {
    const { cache, clock } = observing({ ttl: '10s' })
    const source = new Source<string>()
    // Five at once: one load, and four that would have joined it.
    const answers = await allAsked(Array.from({ length: 5 }, () => cache.getOrLoad('k', source.loader)))
    expect(source.runs).toHaveLength(5)
    await clock.advance(2_000)
    for (const [index, run] of source.runs.entries()) run.resolve(`v${index}`)
    await settled()
    expect(answers).toEqual(source.runs.map((_, index) => ({ state: 'value', value: `v${index}` })))
    expect(cache.stats()).toMatchObject({ hits: 0, misses: 5, loads: 1, loadsSaved: 4, secondsSaved: 8 })
    for (let call = 0; call < 3; call++) await cache.getOrLoad('k', () => 'v')
    await settled()
    expect(cache.stats()).toMatchObject({ hits: 3, misses: 5, loads: 1, loadsSaved: 7, hitRatio: 3 / 8 })
    await clock.advance(10_000)
    await cache.getOrLoad('k', () => 'v')
    await settled()
    expect(cache.stats()).toMatchObject({ hits: 3, misses: 6, loads: 2 })
  })

  test('heeds what would have made a difference: ttl, tags, doNotStore, invalidations, nothing', async () => {
    const { cache, clock } = observing({ ttl: '1h', negativeTtl: '1s' })
    const misses = async (key: string, load: Parameters<Cache['getOrLoad']>[1]): Promise<number> => {
      const before = cache.stats().misses
      await cache.getOrLoad(key, load)
      await settled()
      return cache.stats().misses - before
    }
    const short = ({ ttl }: { ttl: (ttl: number) => void }): string => (ttl(500), 'v')
    expect([await misses('short', short), await misses('short', short)]).toEqual([1, 0])
    const nothing = (): null => null
    expect([await misses('null', nothing), await misses('null', nothing)]).toEqual([1, 0])
    const tagged = ({ tags }: { tags: (...tags: string[]) => void }): string => (tags('t'), 'v')
    expect([await misses('tagged', tagged), await misses('tagged', tagged)]).toEqual([1, 0])
    const own = ({ doNotStore }: { doNotStore: () => void }): string => (doNotStore(), 'v')
    expect([await misses('own', own), await misses('own', own)]).toEqual([1, 1])
    await clock.advance(600)
    expect([await misses('short', short), await misses('null', nothing)]).toEqual([1, 0])
    await clock.advance(600)
    expect(await misses('null', nothing)).toBe(1)
    await cache.invalidateTags(['t'])
    expect(await misses('tagged', tagged)).toBe(1)
    await cache.invalidate('tagged')
    expect(await misses('tagged', tagged)).toBe(1)
  })

  test('rejects as the cache would: the error of its own loader, the reason of its signal, misuse', async () => {
    const { cache } = observing()
    for (const error of [new Error('one'), new Error('two')]) {
      await expect(cache.getOrLoad('k', throwing(error))).rejects.toBe(error)
    }
    const controller = new AbortController()
    const left = cache.getOrLoad('k', () => new Promise(() => undefined), { signal: controller.signal })
    controller.abort(new Error('enough'))
    await expect(left).rejects.toThrow('enough')
    await expect(cache.getOrLoad('', () => 1)).rejects.toThrow(TypeError)
    await expect(cache.getOrLoad('k', 7 as never)).rejects.toThrow('Expected a loader function for "k", got 7 (number)')
    await expect(cache.getOrLoad('k', () => 1, { tll: 1 } as object)).rejects.toThrow(TypeError)
    expect(() => createCache({ mode: 'watch' as 'observe' })).toThrow(
      "Expected `mode` to be 'cache' or 'observe' or 'off'",
    )
    await cache.close({ timeout: 0 })
    await expect(cache.getOrLoad('k', () => 1)).rejects.toMatchObject({ code: 'CLOSED' })
  })
})

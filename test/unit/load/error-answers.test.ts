import { describe, expect, test, vi } from 'vitest'
import { createCache, loadFailure, memoryStore, type Cache, type CacheOptions } from '../../../src/index.ts'
import { settled } from '../../support/fake-clock.ts'
import { answerOf, asked } from '../support/answer.ts'
import { fleet } from '../support/fleet.ts'
import { allLoading, never } from '../support/source.ts'

class NotFoundError extends Error {
  override name = 'NotFoundError'
  readonly status = 404
}

const kinds = {
  errors: [NotFoundError],
  errorKind: (error: unknown) => (error instanceof NotFoundError ? 'answer' : 'unremembered'),
} as const satisfies CacheOptions

/** A fleet in which the answer for `k` is an error. */
async function missing(options: CacheOptions = {}) {
  const all = fleet({ ...kinds, negativeTtl: '10s', ...options })
  const thrown = new NotFoundError('no k')
  await expect(all.a.getOrLoad('k', () => Promise.reject(thrown))).rejects.toBe(thrown)
  return { ...all, thrown }
}

async function thrownBy(cache: Cache): Promise<unknown> {
  return await cache.getOrLoad('k', never).catch((error: unknown) => error)
}

describe('an error that is an answer', () => {
  test('is thrown to all who wait, by one load', async () => {
    const { a, b, all } = fleet({ ...kinds, negativeTtl: '10s' })
    const { source, answers } = await allLoading([...all, ...all])
    const thrown = new NotFoundError('no k')
    await source.reject(0, thrown)
    expect(source.runs).toHaveLength(1)
    expect(answers.map((answer) => answer.state === 'error' && answer.error instanceof NotFoundError)).toEqual(
      answers.map(() => true),
    )
    expect(answers[0]).toEqual({ state: 'error', error: thrown })
    expect(answers[3]).toEqual({ state: 'error', error: thrown })
    expect(await thrownBy(a)).toBe(thrown)
    expect(await thrownBy(b)).toMatchObject({ name: 'NotFoundError', message: 'no k', status: 404 })
  })

  test('is remembered for negativeTtl, in the process of the loader as the very object', async () => {
    const { a, b, clock, thrown } = await missing()
    await clock.advance(9_999)
    expect(await thrownBy(a)).toBe(thrown)
    expect(await thrownBy(b)).toBeInstanceOf(NotFoundError)
    expect(loadFailure(await thrownBy(b))).toMatchObject({ key: 'k', cooldown: 10_000 })
    await clock.advance(1)
    expect(await b.getOrLoad('k', () => 'there')).toBe('there')
    expect(await a.getOrLoad('k', never)).toBe('there')
  })

  test.for([
    [{ negativeTtl: { error: '3s', null: '5s' } }, 3_000],
    [{ negativeTtl: { null: '5s' } }, 5_000],
    [{ negativeTtl: { undefined: '5s' }, ttl: '7s' }, 7_000],
    [{ negativeTtl: undefined, ttl: '7s' }, 7_000],
  ] as const)('is remembered for as long as %j says', async ([options, ttl]) => {
    const { a, clock, thrown } = await missing(options)
    await clock.advance(ttl - 1)
    expect(await thrownBy(a)).toBe(thrown)
    await clock.advance(1)
    expect(await a.getOrLoad('k', () => 'there')).toBe('there')
  })

  test('is remembered for as long as the loader says', async () => {
    const { a, clock } = fleet({ ...kinds, negativeTtl: '10s' })
    const thrown = new NotFoundError('no k')
    const loader = (context: { ttl: (ttl: number) => void }): never => {
      context.ttl(2_000)
      throw thrown
    }
    await expect(a.getOrLoad('k', loader)).rejects.toBe(thrown)
    await clock.advance(1_999)
    expect(await thrownBy(a)).toBe(thrown)
    await clock.advance(1)
    expect(await a.getOrLoad('k', () => 'there')).toBe('there')
  })

  test('replaces the stored value, which is not served in its grace any more', async () => {
    const { a, b, clock } = fleet({ ...kinds, ttl: '1s', grace: '10m', negativeTtl: '10s' })
    await a.getOrLoad('k', () => 'there')
    await clock.advance(1_500)
    const thrown = new NotFoundError('no k')
    // The caller that brings the refresh is served what is stale.
    expect(await a.getOrLoad('k', () => Promise.reject(thrown))).toBe('there')
    await settled()
    expect(await thrownBy(a)).toBe(thrown)
    expect(await thrownBy(b)).toBeInstanceOf(NotFoundError)
  })

  test('is thrown to a caller that waits for a fresh value, although there is a stale one', async () => {
    const { a, clock } = fleet({ ...kinds, ttl: '1s', grace: '10m', softTimeout: '1s' })
    await a.getOrLoad('k', () => 'there')
    await clock.advance(1_500)
    const thrown = new NotFoundError('no k')
    await expect(a.getOrLoad('k', () => Promise.reject(thrown))).rejects.toBe(thrown)
  })

  test('is thrown by refresh and peek, and stands among the values of getOrLoadMany', async () => {
    const { a, b, thrown } = await missing()
    await expect(a.peek('k')).rejects.toBe(thrown)
    await expect(b.peek('k')).rejects.toBeInstanceOf(NotFoundError)
    await expect(b.refresh('k', () => Promise.reject(new NotFoundError('still no k')))).rejects.toThrow('still no k')
    const many = await a.getOrLoadMany(['k', 'l'], (keys) => keys.map((key) => `${key}!`))
    expect(many).toMatchObject([{ message: 'still no k' }, 'l!'])
    const batch = await b.getOrLoadMany(['m', 'n'], ([m]) => [new NotFoundError(`no ${m}`), 'n!'])
    expect(batch).toMatchObject([{ message: 'no m' }, 'n!'])
    await expect(a.getOrLoad('m', never)).rejects.toThrow('no m')
  })

  test('stands among the values of getOrLoadMany also where a near copy throws it', async () => {
    const { a, thrown } = await missing({ near: {} })
    await thrownBy(a)
    const bang = (keys: readonly string[]): string[] => keys.map((key) => `${key}!`)
    expect(await a.getOrLoadMany(['k', 'l'], bang)).toEqual([thrown, 'l!'])
    expect(await a.getOrLoadEntries(['k', 'l'], bang)).toMatchObject([{ message: 'no k' }, { value: 'l!' }])
  })

  test.for(['frozen', 'cloned', 'shared'] as const)('is thrown by near copies that are %s', async (values) => {
    const { a, b, ways, thrown } = await missing({ near: { values } })
    for (const [cache, way] of [[a, ways.a] as const, [b, ways.b] as const]) {
      await thrownBy(cache)
      const sent = way.sent.length
      expect(await thrownBy(cache)).toBeInstanceOf(NotFoundError)
      expect(await cache.getOrLoad('k', never, { ttl: '1m' }).catch((error: unknown) => error)).toBeInstanceOf(
        NotFoundError,
      )
      expect(way.sent).toHaveLength(sent)
    }
    expect(await thrownBy(a)).toBe(thrown)
  })

  test('is lifted by set, invalidate and invalidateTags', async () => {
    const { a, b } = await missing({ tags: ['t'] })
    await b.invalidateTags(['t'])
    expect(await a.getOrLoad('k', () => 'there')).toBe('there')
    const again = await missing()
    await again.b.invalidate('k')
    expect(await again.a.getOrLoad('k', () => 'there')).toBe('there')
    const third = await missing()
    await third.b.set('k', 'there')
    expect(await third.a.getOrLoad('k', never)).toBe('there')
  })

  test('is no stale value for a loader', async () => {
    const { a, clock } = await missing({ grace: '1h' })
    await clock.advance(10_000)
    let stale: unknown = 'unseen'
    const loader = (context: { stale: unknown }): string => {
      stale = context.stale
      return 'there'
    }
    // Within its grace it is thrown, while the next caller loads.
    await expect(a.getOrLoad('k', loader)).rejects.toThrow('no k')
    await settled()
    expect(stale).toBe(null)
    expect(await a.getOrLoad('k', never)).toBe('there')
  })

  test('is thrown while the store is away, although there is a stale value', async () => {
    const { a, ways, clock } = fleet({ ...kinds, ttl: '1s', grace: '10m', softTimeout: '1s' })
    await a.getOrLoad('k', () => 'there')
    await clock.advance(1_500)
    ways.a.mode = 'failing'
    const thrown = new NotFoundError('no k')
    expect(await asked(a.getOrLoad('k', () => Promise.reject(thrown)))).toEqual({ state: 'error', error: thrown })
    expect(loadFailure(thrown)).toMatchObject({ key: 'k' })
  })

  test('is thrown where the cache only observes', async () => {
    const cache = createCache({ ...kinds, mode: 'observe', store: memoryStore() })
    const thrown = new NotFoundError('no k')
    await expect(cache.getOrLoad('k', () => Promise.reject(thrown))).rejects.toBe(thrown)
    await cache.close()
  })
})

describe('errorKind', () => {
  test('`unremembered`: the next call loads, and a stale value is served instead', async () => {
    const { a, clock } = fleet({ ...kinds, ttl: '1s', grace: '10m', softTimeout: '1s' })
    await expect(a.getOrLoad('k', () => Promise.reject(new Error('down')))).rejects.toThrow('down')
    expect(await a.getOrLoad('k', () => 'there')).toBe('there')
    await clock.advance(1_500)
    expect(await a.getOrLoad('k', () => Promise.reject(new Error('down')))).toBe('there')
    expect(await a.getOrLoad('k', () => 'new')).toBe('new')
  })

  test('is asked with the key, about what the loader threw, also if that is no Error', async () => {
    const errorKind = vi.fn(() => undefined)
    const { a } = fleet({ errorKind })
    await a.getOrLoad('k', () => Promise.reject('a string')).catch(() => undefined)
    expect(errorKind.mock.calls).toEqual([['a string', 'k']])
    expect(await a.getOrLoad('k', () => 'there').catch(() => 'remembered')).toBe('remembered')
  })

  test('is not asked about the errors of the cache', async () => {
    const errorKind = vi.fn(() => 'answer' as const)
    const { a, clock } = fleet({ errorKind, hardTimeout: '1s' })
    const answer = answerOf(a.getOrLoad('k', () => new Promise(() => undefined)))
    await clock.advance(1_000)
    expect(answer).toMatchObject({ state: 'error', error: { code: 'LOAD_TIMEOUT' } })
    await clock.advance(10_000)
    const circle = a.getOrLoad('o', () => a.getOrLoad('o', never))
    await expect(circle).rejects.toMatchObject({ code: 'CIRCULAR_LOAD' })
    expect(errorKind).not.toHaveBeenCalled()
  })

  test.for([
    { what: 'throws', errorKind: never, says: 'the loader ran' },
    { what: 'returns nonsense', errorKind: () => 'sometimes', says: 'Expected `errorKind` to return failure, unrem' },
  ])('that $what is reported, and the error is a failure', async ({ errorKind, says }) => {
    const warned = new Promise<Error>((resolve) => process.once('warning', resolve))
    const { a } = fleet({ errorKind: errorKind as () => 'answer' })
    await expect(a.getOrLoad('k', () => Promise.reject(new Error('down')))).rejects.toThrow('down')
    expect(await a.getOrLoad('k', () => 'there').catch(() => 'remembered')).toBe('remembered')
    expect((await warned).name).toBe('HerdlessWarning')
    expect((await warned).message).toContain(says)
  })

  test('must be a function', () => {
    expect(() => createCache({ errorKind: 'answer' as never })).toThrow(
      'Expected `errorKind` to be a function, got "answer" (string)',
    )
  })

  test('holds for the calls that name it', async () => {
    const { a } = fleet()
    const answers = { errorKind: () => 'answer' as const, negativeTtl: '1h' as const }
    const error: unknown = await a.getOrLoad('k', () => Promise.reject(new Error('no k')), answers).catch((e) => e)
    expect(loadFailure(error)?.cooldown).toBe(3_600_000)
    expect(await a.peek('l')).toEqual({ state: 'missing' })
    const other: unknown = await a.getOrLoad('l', () => Promise.reject(new Error('no l'))).catch((e) => e)
    expect(loadFailure(other)?.cooldown).toBe(1_000)
  })
})

test.for([[0xc1], [0xc1, 0x65], [0xc1, 0x76, 1], [0xc1, 0x65, 0x7b, 0x7d], []])(
  'a value whose bytes are %j is no error',
  async (bytes) => {
    const codec = { encode: (value: unknown) => value as Uint8Array, decode: (payload: Buffer) => Buffer.from(payload) }
    const [value, b] = [Buffer.from(bytes), createCache({ codec, store: memoryStore() })]
    expect(await b.getOrLoad('k', () => value)).toEqual(value)
    expect(await b.getOrLoad('k', never)).toEqual(value)
    await b.set('l', value)
    expect(await b.getOrLoad('l', never)).toEqual(value)
    await b.close()
  },
)

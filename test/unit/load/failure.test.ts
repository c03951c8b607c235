import { runInNewContext } from 'node:vm'
import { describe, expect, test, vi } from 'vitest'
import type { Failure } from '../../../src/core/errors.ts'
import { CacheError, loadFailure, type Cache, type Store } from '../../../src/index.ts'
import { settled } from '../../support/fake-clock.ts'
import { allAsked, answerOf, asked, valued } from '../support/answer.ts'
import { fleet } from '../support/fleet.ts'
import { allLoading, loading, Source } from '../support/source.ts'

const down = Object.assign(new Error('terminating connection'), { name: 'DatabaseError', code: '57P01' })

/** The error that is the answer for a key. */
async function errorOf(cache: Cache, key: string): Promise<Error> {
  const loader = (): never => expect.unreachable('the loader ran')
  return await cache.getOrLoad<Error>(key, loader).catch((error: Error) => error)
}

/** Writes a failure of the key `written`, as another program might. */
async function written(store: Store, failure: Failure): Promise<void> {
  const claim = await store.claim({ key: 'herdless:written', token: 't'.repeat(16), leaseTtl: 10_000 })
  if (claim.state === 'lease') await store.fail(claim.lease, failure, 60_000)
}

function failedWith(message: string) {
  return { state: 'error', error: { message } }
}

describe('a load that fails', () => {
  test('fails once for all who waited for it, in every process (rule 5)', async () => {
    const { all, source } = fleet()
    const answers = await allAsked(
      all.flatMap((cache) => Array.from({ length: 5 }, () => cache.getOrLoad('k', source.loader))),
    )
    await source.reject(0, down)
    expect(answers).toHaveLength(15)
    for (const answer of answers) {
      const error = { name: 'DatabaseError', message: 'terminating connection', code: '57P01' }
      expect(answer).toMatchObject({ state: 'error', error })
    }
    expect(source.runs).toHaveLength(1)
  })

  test('is not tried again until its cool-down has ended, in any process (rule 5)', async () => {
    const { a, b, clock } = fleet({ failureCooldown: '2s' })
    let count = 0
    const loader = () => {
      throw new Error(`failure ${++count}`)
    }
    expect(answerOf(a.getOrLoad('k', loader))).toBeDefined()
    await clock.advance(1_999)
    expect(await allAsked([a.getOrLoad('k', loader), b.getOrLoad('k', loader)])).toMatchObject([
      failedWith('failure 1'),
      failedWith('failure 1'),
    ])
    await clock.advance(1)
    expect(await b.getOrLoad('k', () => 'well again')).toBe('well again')
    expect(await a.getOrLoad('k', loader)).toBe('well again')
    expect(count).toBe(1)
  })

  test('is tried again at once after an invalidation or a set', async () => {
    const { a, b } = fleet()
    await expect(a.getOrLoad('k', () => Promise.reject(down))).rejects.toThrow(down)
    await b.invalidate('k')
    await expect(a.getOrLoad('k', () => Promise.reject(new Error('again')))).rejects.toThrow('again')
    await b.set('k', 'set')
    expect(await a.getOrLoad('k', () => 'wrong')).toBe('set')
  })

  test('is none of another key, whether that is asked for alone or with it', async () => {
    const { a, b } = fleet({ failureCooldown: '1m' })
    await expect(a.getOrLoad('k', () => Promise.reject(down))).rejects.toThrow(down)
    expect(await a.getOrLoad('l', () => 'of l')).toBe('of l')
    const answers = await b.getOrLoadMany(['k', 'l', 'm'], (keys) => keys.map((key) => `loaded ${key}`))
    expect(answers).toMatchObject([{ message: down.message }, 'of l', 'loaded m'])
  })

  test('is not the answer of those who ask once it has ended: they may know that the source is well again (rule 4)', async () => {
    const { a, ways } = fleet({ failureCooldown: 0 })
    const letGo = ways.a.hold('fail', 'after')
    const { source, answer: before } = await loading(a)
    await source.reject(0, down)
    const after = await asked(a.getOrLoad('k', source.loader))
    letGo()
    await settled()
    expect(before).toMatchObject(failedWith('terminating connection'))
    await source.resolve(1, 'v')
    expect(after).toEqual(valued('v'))
  })

  test('and is learnt of by asking again is the answer of those who waited by then, and of no other (rules 4 and 6)', async () => {
    const { a, b, ways, clock, source } = fleet({ failureCooldown: 0 })
    ways.b.messages = 'lost'
    answerOf(a.getOrLoad('k', source.loader))
    const before = await asked(b.getOrLoad('k', source.loader))
    await source.reject(0, down)
    const after = answerOf(b.getOrLoad('k', source.loader))
    await clock.advance(500)
    expect(before).toMatchObject(failedWith('terminating connection'))
    await source.resolve(1, 'v')
    expect(after).toEqual(valued('v'))
    expect(source.runs).toHaveLength(2)
  })

  test('and was voided by an invalidation fails nobody: its callers get what the next load brings (rule 2)', async () => {
    const { a, b, ways } = fleet()
    ways.a.messages = 'lost'
    const { source, answer } = await loading(a)
    await b.invalidate('k')
    await source.reject(0, down)
    await source.resolve(1, 'v')
    expect(answer).toEqual(valued('v'))
  })
})

describe('what another process is told of a failed load', () => {
  test('is the error without its stack and what hangs on it; of the cache itself, what it is', async () => {
    const { a, b, clock } = fleet({ hardTimeout: '1s', failureCooldown: '1m' })
    const thrown = Object.assign(new Error('no such product'), { name: 'NotFoundError', status: 404, stack: 'secret' })
    await expect(a.getOrLoad('k', () => Promise.reject(thrown))).rejects.toBe(thrown)
    const error = await errorOf(b, 'k')
    expect(error).toMatchObject({ name: 'NotFoundError', message: 'no such product', status: 404 })
    expect(error).not.toBeInstanceOf(CacheError)
    expect(Object.keys(error)).toEqual(['status'])
    expect(error.stack).not.toContain('secret')
    expect(loadFailure(error)).toEqual({ ...loadFailure(thrown), key: 'k', cooldown: 60_000 })
    answerOf(a.getOrLoad('late', new Source().loader))
    await clock.advance(1_000)
    const late = await errorOf(b, 'late')
    expect(late).toMatchObject({
      code: 'LOAD_TIMEOUT',
      message: 'Loading "late" took longer than 1000 ms',
      key: 'late',
    })
    expect([late.cause, loadFailure(late)]).toEqual([undefined, undefined])
  })

  test('is the very error here, and the same one there, if it is of another realm, as of fetch under Jest', async () => {
    const { a, b } = fleet()
    const thrown: unknown = runInNewContext('new TypeError("fetch failed")')
    expect(thrown).not.toBeInstanceOf(Error)
    await expect(a.getOrLoad('k', () => Promise.reject(thrown))).rejects.toBe(thrown)
    await expect(b.getOrLoad('k', () => 'never')).rejects.toMatchObject({ name: 'TypeError', message: 'fetch failed' })
    expect(await a.getOrLoadMany(['l'], () => [thrown])).toEqual([thrown])
    expect((await a.peek('l')).state).toBe('missing')
  })

  test('is LOAD_FAILED where what was thrown is no error', async () => {
    const { a, b } = fleet()
    await expect(a.getOrLoad('k', () => Promise.reject('down'))).rejects.toMatchObject({ code: 'LOAD_FAILED' })
    const error = await errorOf(b, 'k')
    expect(error).toMatchObject({ code: 'LOAD_FAILED', message: 'Loading "k" failed: down', key: 'k' })
    expect(error.cause).toBeUndefined()
  })

  test('has no credentials and is bounded, also when another program wrote it', async () => {
    const { a, b, ways } = fleet()
    const sent = vi.spyOn(ways.a, 'fail')
    const said = `no answer of redis://me:hunter2@host/0 ${'x'.repeat(5_000)}`
    await a.getOrLoad('k', () => Promise.reject(said)).catch(() => undefined)
    const [, failure] = sent.mock.calls[0] ?? []
    expect(failure?.message.length).toBeLessThan(1_100)
    expect(failure?.message).not.toContain('hunter2')
    const told = await errorOf(b, 'k')
    expect(told.message).toContain('no answer of redis://')
    expect(told.message).not.toContain('hunter2')
    await written(ways.c, { code: 'LOAD_FAILED', message: 'x'.repeat(1_000_000), cause: null })
    for (const { message } of [told, await errorOf(b, 'written')]) expect(message.length).toBeLessThan(1_100)
  })

  test('may be by an older version, which wrote no token, process or time', async () => {
    const { b, ways } = fleet({ failureCooldown: '1m' })
    await written(ways.c, { code: 'LOAD_FAILED', message: 'm', cause: { name: 'Error', message: 'down' } })
    const error = await errorOf(b, 'written')
    expect(error.message).toBe('down')
    expect(loadFailure(error)).toMatchObject({ key: 'written', process: null, at: null })
  })

  test('is the very error for the process whose loader ran, which remembers the youngest thousand', async () => {
    const { a } = fleet({ failureCooldown: '1m' })
    const thrown = Array.from({ length: 1_500 }, (_, number) => new Error(String(number)))
    for (const [number, error] of thrown.entries()) {
      await a.getOrLoad(`k${number}`, () => Promise.reject(error)).catch(() => undefined)
    }
    const isSame = await Promise.all(thrown.map(async (error, number) => (await errorOf(a, `k${number}`)) === error))
    expect([isSame.indexOf(true), isSame.lastIndexOf(false)]).toEqual([500, 499])
  })
})

describe('a value that cannot be stored, where that is an error', () => {
  test('fails for all with VALUE_NOT_SERIALIZABLE (rule 5)', async () => {
    const { all } = fleet({ unstorable: 'throw' })
    const { source, answers } = await allLoading(all)
    await source.resolve(0, (() => 'a function') as never)
    expect(answers).toMatchObject(
      Array.from({ length: 3 }, () => ({ error: { code: 'VALUE_NOT_SERIALIZABLE', key: 'k' } })),
    )
    expect(source.runs).toHaveLength(1)
  })

  test('fails for all with VALUE_TOO_LARGE when it is larger than allowed (rule 5)', async () => {
    const { a, b } = fleet({ maxValueSize: 10, unstorable: 'throw' })
    const { source, answers } = await allLoading([a, b])
    await source.resolve(0, '12345678+')
    expect(answers).toMatchObject([
      { error: { code: 'VALUE_TOO_LARGE', message: expect.stringContaining('11 bytes, more than the 10') } },
      { error: { code: 'VALUE_TOO_LARGE' } },
    ])
    expect(await a.getOrLoad('just right', () => '12345678')).toBe('12345678')
    await expect(a.set('k', Symbol('s'))).rejects.toMatchObject({ code: 'VALUE_NOT_SERIALIZABLE', key: 'k' })
  })

  test('leaves its key free, and is no value of it: that which was there before stays', async () => {
    const { a, b } = fleet({ failureCooldown: 0, unstorable: 'throw' })
    const large = 'x'.repeat(2 ** 24)
    const error = {
      code: 'VALUE_TOO_LARGE',
      key: 'k',
      message: 'The value of "k" has 16777218 bytes, more than the 16777216 that `maxValueSize` allows',
    }
    await expect(a.getOrLoad('k', () => large)).rejects.toMatchObject(error)
    expect(await b.getOrLoad('k', () => 'small')).toBe('small')
    await expect(a.set('k', large)).rejects.toMatchObject(error)
    expect(await b.peek('k')).toMatchObject({ state: 'fresh', value: 'small' })
  })
})

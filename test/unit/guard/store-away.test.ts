import { describe, expect, test } from 'vitest'
import { settled } from '../../support/fake-clock.ts'
import { allAsked, answerOf, answersOf, asked, pending, valued } from '../support/answer.ts'
import { fleet } from '../support/fleet.ts'
import { allLoading, loading } from '../support/source.ts'
import type { CacheError, CacheOptions } from '../../../src/index.ts'

const unavailable = { state: 'error', error: { code: 'STORE_UNAVAILABLE', key: 'k' } }

/** A fleet of which `a` has lost its store, and has noticed. */
async function away(options: CacheOptions = {}) {
  const all = fleet(options)
  all.ways.a.mode = 'silent'
  answerOf(all.a.peek('k'))
  await all.clock.advance(500)
  return all
}

describe('when the store does not answer', () => {
  test('callers load without it once its deadline is over, together in each process (rule 12)', async () => {
    const { a, b, clock, ways, source } = fleet()
    ways.a.mode = ways.b.mode = 'silent'
    const answers = answersOf(
      [a, b].flatMap((cache) => Array.from({ length: 20 }, () => cache.getOrLoad('k', source.loader))),
    )
    await clock.advance(499)
    expect(source.runs).toHaveLength(0)
    await clock.advance(1)
    expect(source.runs).toHaveLength(2)
    expect(source.runs.map(({ context }) => context.fence)).toEqual([null, null])
    source.run(0).resolve('v')
    await source.resolve(1, 'v')
    expect(answers).toEqual(Array.from({ length: 40 }, () => valued('v')))
  })

  test('without a bridge nothing is kept beyond the callers who asked in time, and the deadline is paid once (rule 12)', async () => {
    const { a, source } = await away({ bridge: 0 })
    for (let round = 0; round < 3; round++) {
      const answer = await asked(a.getOrLoad('k', source.loader))
      await source.resolve(round, `value ${round}`)
      expect(answer).toEqual({ state: 'value', value: `value ${round}` })
    }
  })

  test("callers who would rather know are told STORE_UNAVAILABLE with `onStoreFailure: 'throw'` (rule 12)", async () => {
    const { a, source, clock, ways } = await away({ onStoreFailure: 'throw' })
    expect(await asked(a.getOrLoad('k', source.loader))).toMatchObject(unavailable)
    ways.a.mode = 'failing'
    await clock.advance(250)
    expect(source.runs).toHaveLength(0)
  })

  test('an invalidation, a set and a peek reject, so that none is lost in silence (rule 12)', async () => {
    const { a } = await away()
    const answers = await allAsked<unknown>([a.invalidate('k'), a.set('k', 'v'), a.peek('k')])
    expect(answers.slice(0, 2)).toMatchObject([unavailable, unavailable])
    expect(answers[2]).toMatchObject({ state: 'error', error: { code: 'STORE_UNAVAILABLE' } })
  })

  test('a load that fails is an error like any other, and is tried again at once', async () => {
    const { a } = await away()
    await expect(a.getOrLoad('k', () => Promise.reject(new Error('down')))).rejects.toThrow('down')
    expect(await a.getOrLoad('k', () => 'v')).toBe('v')
  })

  test('a load has its hard timeout, and a caller its wait timeout (rule 8)', async () => {
    const { a, source, clock } = await away({ hardTimeout: '2s' })
    const answers = [
      answerOf(a.getOrLoad('k', source.loader)),
      answerOf(a.getOrLoad('k', source.loader, { waitTimeout: 100 })),
    ]
    await clock.advance(2_000)
    expect(answers).toMatchObject([{ error: { code: 'LOAD_TIMEOUT' } }, { error: { code: 'WAIT_TIMEOUT' } }])
    expect(source.run(0).context.signal.reason).toMatchObject({ code: 'LOAD_TIMEOUT' })
  })

  test('a stale value that was read before is served rather than an error (rule 5)', async () => {
    const { a, clock, ways } = fleet({ ttl: '1s', grace: '1m', softTimeout: '5s' })
    await a.getOrLoad('k', () => 'old')
    await clock.advance(2_000)
    const letGo = ways.a.hold('claim', 'before')
    const answer = answerOf(a.getOrLoad('k', () => Promise.reject(new Error('down'))))
    await clock.advance(1_000)
    letGo()
    await clock.advance(4_000)
    expect(answer).toEqual(valued('old'))
  })
})

describe('when the store goes away while a load is under way', () => {
  test('its callers are answered once the deadline of the fill is over (rule 12)', async () => {
    const { a, ways, clock } = fleet()
    const { source, answers } = await allLoading([a, a])
    ways.a.mode = 'silent'
    source.run(0).resolve('v')
    await clock.advance(500)
    expect(answers).toEqual([valued('v'), valued('v')])
    expect(source.runs).toHaveLength(1)
  })

  test('those who came while it ran do not get its value, for it may have been invalidated (rule 4)', async () => {
    const { a, ways, clock } = fleet()
    const { source } = await loading(a)
    const after = await asked(a.getOrLoad('k', source.loader))
    ways.a.mode = 'silent'
    source.run(0).resolve('perhaps old')
    await clock.advance(500)
    expect(after).toEqual(pending)
    await source.resolve(1, 'new')
    expect(after).toEqual(valued('new'))
  })

  test('those who came while it ran do not get its error, for the source may be well again (rule 4)', async () => {
    const { a, ways, clock } = fleet()
    const { source, answer } = await loading(a)
    const after = await asked(a.getOrLoad('k', source.loader))
    ways.a.mode = 'silent'
    source.run(0).reject(new Error('down'))
    await clock.advance(500)
    expect([answer, after]).toEqual([{ state: 'error', error: new Error('down') }, pending])
    await source.resolve(1, 'new')
    expect(after).toEqual(valued('new'))
  })

  test('its callers are told with `throw`, for nobody knows whether the value was stored', async () => {
    const { a, ways, clock } = fleet({ onStoreFailure: 'throw' })
    const { source, answer } = await loading(a)
    ways.a.mode = 'silent'
    source.run(0).resolve('v')
    await clock.advance(500)
    expect(answer).toMatchObject(unavailable)
  })

  test('a load longer than its lease still answers those who asked before it began (rule 12)', async () => {
    const { a, ways, clock } = fleet({ leaseTtl: '2s' })
    const { source, answer } = await loading(a)
    ways.a.mode = 'silent'
    await clock.advance(5_000)
    expect(source.run(0).context.signal.reason).toMatchObject({ code: 'LEASE_LOST' })
    expect(source.runs).toHaveLength(1)
    await source.resolve(0, 'v')
    expect(answer).toEqual(valued('v'))
  })

  test('those who came while it ran get no value of such a load either, for it may have been invalidated (rule 4)', async () => {
    const { a, ways, clock } = fleet({ leaseTtl: '2s' })
    const { source } = await loading(a)
    const after = await asked(a.getOrLoad('k', source.loader))
    ways.a.mode = 'silent'
    await clock.advance(5_000)
    await source.resolve(0, 'perhaps old')
    expect(after).toEqual(pending)
    await source.resolve(1, 'new')
    expect(after).toEqual(valued('new'))
  })

  test('callers who wait for another process load for themselves (rule 12)', async () => {
    const { a, b, ways, clock } = fleet()
    const { source } = await loading(a)
    const answer = await asked(b.getOrLoad('k', source.loader))
    ways.b.mode = 'silent'
    await clock.advance(1_000)
    expect(source.runs).toHaveLength(2)
    await source.resolve(1, 'v')
    expect(answer).toEqual(valued('v'))
  })
})

describe('when the store refuses', () => {
  test('callers load without it at once (rule 12)', async () => {
    const { a, ways, clock } = fleet()
    ways.a.mode = 'failing'
    const { source, answers } = await allLoading([a, a])
    expect(source.runs).toHaveLength(1)
    await source.resolve(0, 'v')
    expect(answers).toEqual([valued('v'), valued('v')])
    expect(clock.now()).toBe(1_000)
  })

  test('the error says why, and of the store only what is safe to say', async () => {
    const { a, ways } = fleet({ onStoreFailure: 'throw' })
    ways.a.mode = 'failing'
    const error: unknown = await a.getOrLoad('k', () => 'v').catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      key: 'k',
      message: 'The store failed: connect ECONNREFUSED',
    })
    expect((error as CacheError).cause).toMatchObject({ message: 'connect ECONNREFUSED', code: 'ECONNREFUSED' })
  })

  test('a refused claim after a read that was answered is no hindrance either (rule 12)', async () => {
    const { a, ways } = fleet()
    const letGo = ways.a.hold('read', 'after')
    const { source, answer } = await loading(a)
    ways.a.mode = 'failing'
    letGo()
    await settled()
    await source.resolve(0, 'v')
    expect(answer).toEqual(valued('v'))
  })
})

import { describe, expect, test } from 'vitest'
import { settled } from '../../support/fake-clock.ts'
import { answerOf, answersOf } from '../support/answer.ts'
import { fleet } from '../support/fleet.ts'
import { Source } from '../support/source.ts'
import type { CacheError, CacheOptions } from '../../../src/index.ts'

const unavailable = { state: 'error', error: { code: 'STORE_UNAVAILABLE', key: 'k' } }

/** A fleet of which `a` has lost its store, and has noticed. */
async function away(options: CacheOptions = {}) {
  const all = fleet(options)
  all.ways.a.mode = 'silent'
  answerOf(all.a.peek('k'))
  await all.clock.advance(500)
  return { ...all, source: new Source<string>() }
}

describe('when the store does not answer', () => {
  test('callers load without it once its deadline is over, together in each process (rule 12)', async () => {
    const { a, b, clock, ways } = fleet()
    ways.a.mode = ways.b.mode = 'silent'
    const source = new Source<string>()
    const answers = answersOf(
      [a, b].flatMap((cache) => Array.from({ length: 20 }, () => cache.getOrLoad('k', source.loader))),
    )
    await clock.advance(499)
    expect(source.runs).toHaveLength(0)
    await clock.advance(1)
    expect(source.runs).toHaveLength(2)
    expect(source.runs.map(({ context }) => context.fence)).toEqual([null, null])
    source.run(0).resolve('v')
    source.run(1).resolve('v')
    await settled()
    expect(answers).toEqual(Array.from({ length: 40 }, () => ({ state: 'value', value: 'v' })))
  })

  test('the deadline is paid once, and not by each call (rule 12)', async () => {
    const { a, source } = await away()
    const answer = answerOf(a.getOrLoad('k', source.loader))
    await settled()
    expect(source.runs).toHaveLength(1)
    source.run(0).resolve('v')
    await settled()
    expect(answer).toEqual({ state: 'value', value: 'v' })
  })

  test('nothing is kept beyond the callers who asked in time (rule 12)', async () => {
    const { a, source } = await away()
    for (let round = 0; round < 3; round++) {
      const answer = answerOf(a.getOrLoad('k', source.loader))
      await settled()
      source.run(round).resolve(`value ${round}`)
      await settled()
      expect(answer).toEqual({ state: 'value', value: `value ${round}` })
    }
  })

  test('no caller joins a load that began before it asked (rule 4, rule 12)', async () => {
    const { a, source } = await away()
    const before = answerOf(a.getOrLoad('k', source.loader))
    await settled()
    const after = answerOf(a.getOrLoad('k', source.loader))
    await settled()
    source.run(0).resolve('old')
    await settled()
    expect([before, after]).toEqual([{ state: 'value', value: 'old' }, { state: 'pending' }])
    source.run(1).resolve('new')
    await settled()
    expect(after).toEqual({ state: 'value', value: 'new' })
  })

  test('a hung load holds up those behind it by no more than the command deadline', async () => {
    const { a, source, clock } = await away()
    answerOf(a.getOrLoad('k', source.loader))
    await settled()
    const second = answerOf(a.getOrLoad('k', source.loader))
    await clock.advance(500)
    source.run(1).resolve('v')
    await settled()
    expect(second).toEqual({ state: 'value', value: 'v' })
  })

  test('only so many loads run at once, and the others queue (rule 12)', async () => {
    const { a, source } = await away({ maxConcurrentLoads: 3 })
    const answers = answersOf(Array.from({ length: 10 }, (_, index) => a.getOrLoad(`k${index}`, source.loader)))
    for (let done = 0; done < 10; done++) {
      await settled()
      expect(source.runs).toHaveLength(Math.min(10, done + 3))
      source.run(done).resolve('v')
    }
    await settled()
    expect(answers).toEqual(Array.from({ length: 10 }, () => ({ state: 'value', value: 'v' })))
  })

  test("callers who would rather know are told STORE_UNAVAILABLE with `onStoreFailure: 'throw'` (rule 12)", async () => {
    const { a, source, clock, ways } = await away({ onStoreFailure: 'throw' })
    const answer = answerOf(a.getOrLoad('k', source.loader))
    await settled()
    expect(answer).toMatchObject(unavailable)
    ways.a.mode = 'failing'
    await clock.advance(250)
    expect(source.runs).toHaveLength(0)
  })

  test('an invalidation, a set and a peek reject, so that none is lost in silence (rule 12)', async () => {
    const { a } = await away()
    const answers = [answerOf(a.invalidate('k')), answerOf(a.set('k', 'v')), answerOf(a.peek('k'))]
    await settled()
    expect(answers.slice(0, 2)).toMatchObject([unavailable, unavailable])
    expect(answers[2]).toMatchObject({ state: 'error', error: { code: 'STORE_UNAVAILABLE' } })
  })

  test('callers after an invalidation get no load of this process that began before, though it rejected (rule 4)', async () => {
    const { a, source } = await away()
    answerOf(a.getOrLoad('k', source.loader))
    await settled()
    await expect(a.invalidate('k')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    const after = answerOf(a.getOrLoad('k', source.loader))
    await settled()
    source.run(0).resolve('old')
    await settled()
    expect(after).toEqual({ state: 'pending' })
    source.run(1).resolve('new')
    await settled()
    expect(after).toEqual({ state: 'value', value: 'new' })
  })

  test('however often a key is invalidated, it has no more than two loads at once (rule 12)', async () => {
    const { a, source, clock } = await away()
    for (let round = 0; round < 5; round++) {
      answerOf(a.getOrLoad('k', source.loader))
      await clock.advance(600)
      await expect(a.invalidate('k')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    }
    expect(source.runs).toHaveLength(2)
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
    expect(answer).toEqual({ state: 'value', value: 'old' })
  })
})

describe('when the store goes away while a load is under way', () => {
  test('its callers are answered once the deadline of the fill is over (rule 12)', async () => {
    const { a, ways, clock } = fleet()
    const source = new Source<string>()
    const answers = answersOf([a.getOrLoad('k', source.loader), a.getOrLoad('k', source.loader)])
    await settled()
    ways.a.mode = 'silent'
    source.run(0).resolve('v')
    await clock.advance(500)
    expect(answers).toEqual([
      { state: 'value', value: 'v' },
      { state: 'value', value: 'v' },
    ])
    expect(source.runs).toHaveLength(1)
  })

  test('those who came while it ran do not get its value, for it may have been invalidated (rule 4)', async () => {
    const { a, ways, clock } = fleet()
    const source = new Source<string>()
    answerOf(a.getOrLoad('k', source.loader))
    await settled()
    const after = answerOf(a.getOrLoad('k', source.loader))
    await settled()
    ways.a.mode = 'silent'
    source.run(0).resolve('perhaps old')
    await clock.advance(500)
    expect(after).toEqual({ state: 'pending' })
    source.run(1).resolve('new')
    await settled()
    expect(after).toEqual({ state: 'value', value: 'new' })
  })

  test('its callers are told with `throw`, for nobody knows whether the value was stored', async () => {
    const { a, ways, clock } = fleet({ onStoreFailure: 'throw' })
    const source = new Source<string>()
    const answer = answerOf(a.getOrLoad('k', source.loader))
    await settled()
    ways.a.mode = 'silent'
    source.run(0).resolve('v')
    await clock.advance(500)
    expect(answer).toMatchObject(unavailable)
  })

  test('a load longer than its lease still answers those who asked before it began (rule 12)', async () => {
    const { a, ways, clock } = fleet({ leaseTtl: '2s' })
    const source = new Source<string>()
    const answer = answerOf(a.getOrLoad('k', source.loader))
    await settled()
    ways.a.mode = 'silent'
    await clock.advance(5_000)
    expect(source.run(0).context.signal.reason).toMatchObject({ code: 'LEASE_LOST' })
    expect(source.runs).toHaveLength(1)
    source.run(0).resolve('v')
    await settled()
    expect(answer).toEqual({ state: 'value', value: 'v' })
  })

  test('those who came while it ran get no value of such a load either, for it may have been invalidated (rule 4)', async () => {
    const { a, ways, clock } = fleet({ leaseTtl: '2s' })
    const source = new Source<string>()
    answerOf(a.getOrLoad('k', source.loader))
    await settled()
    const after = answerOf(a.getOrLoad('k', source.loader))
    await settled()
    ways.a.mode = 'silent'
    await clock.advance(5_000)
    source.run(0).resolve('perhaps old')
    await settled()
    expect(after).toEqual({ state: 'pending' })
    source.run(1).resolve('new')
    await settled()
    expect(after).toEqual({ state: 'value', value: 'new' })
  })

  test('callers who wait for another process load for themselves (rule 12)', async () => {
    const { a, b, ways, clock } = fleet()
    const source = new Source<string>()
    answerOf(a.getOrLoad('k', source.loader))
    await settled()
    const answer = answerOf(b.getOrLoad('k', source.loader))
    await settled()
    ways.b.mode = 'silent'
    await clock.advance(1_000)
    expect(source.runs).toHaveLength(2)
    source.run(1).resolve('v')
    await settled()
    expect(answer).toEqual({ state: 'value', value: 'v' })
  })
})

describe('when the store refuses', () => {
  test('callers load without it at once (rule 12)', async () => {
    const { a, ways, clock } = fleet()
    ways.a.mode = 'failing'
    const source = new Source<string>()
    const answers = answersOf([a.getOrLoad('k', source.loader), a.getOrLoad('k', source.loader)])
    await settled()
    expect(source.runs).toHaveLength(1)
    source.run(0).resolve('v')
    await settled()
    expect(answers).toEqual([
      { state: 'value', value: 'v' },
      { state: 'value', value: 'v' },
    ])
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
    const source = new Source<string>()
    const letGo = ways.a.hold('read', 'after')
    const answer = answerOf(a.getOrLoad('k', source.loader))
    await settled()
    ways.a.mode = 'failing'
    letGo()
    await settled()
    source.run(0).resolve('v')
    await settled()
    expect(answer).toEqual({ state: 'value', value: 'v' })
  })
})

describe('when the store is back', () => {
  test('it is used again within a quarter of a second, and says so (rule 12)', async () => {
    const { a, b, ways, clock } = await away()
    const heard: unknown[] = []
    a.on('recovered', (event) => heard.push(event))
    await clock.advance(1_000)
    expect(heard).toEqual([])
    ways.a.thaw()
    await clock.advance(250)
    expect(heard).toEqual([{ after: expect.any(Number) }])
    expect(await a.getOrLoad('k', () => 'v')).toBe('v')
    expect(await b.getOrLoad('k', () => 'wrong')).toBe('v')
  })

  test('a key whose lease was granted into the silence is free again', async () => {
    const { a, b, ways, clock } = fleet()
    const source = new Source<string>()
    const letGo = ways.a.hold('claim', 'after')
    answerOf(a.getOrLoad('k', source.loader))
    await clock.advance(600)
    letGo()
    await settled()
    const answer = answerOf(b.getOrLoad('k', () => 'v'))
    await settled()
    expect(answer).toEqual({ state: 'value', value: 'v' })
  })
})

import { describe, expect, test } from 'vitest'
import { allAsked, answerOf, answersOf, asked, pending, valued } from '../support/answer.ts'
import { fleet } from '../support/fleet.ts'
import { loading } from '../support/source.ts'
import type { CacheOptions } from '../../../src/index.ts'

/** A fleet with a value `old`, fresh for 10 s and then stale for 60 s, that has been stale for one second. */
async function stale(options: CacheOptions = {}) {
  const all = fleet({ ttl: '10s', grace: '60s', ...options })
  await all.a.getOrLoad('k', () => 'old')
  await all.clock.advance(11_000)
  return all
}

const old = valued('old')

describe('a stale value', () => {
  test('is served at once to all, while one of them refreshes it', async () => {
    const { a, all, source } = await stale()
    const answers = await allAsked(
      all.flatMap((cache) => Array.from({ length: 5 }, () => cache.getOrLoad('k', source.loader))),
    )
    expect(answers).toEqual(Array.from({ length: 15 }, () => old))
    expect(source.runs).toHaveLength(1)
    expect(source.run(0).context.stale).toMatchObject({ value: 'old', age: 11_000 })
    await source.resolve(0, 'new')
    expect(await a.getOrLoad('k', source.loader)).toBe('new')
    expect(source.runs).toHaveLength(1)
  })

  test('is served for no longer than its loader has said', async () => {
    const { a, b, clock } = fleet({ ttl: '10s', grace: '60s' })
    await a.getOrLoad('k', ({ grace }) => (grace('5s'), 'old'))
    await a.getOrLoad('never', ({ grace }) => (grace(0), 'old'))
    await clock.advance(14_999)
    expect(await b.peek('k')).toMatchObject({ state: 'stale' })
    expect(await b.peek('never')).toEqual({ state: 'missing' })
    await clock.advance(1)
    expect(await b.getOrLoad('k', () => 'new')).toBe('new')
    expect(await asked(a.getOrLoad('bad', ({ grace }) => grace(-1)))).toMatchObject({
      error: expect.any(TypeError) as unknown,
    })
  })

  test('is served until its grace ends, and then waited for', async () => {
    const { a, b, source, clock } = await stale({ hardTimeout: '5m' })
    answerOf(a.getOrLoad('k', source.loader))
    await clock.advance(58_999)
    expect(await asked(b.getOrLoad('k', source.loader))).toEqual(old)
    await clock.advance(1)
    const waiting = await allAsked([a.getOrLoad('k', source.loader), b.getOrLoad('k', source.loader)])
    expect(waiting).toEqual([pending, pending])
    await source.resolve(0, 'new')
    expect(waiting).toEqual([valued('new'), valued('new')])
    expect(source.runs).toHaveLength(1)
  })

  test('is served instead of an error while the source rests, without asking it, nor the store who may refresh it (rule 5)', async () => {
    const { a, b, ways, source, clock } = await stale({ failureCooldown: '5s' })
    await asked(a.getOrLoad('k', source.loader))
    await source.reject(0, new Error('down'))
    const claims = ways.a.count('claim')
    for (let second = 0; second < 4; second++) {
      expect(await allAsked([a.getOrLoad('k', source.loader), b.getOrLoad('k', source.loader)])).toEqual([old, old])
      await clock.advance(1_000)
    }
    expect([source.runs.length, ways.a.count('claim')]).toEqual([1, claims])
    await clock.advance(1_000)
    expect(await asked(a.getOrLoad('k', source.loader))).toEqual(old)
    expect(source.runs).toHaveLength(2)
  })

  test('that is gone with an invalidation is served to nobody (rule 4)', async () => {
    const { a, b, source } = await stale()
    await b.invalidate('k')
    expect(await asked(a.getOrLoad('k', source.loader))).toEqual(pending)
    expect(source.run(0).context.stale).toBeNull()
  })

  test('is refreshed by another process when the one that refreshes it dies (rule 10)', async () => {
    const { a, b, ways, source, clock } = await stale({ leaseTtl: '2s', hardTimeout: '10s' })
    await asked(a.getOrLoad('k', source.loader))
    ways.a.mode = 'silent'
    await clock.advance(2_100)
    expect(await asked(b.getOrLoad('k', source.loader))).toEqual(old)
    expect(source.runs).toHaveLength(2)
  })
})

describe('the soft timeout', () => {
  test('is how long a caller waits for the fresh value before it takes the stale one', async () => {
    const { a, b, source, clock } = await stale({ softTimeout: 200 })
    const answers = answersOf([a.getOrLoad('k', source.loader), b.getOrLoad('k', source.loader)])
    await clock.advance(199)
    expect(answers).toEqual([pending, pending])
    await clock.advance(1)
    expect(answers).toEqual([old, old])
    await source.resolve(0, 'new')
    expect(await b.getOrLoad('k', source.loader)).toBe('new')
    expect(source.runs).toHaveLength(1)
  })

  test('does not keep the fresh value from those it comes to in time', async () => {
    const { a, b, source, clock } = await stale({ softTimeout: 200 })
    const answers = answersOf([a.getOrLoad('k', source.loader), b.getOrLoad('k', source.loader)])
    await clock.advance(199)
    await source.resolve(0, 'new')
    expect(answers).toEqual([valued('new'), valued('new')])
  })

  test('does nothing for a caller that has no stale value', async () => {
    const { a, clock } = fleet({ softTimeout: 200, grace: '60s' })
    const { source, answer } = await loading(a)
    await clock.advance(10_000)
    expect(answer).toEqual(pending)
    await source.resolve(0, 'v')
    expect(answer).toEqual(valued('v'))
  })

  test('lets the stale value be served instead of the error of a load that fails before (rule 5)', async () => {
    const { a, b, source } = await stale({ softTimeout: '10s' })
    const answers = await allAsked([a.getOrLoad('k', source.loader), b.getOrLoad('k', source.loader)])
    await source.reject(0, new Error('down'))
    expect(answers).toEqual([old, old])
  })

  test('does not serve a value whose grace has ended while it was waited for (rule 5)', async () => {
    const { a, source, clock } = await stale({ softTimeout: '2m', hardTimeout: '5m' })
    const answer = answerOf(a.getOrLoad('k', source.loader))
    await clock.advance(59_001)
    await source.reject(0, new Error('down'))
    expect(answer).toMatchObject({ state: 'error', error: { message: 'down' } })
  })

  test('does not end the wait of a caller whose stale value has expired before', async () => {
    const { a, source, clock } = await stale({ softTimeout: '2m', waitTimeout: '4m', hardTimeout: '5m' })
    const answer = answerOf(a.getOrLoad('k', source.loader))
    await clock.advance(239_999)
    expect(answer).toEqual(pending)
    await clock.advance(1)
    expect(answer).toMatchObject({ error: { code: 'WAIT_TIMEOUT' } })
  })

  test('serves the stale value when the wait timeout of the caller ends first', async () => {
    const { a, source, clock } = await stale({ softTimeout: '10s', waitTimeout: 300 })
    const answer = answerOf(a.getOrLoad('k', source.loader))
    await clock.advance(300)
    expect(answer).toEqual(old)
  })
})

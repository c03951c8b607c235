import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, expect, test } from 'vitest'
import { settled } from '../../support/fake-clock.ts'
import { answerOf, pending, valued } from '../support/answer.ts'
import { fleet, told } from '../support/fleet.ts'
import { allLoading, loading, Source } from '../support/source.ts'

const value = valued('v')

describe('callers that follow the call of another caller', () => {
  test('are each a miss, a waiter and an answer', async () => {
    const { a, clock } = fleet()
    const [misses, given] = [told(a, 'miss'), told(a, 'answer')]
    const { source, answers } = await allLoading([a, a])
    await clock.advance(100)
    answers.push(answerOf(a.getOrLoad('k', source.loader)), answerOf(a.getOrLoad('k', source.loader)))
    await settled()
    expect(misses).toEqual(Array(4).fill({ key: 'k' }))
    expect((await a.explain('k')).here.callers).toBe(4)
    await clock.advance(200)
    await source.resolve(0, 'v')
    expect(answers).toEqual([value, value, value, value])
    const took = (duration: number): object => ({ key: 'k', duration })
    expect(given.toSorted((x, y) => x.duration - y.duration)).toEqual([200, 200, 300, 300].map(took))
    expect(a.stats()).toMatchObject({ misses: 4, loads: 1, hits: 0 })
    expect((await a.explain('k')).here.callers).toBe(0)
  })

  test('wait as one if they ask in one tick, but for those with other options', async () => {
    const { a, clock, source } = fleet()
    const misses = told(a, 'miss')
    const ask = (options = {}) => answerOf(a.getOrLoad('k', source.loader, options))
    const patient = Array.from({ length: 4 }, () => ask())
    const others = Array.from({ length: 3 }, () => ask({ waitTimeout: 6_400 }))
    await settled()
    expect(misses).toHaveLength(7)
    expect((await a.explain('k')).here.callers).toBe(7)
    await clock.advance(6_401)
    expect(others).toEqual(
      Array(3).fill(expect.objectContaining({ error: expect.objectContaining({ code: 'WAIT_TIMEOUT' }) })),
    )
    expect(patient).toEqual(Array(4).fill(pending))
    expect((await a.explain('k')).here.callers).toBe(4)
    await source.resolve(0, 'v')
    expect(patient).toEqual(Array(4).fill(value))
    expect(source.runs).toHaveLength(1)
  })

  test('are each a hit when the read of their tick finds a value', async () => {
    const { a, b } = fleet()
    await b.set('k', 'v')
    const hits = told(a, 'hit')
    const answers = await Promise.all(Array.from({ length: 3 }, () => a.getOrLoad('k', new Source<string>().loader)))
    expect(answers).toEqual(['v', 'v', 'v'])
    expect(hits).toEqual(Array(3).fill({ key: 'k' }))
    expect(a.stats()).toMatchObject({ hits: 3, misses: 0 })
  })

  test('are each served stale when the read of their tick finds a stale value', async () => {
    const { a, b, clock, source } = fleet({ ttl: 100, grace: 1_000 })
    await b.set('k', 'v')
    await clock.advance(500)
    const answers = await Promise.all(Array.from({ length: 3 }, () => a.getOrLoad('k', source.loader)))
    expect(answers).toEqual(['v', 'v', 'v'])
    await settled()
    expect(a.stats()).toMatchObject({ stale: 3, misses: 0 })
    expect(source.runs).toHaveLength(1)
  })

  test('have a timeout of their own', async () => {
    const { a, clock } = fleet({ waitTimeout: 6_400 })
    const { source, answer: leader } = await loading(a)
    await clock.advance(100)
    const follower = answerOf(a.getOrLoad('k', source.loader))
    await clock.advance(1)
    const later = answerOf(a.getOrLoad('k', source.loader))
    await clock.advance(6_298)
    expect([leader, follower, later]).toEqual([pending, pending, pending])
    await clock.advance(1)
    expect(leader).toMatchObject({ error: { code: 'WAIT_TIMEOUT', key: 'k' } })
    await clock.advance(99)
    expect([follower, later]).toEqual([pending, pending])
    await clock.advance(1)
    expect(follower).toMatchObject({ error: { code: 'WAIT_TIMEOUT', key: 'k' } })
    expect(later).toEqual(pending)
    await clock.advance(1)
    expect(later).toMatchObject({ error: { code: 'WAIT_TIMEOUT', key: 'k' } })
  })

  test('are answered although the caller that they follow has given up', async () => {
    const { a, clock } = fleet({ waitTimeout: 6_400 })
    const { source, answer: leader } = await loading(a)
    await clock.advance(100)
    const follower = answerOf(a.getOrLoad('k', source.loader))
    await clock.advance(6_350)
    expect(leader).toMatchObject({ error: { code: 'WAIT_TIMEOUT' } })
    await source.resolve(0, 'v')
    expect(follower).toEqual(value)
  })

  test('go on by themselves when the result is for one caller alone, each in its own asynchronous context', async () => {
    const { a } = fleet()
    const requests = new AsyncLocalStorage<number>()
    const seen: (number | undefined)[] = []
    const callers = [1, 2, 3].map((request) =>
      requests.run(request, () =>
        a.getOrLoad('k', async ({ doNotStore }) => {
          doNotStore()
          await Promise.resolve()
          seen.push(requests.getStore())
          return request
        }),
      ),
    )
    expect(await Promise.all(callers)).toEqual([1, 2, 3])
    expect(seen).toEqual([1, 2, 3])
  })

  test('are waited for by close()', async () => {
    const { a, clock } = fleet({ waitTimeout: 6_400 })
    const { source } = await loading(a)
    await clock.advance(100)
    const follower = answerOf(a.getOrLoad('k', source.loader))
    await clock.advance(6_310)
    const closing = answerOf(a.close())
    await source.resolve(0, 'v')
    expect([follower, closing]).toMatchObject([value, { state: 'value' }])
  })
})

test('a loader runs in the asynchronous context of the caller whose call it is', async () => {
  const { a } = fleet()
  const requests = new AsyncLocalStorage<string>()
  const load = (): Promise<string | undefined> => a.getOrLoad('k', () => requests.getStore())
  const other = requests.run('other', () => a.getOrLoad('l', () => requests.getStore()))
  expect(await requests.run('mine', load)).toBe('mine')
  expect(await other).toBe('other')
})

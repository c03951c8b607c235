import { describe, expect, test } from 'vitest'
import { createCache } from '../../../src/index.ts'
import { settled } from '../../support/fake-clock.ts'
import { answerOf, answersOf, asked } from '../support/answer.ts'
import { fleet } from '../support/fleet.ts'
import { allLoading, Source, throwing } from '../support/source.ts'

describe('stats', () => {
  test('of a cache that was just opened are zeros, and nothing where there is nothing to divide by', () => {
    expect(createCache({ namespace: 'shop' }).stats()).toEqual({
      namespace: 'shop',
      mode: 'cache',
      hits: 0,
      nearHits: 0,
      stale: 0,
      misses: 0,
      loads: 0,
      waits: 0,
      failures: 0,
      garbage: 0,
      hitRatio: null,
      loadsSaved: 0,
      secondsSaved: null,
    })
  })

  test('count each call once, and what the loads took that were spared, while nobody listens', async () => {
    const { a, b, clock } = fleet()
    const { source } = await allLoading([a, a, a])
    answersOf([b.getOrLoad('k', source.loader), b.getOrLoad('k', source.loader)])
    await clock.advance(2_000)
    await source.resolve(0, 'v')
    for (let hit = 0; hit < 7; hit++) await a.getOrLoad('k', source.loader)
    expect(a.stats()).toMatchObject({ hits: 7, misses: 3, loads: 1, waits: 0, hitRatio: 0.7, loadsSaved: 9 })
    expect(a.stats().secondsSaved).toBe(18)
    expect(b.stats()).toMatchObject({ hits: 0, misses: 2, loads: 0, waits: 1, hitRatio: 0, loadsSaved: 2 })
    expect(b.stats().secondsSaved).toBe(null)
  })

  test('take the mean of several loads', async () => {
    const { a, clock } = fleet()
    for (const [index, took] of [100, 300].entries()) {
      const source = new Source<string>()
      answerOf(a.getOrLoad(`k${index}`, source.loader))
      await clock.advance(took)
      await source.resolve(0, 'v')
    }
    for (let hit = 0; hit < 5; hit++) await a.getOrLoad('k0', () => 'v')
    expect(a.stats()).toMatchObject({ loadsSaved: 5, secondsSaved: 1 })
  })

  test('count a hit with a signal, which takes another way, like any other', async () => {
    const { a } = fleet()
    await a.set('k', 'v')
    await a.getOrLoad('k', () => 'w', { signal: new AbortController().signal })
    await a.getOrLoad('k', () => 'w')
    expect(a.stats()).toMatchObject({ hits: 2, misses: 0, hitRatio: 1, loads: 0, loadsSaved: 2 })
  })

  test('count a stale value that is served at once, and its refresh as a load', async () => {
    const { a, clock } = fleet({ ttl: '1s', grace: '1m' })
    await a.set('k', 'v')
    await clock.advance(2_000)
    await a.getOrLoad('k', () => 'w')
    await settled()
    expect(a.stats()).toMatchObject({ hits: 0, stale: 1, misses: 0, hitRatio: 1, loads: 1, loadsSaved: 0 })
  })

  test('count a caller that waits for a fresh value before it is served the stale one as a miss alone', async () => {
    const { a, clock } = fleet({ ttl: '1s', grace: '1m', softTimeout: '100ms' })
    await a.set('k', 'v')
    await clock.advance(2_000)
    const answer = answerOf(a.getOrLoad('k', new Source<string>().loader))
    await clock.advance(200)
    expect(answer).toMatchObject({ value: 'v' })
    expect(a.stats()).toMatchObject({ stale: 0, misses: 1, hitRatio: 0 })
  })

  test('count failures, and save nothing by loads that were made twice', async () => {
    const { a } = fleet({ failureCooldown: 0 })
    await asked(a.getOrLoad('k', throwing(new Error('down'))))
    expect(a.stats()).toMatchObject({ misses: 1, loads: 1, failures: 1, loadsSaved: 0, secondsSaved: null })
  })
})

test('the figures are rounded: a ratio to four digits, a time to the millisecond', async () => {
  const { a, clock } = fleet({ ttl: '1h' })
  const slow = async (): Promise<number> => {
    await new Promise<void>((resolve) => clock.after(1_000 / 3, resolve))
    return 1
  }
  const first = a.getOrLoad('k', slow)
  await clock.advance(1_000)
  await first
  await a.getOrLoad('k', slow)
  await a.getOrLoad('k', slow)
  const { hitRatio, secondsSaved } = a.stats()
  expect(hitRatio).toBe(0.6667)
  expect(secondsSaved).toBe(Number(secondsSaved?.toFixed(3)))
})

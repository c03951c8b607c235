import { describe, expect, test } from 'vitest'
import type { CacheOptions } from '../../../src/index.ts'
import { settled } from '../../support/fake-clock.ts'
import { allAsked, answerOf, asked, valued } from '../support/answer.ts'
import { fleet } from '../support/fleet.ts'
import { loading, Source } from '../support/source.ts'

/** A fleet with a value `old` that is fresh for 10 s and took a second to load. */
async function fresh(options: CacheOptions = {}) {
  const all = fleet({ ttl: '10s', ...options })
  const source = new Source<string>()
  const first = answerOf(all.a.getOrLoad('k', source.loader))
  await all.clock.advance(1_000)
  await source.resolve(0, 'old')
  expect(first).toEqual(valued('old'))
  return { ...all, source }
}

describe('refresh', () => {
  test('loads anew once in the fleet, while whoever asks is served what is there', async () => {
    const { all, b, c, source } = await fresh()
    const refreshing = await allAsked(all.map((cache) => cache.refresh('k', source.loader)))
    expect(source.runs).toHaveLength(2)
    expect(await b.getOrLoad('k', source.loader)).toBe('old')
    expect(await c.peek('k')).toMatchObject({ state: 'fresh', value: 'old' })
    await source.resolve(1, 'new')
    expect(refreshing).toEqual(all.map(() => valued('new')))
    expect(await c.getOrLoad('k', source.loader)).toBe('new')
    expect(source.runs).toHaveLength(2)
  })

  test('loads what is not there', async () => {
    const { a } = fleet()
    expect(await a.refresh('k', () => 'v')).toBe('v')
    expect(await a.peek('k')).toMatchObject({ state: 'fresh', value: 'v' })
  })

  test('shows the loader what it replaces, fresh or stale', async () => {
    const { b, clock, source } = await fresh({ grace: '1m' })
    await asked(b.refresh('k', source.loader))
    expect(source.run(1).context.stale).toEqual({ value: 'old', age: 0 })
    source.run(1).resolve('newer')
    await clock.advance(11_000)
    await asked(b.refresh('k', source.loader))
    expect(source.run(2).context.stale).toEqual({ value: 'newer', age: 11_000 })
  })

  test('rejects when the load fails, and what is there stays', async () => {
    const { b, c, source } = await fresh()
    const refreshing = await asked(b.refresh('k', source.loader))
    await source.reject(1, new Error('no'))
    expect(refreshing).toMatchObject({ state: 'error', error: { message: 'no' } })
    expect(await c.getOrLoad('k', source.loader)).toBe('old')
  })

  test('does not write over an invalidation that came meanwhile', async () => {
    const { a, b, source } = await fresh()
    const refreshing = await asked(b.refresh('k', source.loader))
    await a.invalidate('k')
    await source.resolve(1, 'too old')
    expect(source.runs).toHaveLength(3)
    await source.resolve(2, 'new')
    expect(refreshing).toEqual(valued('new'))
    expect(await a.peek('k')).toMatchObject({ value: 'new' })
  })

  test('is not content with a value that somebody else here is about to find', async () => {
    const { a, b, ways } = fleet()
    // Its read finds nothing; by the time that it claims, there is a value.
    const go = ways.b.hold('read', 'after')
    const { source, answer: asking } = await loading(b)
    await a.set('k', 'old')
    const refreshing = await asked(b.refresh('k', source.loader))
    go()
    await settled()
    expect(asking).toEqual(valued('old'))
    expect(source.runs).toHaveLength(1)
    await source.resolve(0, 'new')
    expect(refreshing).toEqual(valued('new'))
  })
})

describe('refresh-ahead', () => {
  test('by threshold: after that part of its ttl a hit is served at once, and one in the fleet refreshes it', async () => {
    const { all, b, clock, source } = await fresh({ refreshAhead: 0.8 })
    await clock.advance(7_999)
    expect(await b.getOrLoad('k', source.loader)).toBe('old')
    await settled()
    expect(source.runs).toHaveLength(1)
    await clock.advance(1)
    expect(await Promise.all(all.map((cache) => cache.getOrLoad('k', source.loader)))).toEqual(['old', 'old', 'old'])
    await settled()
    expect(source.runs).toHaveLength(2)
    expect(source.run(1).context.stale).toEqual({ value: 'old', age: 8_000 })
    // While it runs there is no second one, and nobody waits.
    expect(await b.getOrLoad('k', source.loader)).toBe('old')
    await source.resolve(1, 'new')
    expect(await Promise.all(all.map((cache) => cache.getOrLoad('k', source.loader)))).toEqual(['new', 'new', 'new'])
    expect(source.runs).toHaveLength(2)
  })

  test('is done for a call with a signal, too', async () => {
    const { b, clock, source } = await fresh({ refreshAhead: 0.5 })
    await clock.advance(5_000)
    expect(await b.getOrLoad('k', source.loader, { signal: new AbortController().signal })).toBe('old')
    await settled()
    expect(source.runs).toHaveLength(2)
  })

  test('that fails is tried once per cool-down in the fleet, and what is there is served until its ttl ends', async () => {
    const { all, clock, source } = await fresh({ refreshAhead: 0.5, failureCooldown: '2s' })
    await clock.advance(5_000)
    await Promise.all(all.map((cache) => cache.getOrLoad('k', source.loader)))
    await settled()
    await source.reject(1, new Error('no'))
    for (let half = 0; half < 3; half++) {
      expect(await Promise.all(all.map((cache) => cache.getOrLoad('k', source.loader)))).toEqual(['old', 'old', 'old'])
      await clock.advance(500)
    }
    expect(source.runs).toHaveLength(2)
    await clock.advance(500)
    await Promise.all(all.map((cache) => cache.getOrLoad('k', source.loader)))
    await settled()
    expect(source.runs).toHaveLength(3)
  })

  test('by XFetch: with many reads per load time nobody waits, and there is one load per expiry', async () => {
    const { a, clock } = fleet({ ttl: '10s', refreshAhead: 'xfetch' })
    let loads = 0
    let waits = 0
    const loader = async (): Promise<number> => {
      loads++
      await new Promise<void>((resolve) => void clock.after(1_000, resolve))
      return loads
    }
    const first = answerOf(a.getOrLoad('k', loader))
    await clock.advance(1_000)
    expect(first).toEqual(valued(1))
    // 50 reads in the second that a load takes, for 200 s.
    for (let read = 0; read < 10_000; read++) {
      const answer = await asked(a.getOrLoad('k', loader))
      if (answer.state !== 'value') waits++
      await clock.advance(20)
    }
    expect(waits).toBe(0)
    // Each lives for 10 s at most, and is replaced some seconds sooner.
    expect(loads).toBeGreaterThan(20)
    expect(loads).toBeLessThan(50)
  })
})

describe('what is not there', () => {
  test('is remembered for its own ttl', async () => {
    const { a, b, clock, source } = await fresh({ negativeTtl: { null: '2s', undefined: '1s' } })
    let loads = 0
    const ask = (key: string, value: null | undefined | 0): Promise<unknown> => b.getOrLoad(key, () => (loads++, value))
    await Promise.all([ask('null', null), ask('undefined', undefined), ask('0', 0)])
    expect(await a.peek('null')).toMatchObject({ value: null, ttl: 2_000 })
    expect(await a.peek('undefined')).toMatchObject({ value: undefined, ttl: 1_000 })
    expect(await a.peek('0')).toMatchObject({ value: 0, ttl: 10_000 })
    expect(loads).toBe(3)
    await clock.advance(1_000)
    await Promise.all([ask('null', null), ask('undefined', undefined), ask('0', 0)])
    expect(loads).toBe(4)
    expect(source.runs).toHaveLength(1)
  })

  test('is null where one ttl is given, and what the loader says comes first', async () => {
    const { a } = fleet({ ttl: '10s', negativeTtl: '2s' })
    await a.getOrLoad('null', () => null)
    await a.getOrLoad('undefined', () => undefined)
    await a.getOrLoad('said', ({ ttl }) => {
      ttl('5s')
      return null
    })
    await a.set('set', null)
    await a.set('set for', null, { ttl: '7s' })
    const ttls = await Promise.all(['null', 'undefined', 'said', 'set', 'set for'].map((key) => a.peek(key)))
    expect(ttls).toMatchObject([{ ttl: 2_000 }, { ttl: 10_000 }, { ttl: 5_000 }, { ttl: 2_000 }, { ttl: 7_000 }])
  })
})

test('jitter shortens each ttl by up to that part, loaded or set', async () => {
  const { a } = fleet({ ttl: '10s', jitter: 0.2 })
  const keys = Array.from({ length: 200 }, (_, index) => `k${index}`)
  await Promise.all(keys.map((key, index) => (index % 2 === 0 ? a.getOrLoad(key, () => 1) : a.set(key, 1))))
  const peeked = await Promise.all(keys.map((key) => a.peek(key)))
  const ttls = peeked.map((found) => (found.state === 'missing' ? Number.NaN : found.ttl))
  expect(Math.max(...ttls)).toBeLessThanOrEqual(10_000)
  expect(Math.min(...ttls)).toBeGreaterThanOrEqual(8_000)
  expect(Math.max(...ttls) - Math.min(...ttls)).toBeGreaterThan(1_000)
})

import { describe, expect, test } from 'vitest'
import type { Cache, CacheOptions } from '../../../src/index.ts'
import { settled } from '../../support/fake-clock.ts'
import { allAsked, asked, pending, valued } from '../support/answer.ts'
import { fleet, type Fleet } from '../support/fleet.ts'
import { allLoading, throwing } from '../support/source.ts'

/** The ways to invalidate softly, of a value with the key `p:k` and the tag `t`. */
const ways: readonly (readonly [name: string, soften: (cache: Cache, within?: '20s') => Promise<void>])[] = [
  ['expire', (cache, within) => cache.expire('p:k', { within })],
  ['invalidateTags', (cache, within) => cache.invalidateTags(['t'], { soft: true, within })],
  ['invalidatePrefix', (cache, within) => cache.invalidatePrefix('p:', { soft: true, within })],
  ['clear', (cache, within) => cache.clear({ soft: true, within })],
]

/** A fleet that has a value of a second ago, fresh for 10 s and then stale for 60 s. */
async function filled(options: CacheOptions = {}): Promise<Fleet> {
  const all = fleet({ ttl: '10s', grace: '60s', tags: ['t'], prefixes: ':', ...options })
  await all.a.getOrLoad('p:k', () => 'old')
  await all.clock.advance(1_000)
  return all
}

const old = valued('old')

describe.each(ways)('after a soft invalidation by %s', (_, soften) => {
  test('all are served the stale value while one of the fleet refreshes it', async () => {
    const { a, b, all, source } = await filled()
    await soften(b)
    for (const cache of all) expect(await cache.peek('p:k')).toMatchObject({ state: 'stale', value: 'old', ttl: 0 })
    const calls = all.flatMap((cache) => Array.from({ length: 5 }, () => cache.getOrLoad('p:k', source.loader)))
    expect(await allAsked(calls)).toEqual(Array.from({ length: 15 }, () => old))
    expect(source.runs).toHaveLength(1)
    expect(source.run(0).context.stale).toMatchObject({ value: 'old' })
    await source.resolve(0, 'new')
    for (const cache of all) expect(await cache.getOrLoad('p:k', source.loader)).toBe('new')
    expect(await a.peek('p:k')).toMatchObject({ state: 'fresh' })
    expect(source.runs).toHaveLength(1)
  })

  test.for([
    ['the grace counts from then', undefined, 60_000],
    ['a bound counts from then, before the grace is over', '20s', 20_000],
  ] as const)('%s, and no longer', async ([, within, served]) => {
    const { a, b, clock, source } = await filled()
    await soften(b, within)
    await clock.advance(served - 1)
    expect(await a.peek('p:k')).toMatchObject({ state: 'stale', value: 'old' })
    await clock.advance(1)
    expect(await a.peek('p:k')).toEqual({ state: 'missing' })
    const late = await asked(b.getOrLoad('p:k', source.loader))
    expect(late).toEqual(pending)
    await source.resolve(0, 'new')
    expect(late).toEqual(valued('new'))
  })

  test('a value without grace, or for a caller without one, is missing', async () => {
    const { a, b, source } = await filled()
    await soften(b)
    const strict = await asked(a.getOrLoad('p:k', source.loader, { grace: 0 }))
    expect(strict).toEqual(pending)
    await source.resolve(0, 'new')
    expect(strict).toEqual(valued('new'))
    const without = await filled({ grace: 0 })
    await soften(without.b)
    expect(await without.a.peek('p:k')).toEqual({ state: 'missing' })
  })

  test('a load that began before does not make it fresh, and none of those who ask afterwards is given it (rule 4)', async () => {
    const { a, b, c, source } = await filled()
    const before = await allAsked([a.refresh('p:k', source.loader), b.refresh('p:k', source.loader)])
    await soften(c)
    const after = await allAsked([a, b, c].map((cache) => cache.getOrLoad('p:k', source.loader, { grace: 0 })))
    await source.resolve(0, 'too old')
    expect(await c.peek('p:k')).toMatchObject({ state: 'stale', value: 'old' })
    expect([...before, ...after].every(({ state }) => state === 'pending')).toBe(true)
    await source.resolve(1, 'new')
    expect([...before, ...after]).toEqual(Array.from({ length: 5 }, () => valued('new')))
    expect(source.runs).toHaveLength(2)
  })

  test('a stale value is served in place of the error of the refresh', async () => {
    const { a, b, source } = await filled({ softTimeout: '1s' })
    await soften(b)
    const answer = await asked(a.getOrLoad('p:k', source.loader))
    expect(answer).toEqual(pending)
    await source.reject(0, new Error('down'))
    expect(answer).toEqual(old)
  })

  test('a remembered error is no answer any more', async () => {
    const { a, b } = fleet({ failureCooldown: '1m', tags: ['t'], prefixes: ':' })
    await expect(a.getOrLoad('p:k', throwing(new Error('down')))).rejects.toThrow('down')
    await expect(b.getOrLoad('p:k', () => 'there')).rejects.toThrow('down')
    await soften(a)
    expect(await b.getOrLoad('p:k', () => 'there')).toBe('there')
  })

  test('explain says so', async () => {
    const { a, b, clock } = await filled()
    await soften(b)
    await clock.advance(500)
    const { state, because } = await a.explain('p:k')
    expect(state).toBe('stale')
    expect(because[0]).toMatch(
      /^There is a value, but its ttl ended 500 ms ago(, by a soft invalidation of .*)?; it may be/,
    )
  })
})

test('a soft invalidation voids what a hard one would, for callers that wait without a value', async () => {
  const { a, b } = fleet({ grace: '1m' })
  const { source, answers: waiting } = await allLoading([a, b])
  await b.expire('k')
  await settled()
  expect(source.run(0).context.signal.aborted).toBe(true)
  await source.resolve(1, 'new')
  expect(waiting).toEqual([1, 2].map(() => valued('new')))
  expect(source.runs).toHaveLength(2)
})

test('near copies are dropped, and what takes their place is stale', async () => {
  for (const soften of [(by: Cache) => by.expire('k'), (by: Cache) => by.invalidateTags(['t'], { soft: true })]) {
    const { a, b, source } = fleet({ near: {}, grace: '1m' })
    await a.set('k', 'v', { tags: ['t'] })
    await b.getOrLoad('k', () => 'never')
    await b.getOrLoad('k', () => 'never')
    expect(b.stats().nearHits).toBe(1)
    await soften(a)
    expect(await b.getOrLoad('k', source.loader)).toBe('v')
    await settled()
    expect([b.stats().nearHits, b.stats().stale, source.runs.length]).toEqual([1, 1, 1])
  }
})

test('a wrapped function can be expired by its arguments', async () => {
  const { a, clock } = fleet({ ttl: '1m', grace: '1m' })
  let loads = 0
  const double = a.wrap(async (n: number) => (loads++, 2 * n), { key: 'double' })
  expect(await double(4)).toBe(8)
  await double.expire(4)
  expect(await double.peek(4)).toMatchObject({ state: 'stale', value: 8 })
  expect(await double(4)).toBe(8)
  await clock.advance(0)
  expect(loads).toBe(2)
})

test('the events say that an invalidation was soft', async () => {
  const { a } = fleet({ prefixes: ':' })
  const heard: unknown[] = []
  for (const name of ['invalidate', 'invalidateTags', 'invalidatePrefix'] as const) {
    a.on(name, (event) => heard.push(event))
  }
  for (const [, soften] of ways) await soften(a)
  await a.invalidateTags(['t'], { soft: false })
  await a.invalidatePrefix('p:')
  await a.clear()
  expect(heard).toEqual([
    { key: 'p:k', soft: true },
    { tags: ['t'], soft: true },
    { prefix: 'p:', soft: true },
    { prefix: '', soft: true },
    { tags: ['t'] },
    { prefix: 'p:' },
    { prefix: '' },
  ])
})

test('what is no option is a TypeError', async () => {
  const { a } = fleet({ prefixes: ':' })
  await expect(a.expire('')).rejects.toThrow(TypeError)
  await expect(a.invalidateTags(['t'], { soft: 1 } as never)).rejects.toThrow('Expected `soft` to be')
  await expect(a.invalidateTags(['t'], { sof: true } as never)).rejects.toThrow(
    'Unknown option `sof` of invalidateTags',
  )
  await expect(a.invalidateTags(['t'], { within: '1m' })).rejects.toThrow(
    'Expected `soft: true` beside `within` for invalidateTags',
  )
  await expect(a.invalidateTags(['t'], { soft: true, within: 0 })).rejects.toThrow('Expected')
  await expect(a.invalidatePrefix('p:', null as never)).rejects.toThrow('Expected the options of invalidatePrefix')
  await expect(a.clear({ hard: true } as never)).rejects.toThrow(TypeError)
})

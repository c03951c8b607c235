import { describe, expect, test } from 'vitest'
import { settled } from '../../support/fake-clock.ts'
import { allAsked, answerOf, answersOf, asked, valued } from '../support/answer.ts'
import { fleet, type Fleet } from '../support/fleet.ts'
import { loading, Source } from '../support/source.ts'

/** Loads keys once more, and voids all these loads, for which nobody waits any more by then. */
async function voided({ a, b }: Fleet, keys: readonly string[], begun: () => Promise<void> = settled): Promise<void> {
  const source = new Source<string>()
  const callers = keys.map(() => new AbortController())
  answersOf(keys.map((key, index) => a.getOrLoad(key, source.loader, { signal: callers[index]?.signal })))
  await begun()
  while (source.runs.length < keys.length) await begun()
  for (const caller of callers) caller.abort()
  await Promise.all(keys.map((key) => b.invalidate(key)))
  for (const run of source.runs) run.resolve('old')
  await settled()
}

describe('the pause before a load', () => {
  /** Voids the next load of `k`; resolves with how long its lease was held before, to 10 ms. */
  async function nextPause(all: Fleet): Promise<number> {
    const since = all.clock.now()
    let isFirst = true
    await voided(all, ['k'], async () => {
      await (isFirst ? settled() : all.clock.advance(10))
      isFirst = false
    })
    return all.clock.now() - since
  }

  /** A fleet whose pauses have no jitter. */
  function steady(): Fleet {
    const all = fleet({ hardTimeout: '1m' })
    Object.assign(all.clock, { random: () => 0.5 })
    return all
  }

  test('begins with the second voided load in a row, and is twice as long each time, up to 320 ms', async () => {
    const all = steady()
    const pauses = []
    for (let round = 0; round < 10; round++) pauses.push(await nextPause(all))
    expect(pauses).toEqual([0, 0, 10, 20, 40, 80, 160, 320, 320, 320])
    expect(await asked(all.a.getOrLoad('another', () => 'v'))).toEqual(valued('v'))
  })

  test('ends with a load that is accepted, or ten seconds after the last that was voided', async () => {
    const all = steady()
    for (let round = 0; round < 5; round++) await nextPause(all)
    await all.clock.advance(9_999)
    expect(await nextPause(all)).toBe(80)
    await all.clock.advance(10_000)
    expect(await nextPause(all)).toBe(0)
    for (let round = 0; round < 4; round++) await nextPause(all)
    const accepted = answerOf(all.a.getOrLoad('k', () => 'v'))
    await all.clock.advance(1_000)
    expect(accepted).toEqual(valued('v'))
    await all.b.invalidate('k')
    expect(await nextPause(all)).toBe(0)
  })

  test('is forgotten for the keys that were voided first, when there are too many', async () => {
    const all = steady()
    const others = Array.from({ length: 1_000 }, (_, index) => `k${index + 1}`)
    for (const keys of [['k0'], ['k0'], others, others]) await voided(all, keys)
    const source = new Source<string>()
    await allAsked(['k0', ...others].map((key) => all.a.getOrLoad(key, source.loader)))
    expect(source.runs.map(({ context }) => context.key)).toEqual(['k0'])
    await all.clock.advance(10)
    expect(source.runs).toHaveLength(1_001)
  })
})

/** A call whose loads of a second were voided twice. */
async function voidedTwice(waitTimeout: '4s' | '5s') {
  const { a, b, clock } = fleet({ waitTimeout, hardTimeout: '3s' })
  const { source, answer } = await loading(a)
  for (let round = 0; round < 2; round++) {
    await clock.advance(1_000)
    await b.invalidate('k')
    await settled()
    await source.resolve(round, 'old')
    await clock.advance(50)
  }
  return { b, source, answer }
}

describe('in a storm of invalidations', () => {
  test('a lease is held before its load begins, and an invalidation meanwhile costs no load', async () => {
    const { a, b, clock } = fleet()
    const { source, answer } = await loading(a)
    for (let round = 0; round < 2; round++) {
      await b.invalidate('k')
      await clock.advance(5)
      await source.resolve(round, 'old')
    }
    expect(source.runs).toHaveLength(2)
    await b.invalidate('k')
    await settled()
    await clock.advance(1_000)
    expect(source.runs).toHaveLength(3)
    await source.resolve(2, 'new')
    expect(answer).toEqual(valued('new'))
  })

  test('a lease is held, too, when the loader had ended before its load was voided', async () => {
    const { a, b, ways, clock } = fleet()
    const { source, answer } = await loading(a)
    for (let round = 0; round < 2; round++) {
      const letGo = ways.a.hold('fill', 'before')
      await source.resolve(round, 'old')
      await b.invalidate('k')
      letGo()
      await settled()
    }
    expect(source.runs).toHaveLength(2)
    await clock.advance(20)
    expect(source.runs).toHaveLength(3)
    await source.resolve(2, 'new')
    expect(answer).toEqual(valued('new'))
  })

  describe('the lease is looked at when its pause has ended, and', () => {
    /** A call whose next load waits for 250 ms under its lease, because the one before was voided and goes on. */
    async function paused() {
      const all = fleet()
      const { source, answer } = await loading(all.a)
      await all.b.invalidate('k')
      await settled()
      return { ...all, source, answer }
    }

    test('no load begins if it is gone, though no message said so', async () => {
      const { b, ways, clock, source, answer } = await paused()
      ways.a.holdMessages()
      await b.invalidate('k')
      const { source: others, answer: other } = await loading(b)
      await clock.advance(250)
      expect(source.runs).toHaveLength(1)
      await others.resolve(0, 'new')
      await clock.advance(1_000)
      expect([other, answer]).toEqual([valued('new'), valued('new')])
      expect(source.runs).toHaveLength(1)
    })

    test('no load begins if it is lost before the store has answered', async () => {
      const { b, ways, clock, source, answer } = await paused()
      const letGo = ways.a.hold('renew', 'after')
      await clock.advance(250)
      await b.invalidate('k')
      const { source: others, answer: other } = await loading(b)
      letGo()
      await settled()
      expect(source.runs).toHaveLength(1)
      await others.resolve(0, 'new')
      expect([other, answer]).toEqual([valued('new'), valued('new')])
    })
  })

  test('a load waits for one that was voided and goes on, though no longer than 250 ms', async () => {
    const { a, b, clock } = fleet()
    const { source, answer } = await loading(a)
    await b.invalidate('k')
    await clock.advance(249)
    expect(source.runs).toHaveLength(1)
    await clock.advance(1)
    expect(source.runs).toHaveLength(2)
    await source.resolve(1, 'new')
    expect(answer).toEqual(valued('new'))
  })

  test('a load begins as soon as the one that was voided has ended', async () => {
    const { a, b } = fleet()
    const { source } = await loading(a)
    await b.invalidate('k')
    await settled()
    expect(source.runs).toHaveLength(1)
    await source.resolve(0, 'old')
    expect(source.runs).toHaveLength(2)
  })

  test('a caller loads without a lease after two voided loads, once half of its wait timeout is over', async () => {
    const { b, source, answer } = await voidedTwice('4s')
    expect(source.runs.map(({ context }) => context.fence === null)).toEqual([false, false, true])
    await b.invalidate('k')
    await source.resolve(2, 'new')
    expect(answer).toEqual(valued('new'))
  })

  test('a waiter loads without a lease after two such flights, though others always claim before it', async () => {
    const { a, b, c, ways, clock } = fleet({ waitTimeout: '4s' })
    const [source, own] = [new Source<string>(), new Source<string>()]
    await asked(a.getOrLoad('k', source.loader))
    const answer = await asked(b.getOrLoad('k', own.loader))
    for (let round = 0; round < 3; round++) {
      await clock.advance(1_000)
      const letGo = ways.b.hold('claim', 'before')
      await c.invalidate('k')
      await asked(c.getOrLoad('k', source.loader))
      letGo()
      await settled()
    }
    expect(own.runs.map(({ context }) => context.fence)).toEqual([null])
    await own.resolve(0, 'new')
    expect(answer).toEqual(valued('new'))
  })

  test('a caller whose wait timeout is not half over loads with a lease after two voided loads', async () => {
    const { source } = await voidedTwice('5s')
    expect(source.runs.map(({ context }) => context.fence === null)).toEqual([false, false, false])
  })
})

import { describe, expect, test } from 'vitest'
import { Pacing } from '../../../src/core/load/pacing.ts'
import { FakeClock, settled } from '../../support/fake-clock.ts'
import { asked, valued } from '../support/answer.ts'
import { fleet } from '../support/fleet.ts'
import { loading, Source } from '../support/source.ts'

function pacing() {
  const clock = Object.assign(new FakeClock(), { random: () => 0.5 })
  return { clock, pacing: new Pacing(clock) }
}

describe('the pause before a load', () => {
  test('begins with the second voided load in a row, and is twice as long each time, up to 320 ms', () => {
    const { pacing: of } = pacing()
    const pauses = Array.from({ length: 9 }, () => (of.countVoided('k'), of.pauseFor('k')))
    expect(pauses).toEqual([0, 10, 20, 40, 80, 160, 320, 320, 320])
    expect(of.pauseFor('another')).toBe(0)
  })

  test('ends with a load that is accepted, or ten seconds after the last that was voided', async () => {
    const { clock, pacing: of } = pacing()
    for (let times = 0; times < 5; times++) of.countVoided('k')
    await clock.advance(9_999)
    expect(of.pauseFor('k')).toBe(80)
    await clock.advance(1)
    expect(of.pauseFor('k')).toBe(0)
    for (let times = 0; times < 5; times++) of.countVoided('k')
    of.endRow('k')
    expect(of.pauseFor('k')).toBe(0)
  })

  test('is forgotten for the keys that were voided first, when there are too many', () => {
    const { pacing: of } = pacing()
    for (let key = 0; key <= 1_000; key++) for (let times = 0; times < 2; times++) of.countVoided(`k${key}`)
    expect([of.pauseFor('k0'), of.pauseFor('k1'), of.pauseFor('k1000')]).toEqual([0, 10, 10])
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

  test('a caller loads without a lease after two voided loads, once half of its patience is over', async () => {
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

  test('a caller whose patience is not half over loads with a lease after two voided loads', async () => {
    const { source } = await voidedTwice('5s')
    expect(source.runs.map(({ context }) => context.fence === null)).toEqual([false, false, false])
  })
})

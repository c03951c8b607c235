import { describe, expect, test } from 'vitest'
import { settled } from '../../support/fake-clock.ts'
import { allAsked, answerOf, answersOf, asked, pending, valued } from '../support/answer.ts'
import { fleet } from '../support/fleet.ts'
import { allLoading, loading, Source } from '../support/source.ts'

const closed = { state: 'error', error: { code: 'CLOSED' } }
const done = valued(undefined)

describe('closing a cache', () => {
  test('lets running loads end, fill, and answer (rule 13)', async () => {
    const { a, b, clock } = fleet()
    const { source, answers } = await allLoading([a, a])
    const close = answerOf(a.close())
    await clock.advance(4_999)
    expect([close, ...answers]).toEqual([pending, pending, pending])
    await source.resolve(0, 'v')
    expect([close, ...answers]).toEqual([done, valued('v'), valued('v')])
    expect(await b.peek('k')).toMatchObject({ value: 'v' })
    expect(source.run(0).context.signal.aborted).toBe(false)
  })

  test('resolves at once when nothing is under way', async () => {
    const { a, clock } = fleet()
    await a.getOrLoad('k', () => 'v')
    await a.close()
    expect(clock.now()).toBe(1_000)
    expect(clock.holding).toBe(0)
  })

  test('leaves misuse a TypeError', async () => {
    const { a } = fleet()
    await a.close()
    for (const call of [
      a.getOrLoad('k', 'no loader' as never),
      a.getOrLoad('k', () => 1, { tll: 1 } as never),
      a.getOrLoad('', () => 1),
      a.peek(undefined as never),
      a.set('', 1),
      a.invalidate(5 as never),
    ])
      await expect(call).rejects.toThrow(TypeError)
  })

  test('takes no more calls (rule 13)', async () => {
    const { a, ways } = fleet()
    const { source, answer: running } = await loading(a)
    ways.a.sent.length = 0
    const close = a.close()
    const late = [a.getOrLoad('k', source.loader), a.peek('k'), a.set('k', 'v'), a.invalidate('k')].map((call) =>
      answerOf<unknown>(call),
    )
    await settled()
    expect(late).toMatchObject(
      Array.from({ length: 4 }, () => ({ state: 'error', error: { code: 'CLOSED', key: 'k' } })),
    )
    expect(ways.a.sent).toEqual([])
    source.run(0).resolve('v')
    await close
    expect(running).toEqual(valued('v'))
    await expect(a.getOrLoad('k', source.loader)).rejects.toMatchObject({ code: 'CLOSED' })
  })

  test('gives up what runs too long: callers get CLOSED, the loader is told, the lease is free (rule 13)', async () => {
    const { a, b, clock } = fleet()
    const { source, answers: mine } = await allLoading([a, a])
    const theirs = answerOf(b.getOrLoad('k', source.loader))
    const close = answerOf(a.close({ timeout: '2s' }))
    await clock.advance(1_999)
    expect([...mine, close]).toEqual([pending, pending, pending])
    await clock.advance(1)
    expect([...mine, close]).toMatchObject([closed, closed, done])
    expect(source.run(0).context.signal.reason).toMatchObject({ code: 'CLOSED' })
    expect(source.runs).toHaveLength(2)
    source.run(0).resolve('old')
    await source.resolve(1, 'v')
    expect(theirs).toEqual(valued('v'))
    expect(await b.peek('k')).toMatchObject({ value: 'v' })
  })

  test('gives up at once with a timeout of zero, however many wait and since when', async () => {
    const { a, clock, source } = fleet()
    const answers = [answerOf(a.getOrLoad('k', source.loader))]
    await clock.advance(10)
    answers.push(await asked(a.getOrLoad('k', source.loader)))
    const close = answerOf(a.close({ timeout: 0 }))
    await clock.advance(0)
    expect([...answers, close]).toMatchObject([closed, closed, done])
  })

  test('ends the wait for another process with CLOSED, and leaves that load alone (rule 13)', async () => {
    const { a, b, clock } = fleet()
    const { source, answer: theirs } = await loading(a)
    const mine = await asked(b.getOrLoad('k', source.loader))
    const close = answerOf(b.close({ timeout: '1s' }))
    await clock.advance(1_000)
    expect([theirs, mine, close]).toMatchObject([pending, closed, done])
    await source.resolve(0, 'v')
    expect(theirs).toEqual(valued('v'))
    expect(source.runs).toHaveLength(1)
  })

  test('lets a caller that is still at its first read have its load (rule 13)', async () => {
    const { a, b, ways } = fleet()
    const go = ways.a.hold('read', 'before')
    const { source, answer } = await loading(a)
    const closed = await asked(a.close())
    go()
    await settled()
    expect(closed).toEqual(pending)
    await source.resolve(0, 'v')
    expect([answer, closed]).toEqual([valued('v'), valued(undefined)])
    expect(await b.peek('k')).toMatchObject({ state: 'fresh', value: 'v' })
  })

  test('lets a loader that is under way ask for what it needs, and nobody else (rule 13)', async () => {
    const { a } = fleet()
    let begin!: () => void
    const begun = new Promise<void>((resolve) => (begin = resolve))
    const answer = await asked(
      a.getOrLoad('page', async () => {
        await begun
        await a.set('noted', true)
        return [await a.getOrLoad('part', async () => await a.getOrLoad('part of part', () => 'v'))]
      }),
    )
    const closed = answerOf(a.close())
    await expect(a.getOrLoad('page', () => 'v')).rejects.toMatchObject({ code: 'CLOSED' })
    begin()
    await settled()
    expect([answer, closed]).toEqual([valued(['v']), valued(undefined)])
  })

  test('waits for the refresh of a stale value, which has no caller', async () => {
    const { a, b, clock, source } = fleet({ ttl: '1s', grace: '1m' })
    await a.getOrLoad('k', () => 'old')
    await clock.advance(2_000)
    expect(await a.getOrLoad('k', source.loader)).toBe('old')
    await settled()
    const close = await asked(a.close())
    expect(close).toEqual(pending)
    await source.resolve(0, 'new')
    expect(close).toEqual(done)
    expect(await b.peek('k')).toMatchObject({ state: 'fresh', value: 'new' })
  })

  test('waits for loads that run without a lease, and gives them up in the end (rule 13)', async () => {
    const { a, ways, clock, source } = fleet()
    ways.a.mode = 'silent'
    const answers = answersOf([a.getOrLoad('k', source.loader), a.getOrLoad('l', source.loader)])
    await clock.advance(500)
    expect(source.runs).toHaveLength(2)
    const close = answerOf(a.close({ timeout: '1s' }))
    source.run(0).resolve('v')
    await clock.advance(999)
    expect([...answers, close]).toEqual([valued('v'), pending, pending])
    await clock.advance(1)
    expect(answers[1]).toMatchObject(closed)
    expect(source.run(1).context.signal.reason).toMatchObject({ code: 'CLOSED' })
  })

  test('does not leave a call behind that was still reading: it is answered or told CLOSED (rule 13)', async () => {
    const { a } = fleet()
    let runs = 0
    const answer = answerOf(a.getOrLoad('k', () => ++runs))
    await a.close()
    const atTheEnd = runs
    await settled()
    expect(answer).not.toEqual(pending)
    expect(runs).toBe(atTheEnd)
  })

  test('runs no loader for a call that was still reading when the store fell silent (rule 13)', async () => {
    const { a, ways, clock } = fleet()
    ways.a.mode = 'silent'
    const { source, answer } = await loading(a)
    const close = answerOf(a.close({ timeout: 100 }))
    await clock.advance(1_000)
    expect([answer, close]).toMatchObject([closed, done])
    expect([source.runs.length, clock.pending]).toEqual([0, 0])
  })

  test('runs no loader for a lease that is granted too late, and leaves it to the others (rule 13)', async () => {
    const { a, b, ways, clock } = fleet()
    const letGo = ways.a.hold('claim', 'after')
    const { source, answer } = await loading(a)
    const close = answerOf(a.close({ timeout: 100 }))
    await clock.advance(100)
    letGo()
    await settled()
    expect([answer, close]).toMatchObject([closed, done])
    expect(source.runs).toHaveLength(0)
    expect(await b.getOrLoad('k', () => 'v')).toBe('v')
  })

  test('lets an invalidation and a set that were sent before have their answer', async () => {
    const { a, b, ways, clock } = fleet()
    await b.set('k', 'old')
    const letGo = [ways.a.hold('invalidate', 'before'), ways.a.hold('set', 'before')]
    const answers = await allAsked([a.invalidate('k'), a.set('l', 'v')])
    const close = answerOf(a.close())
    await clock.advance(100)
    for (const open of letGo) open()
    await clock.advance(10)
    expect([...answers, close]).toEqual([done, done, done])
    expect(await b.peek('k')).toEqual({ state: 'missing' })
  })

  test('a second time, or at the end of a block by `await using`, is the same as the first', async () => {
    const { a, ways } = fleet()
    const { source } = await loading(a)
    const closes = await allAsked([a.close(), a.close({ timeout: 0 })])
    expect(closes).toEqual([pending, pending])
    await source.resolve(0, 'v')
    expect(closes).toEqual([done, done])
    {
      await using _ = a
    }
    expect(ways.a).toMatchObject({ opened: 1, closed: 1 })
  })

  test('leaves other caches on the same store alone', async () => {
    const { a, b } = fleet()
    const { source, answer } = await loading(b)
    await a.close()
    await source.resolve(0, 'v')
    expect(answer).toEqual(valued('v'))
  })

  test('leaves no timer behind that keeps the process alive, even when it gives up loads (rule 13)', async () => {
    const { a, b, clock } = fleet({ ttl: '1s', grace: '1h' })
    await a.getOrLoad('k', () => 'v')
    const answers = await allAsked([a.getOrLoad('l', new Source().loader), b.getOrLoad('l', new Source().loader)])
    const closes = [answerOf(a.close({ timeout: 1 })), answerOf(b.close({ timeout: 1 }))]
    await clock.advance(10)
    expect([...answers, ...closes]).toMatchObject([closed, closed, done, done])
    expect(clock.holding).toBe(0)
    await clock.advance(60_000)
    expect(clock.pending).toBe(0)
  })

  test('refuses a timeout that is none, and stays open', async () => {
    const { a } = fleet()
    await expect(a.close({ timeout: -1 })).rejects.toThrow(TypeError)
    await expect(a.close({ timeout: '5 s' as '5s' })).rejects.toThrow('Expected `timeout` to be')
    expect(await a.getOrLoad('k', () => 'v')).toBe('v')
  })
})

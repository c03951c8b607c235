import { describe, expect, test } from 'vitest'
import type { CacheOptions, CallOptions } from '../../../src/core/options/options.ts'
import {
  CacheError,
  createCache,
  locked,
  memoryLock,
  memoryStore,
  type Cache,
  type KeyValue,
} from '../../../src/index.ts'
import { FakeClock, settled } from '../../support/fake-clock.ts'
import { allAsked, answerOf, answersOf, asked, pending, valued, type Answer } from '../support/answer.ts'
import { fleet, told, type Fleet } from '../support/fleet.ts'
import { Source } from '../support/source.ts'

const pg: CallOptions = { source: 'pg' }

type Limits = NonNullable<CacheOptions['sources']>[string]

function limited(limits: Limits, options: CacheOptions = {}): Fleet {
  return fleet({ sources: { pg: limits }, warnings: false, ...options })
}

/** Asks for so many keys of its own. */
function ask(cache: Cache, name: string, count: number, source: Source<string>, options = pg): Promise<string>[] {
  return Array.from({ length: count }, (_, index) => cache.getOrLoad(`${name}${index}`, source.loader, options))
}

/** A load of `outer` that holds a permit, and asks for `inner` once it is told to go on. */
async function nesting(cache: Cache, inner: Source<string>): Promise<{ outer: Answer<unknown>; goOn: () => void }> {
  let goOn!: () => void
  const asks = new Promise<void>((resolve) => (goOn = resolve))
  const loader = (): Promise<unknown> => asks.then(() => cache.getOrLoad('inner', inner.loader, pg))
  return { outer: await asked(cache.getOrLoad('outer', loader, pg)), goOn }
}

function keyValue(): KeyValue {
  const values = new Map<string, Uint8Array>()
  return {
    get: async (key) => values.get(key) ?? null,
    set: async (key, bytes) => void values.set(key, bytes),
  }
}

/** How many of sixty loads run, one after the other, all of which fail with this. */
async function runsOf(cache: Cache, thrown: unknown): Promise<number> {
  let runs = 0
  const fails = (): Promise<never> => {
    runs++
    return Promise.reject(thrown)
  }
  for (let key = 0; key < 60; key++) await asked(cache.getOrLoad(`k${key}`, fails, pg))
  return runs
}

/** Ends all runs that are under way. */
async function endAll(source: Source<string>, from: number): Promise<number> {
  const { length } = source.runs
  for (const run of source.runs.slice(from)) run.resolve('v')
  await settled()
  return length
}

describe('the concurrency of a source', () => {
  test('bounds the loads of all processes together, and lets each go on as others end', async () => {
    const { a, b, c, source } = limited({ concurrency: 3 })
    const answers = await allAsked([...ask(a, 'a', 4, source), ...ask(b, 'b', 4, source), ...ask(c, 'c', 4, source)])
    expect(source.runs).toHaveLength(3)
    for (let ended = 0; ended < 12; ended++) {
      expect(source.runs.length - ended).toBeLessThanOrEqual(3)
      await source.resolve(ended, 'v')
    }
    expect(answers).toEqual(answers.map(() => valued('v')))
    expect(source.runs).toHaveLength(12)
  })

  test('does not touch hits, callers that join, waiters of other processes, and loads of no source', async () => {
    const { a, b } = limited({ concurrency: 1 })
    const [source, other] = [new Source<string>(), new Source<string>()]
    const answers = answersOf([a, a, b].map((cache) => cache.getOrLoad('k', source.loader, pg)))
    answers.push(await asked(b.getOrLoad('other', other.loader)))
    expect([source.runs.length, other.runs.length]).toEqual([1, 1])
    await source.resolve(0, 'v')
    expect(answers).toEqual([valued('v'), valued('v'), valued('v'), pending])
    expect(await asked(b.getOrLoad('k', source.loader, pg))).toEqual(valued('v'))
  })

  test('is no part of a wait for another process: that ends with the lease, each time', async () => {
    const { a, b, clock, source } = limited({ concurrency: 1 })
    const events: string[] = []
    for (const name of ['wait', 'queued', 'permitted', 'load'] as const) b.on(name, () => events.push(name))
    b.on('waited', ({ duration }) => events.push(`waited ${duration}`))
    await allAsked([a.getOrLoad('k', source.loader, pg)])
    const answer = await asked(b.getOrLoad('k', source.loader, pg))
    await clock.advance(80)
    await a.invalidate('k')
    await clock.advance(0)
    expect(events).toEqual(['wait', 'waited 80', 'queued'])
    await clock.advance(400)
    await source.resolve(0, 'v')
    await clock.advance(0)
    expect(events).toEqual(['wait', 'waited 80', 'queued', 'permitted', 'load'])
    await source.resolve(1, 'w')
    expect(answer).toEqual(valued('w'))
  })

  test('is the smallest that any cache of a process names, also where it adapts', async () => {
    const clock = new FakeClock()
    const store = memoryStore({ clock })
    const cache = (limits: object): Cache => createCache({ store, clock, sources: { pg: limits as never } })
    const [wide, narrow] = [cache({ concurrency: 5, adaptive: true }), cache({ concurrency: 2 })]
    const source = new Source<string>()
    await allAsked([...ask(wide, 'a', 5, source), ...ask(narrow, 'b', 5, source)])
    expect(source.runs).toHaveLength(2)
  })

  test('is shared in turn by the processes that wait', async () => {
    const { a, b } = limited({ concurrency: 4 })
    const [first, second] = [new Source<string>(), new Source<string>()]
    await allAsked(ask(a, 'a', 40, first))
    expect(first.runs).toHaveLength(4)
    await allAsked(ask(b, 'b', 40, second))
    for (let ended = 0; ended < 20; ended++) await first.resolve(ended, 'v')
    expect(second.runs).toHaveLength(2)
    expect(first.runs.length - 20).toBe(2)
  })

  test('reaches all processes that wait, though they are more than its permits', async () => {
    const { a, b, c, clock } = limited({ concurrency: 2 })
    const [first, second, third] = [new Source<string>(), new Source<string>(), new Source<string>()]
    await allAsked(ask(a, 'a', 40, first))
    await allAsked([...ask(b, 'b', 40, second), ...ask(c, 'c', 40, third)])
    const ended = [first, second, third].map((source) => ({ source, runs: 0 }))
    for (let round = 0; round < 20; round++) {
      for (const of of ended) if (of.runs < of.source.runs.length) await of.source.resolve(of.runs++, 'v')
      // Each learns from its reports who waits.
      await clock.advance(100)
    }
    expect(Math.min(...ended.map(({ runs }) => runs))).toBeGreaterThan(3)
  })

  test('is held by a loader that was given up until it has settled', async () => {
    const { a, clock, source } = limited({ concurrency: 1 }, { hardTimeout: 1_000 })
    const slow = await asked(a.getOrLoad('slow', source.loader, pg))
    const next = await asked(a.getOrLoad('next', source.loader, pg))
    await clock.advance(1_000)
    expect(slow).toMatchObject({ state: 'error', error: { code: 'LOAD_TIMEOUT' } })
    expect(source.runs).toHaveLength(1)
    await source.resolve(0, 'late')
    expect(source.runs).toHaveLength(2)
    await source.resolve(1, 'v')
    expect(next).toEqual(valued('v'))
  })

  test('is not held for longer than two hard timeouts by a loader that never settles', async () => {
    const { a, clock, source } = limited({ concurrency: 1 }, { hardTimeout: 1_000 })
    await asked(a.getOrLoad('dead', source.loader, pg))
    await clock.advance(1_500)
    await asked(a.getOrLoad('next', source.loader, { ...pg, waitTimeout: 5_000 }))
    expect(source.runs).toHaveLength(1)
    await clock.advance(500)
    expect(source.runs).toHaveLength(2)
  })

  test('begins the hard timeout with the load, not with the wait for its permit', async () => {
    const { a, clock, source } = limited({ concurrency: 1 }, { hardTimeout: 1_000, waitTimeout: 5_000 })
    void answerOf(a.getOrLoad('first', source.loader, pg))
    const second = await asked(a.getOrLoad('second', source.loader, pg))
    await clock.advance(900)
    await source.resolve(0, 'v')
    await clock.advance(900)
    await source.resolve(1, 'v')
    expect(second).toEqual(valued('v'))
  })

  test('comes back when the process that held it is dead', async () => {
    const { a, b, ways, clock, source } = limited({ concurrency: 1 })
    await asked(a.getOrLoad('a', source.loader, pg))
    ways.a.mode = 'silent'
    await asked(b.getOrLoad('b', source.loader, pg))
    expect(source.runs).toHaveLength(1)
    await clock.advance(6_000)
    expect(source.runs).toHaveLength(2)
  })
})

describe('a load within a load of the same source', () => {
  test('uses the permit of the loader that waits for it', async () => {
    const { a } = limited({ concurrency: 1 })
    const answer = await asked(
      a.getOrLoad('outer', async () => `outer ${await a.getOrLoad('inner', () => 'inner', pg)}`, pg),
    )
    expect(answer).toEqual(valued('outer inner'))
  })

  test.for([
    ['waits for a permit already', settled],
    ['will wait for a permit', (): void => undefined],
  ] as const)('takes a load along that %s', async ([, meanwhile]) => {
    const { a, source } = limited({ concurrency: 1 })
    const { outer, goOn } = await nesting(a, source)
    const inner = answerOf(a.getOrLoad('inner', source.loader, pg))
    await meanwhile()
    expect(source.runs).toHaveLength(0)
    goOn()
    await settled()
    await source.resolve(0, 'v')
    expect([outer, inner]).toEqual([valued('v'), valued('v')])
  })

  test('takes a load along that has yet to begin without the store', async () => {
    const { a, ways } = limited({ concurrency: 2 }, { bridge: 0 })
    const [source, other] = [new Source<string>(), new Source<string>()]
    const { outer, goOn } = await nesting(a, source)
    ways.a.mode = 'failing'
    await asked(a.getOrLoad('inner', source.loader, pg))
    void ask(a, 'other', 1, other)
    const second = await asked(a.getOrLoad('inner', source.loader, pg))
    goOn()
    await settled()
    await source.resolve(0, 'v')
    expect([source.runs.length, other.runs.length]).toEqual([2, 1])
    await source.resolve(1, 'new')
    expect([outer, second]).toEqual([valued('new'), valued('new')])
  })
})

test('a permit that comes when nobody wants it any more is given back at once', async () => {
  const { a, b, ways } = limited({ concurrency: 2 })
  const [inner, other] = [new Source<string>(), new Source<string>()]
  const { goOn } = await nesting(a, inner)
  const release = ways.a.hold('permits', 'before')
  await asked(a.getOrLoad('inner', inner.loader, pg))
  goOn()
  await settled()
  expect(inner.runs).toHaveLength(1)
  release()
  await settled()
  await asked(b.getOrLoad('other', other.loader, pg))
  expect(other.runs).toHaveLength(1)
})

test('a load does not wait for its permit once its process has overwritten its key, though no message says so', async () => {
  const { a, ways, source } = limited({ concurrency: 1 })
  await asked(a.getOrLoad('busy', source.loader, pg))
  ways.a.messages = 'lost'
  const waiting = await asked(a.getOrLoad('k', source.loader, pg))
  await a.set('k', 'new')
  await settled()
  expect(waiting).toEqual(valued('new'))
})

describe('who goes first', () => {
  test('callers that wait go before refreshes behind a stale value, and those before a warm-up', async () => {
    const { a, clock, source } = limited({ concurrency: 1 }, { ttl: 1_000, grace: 60_000 })
    await Promise.all([0, 1].map((key) => a.set(`stale${key}`, 'old')))
    await clock.advance(2_000)
    await asked(a.getOrLoad('busy', source.loader, pg))
    await allAsked(ask(a, 'low', 2, source, { ...pg, priority: 'low' }))
    expect(await allAsked(ask(a, 'stale', 2, source))).toEqual([valued('old'), valued('old')])
    await allAsked(ask(a, 'caller', 2, source))
    for (let ended = 0; ended < 7; ended++) await source.resolve(ended, 'v')
    const order = source.runs.map(({ context }) => context.key)
    expect(order).toEqual(['busy', 'caller0', 'caller1', 'stale0', 'stale1', 'low0', 'low1'])
  })

  test('a refresh is urgent once a caller waits for it', async () => {
    const { a, clock, source } = limited({ concurrency: 1 }, { ttl: 1_000, grace: 5_000 })
    await Promise.all([0, 1].map((key) => a.set(`stale${key}`, 'old')))
    await clock.advance(2_000)
    await asked(a.getOrLoad('busy', source.loader, pg))
    await allAsked(ask(a, 'stale', 2, source))
    await asked(a.refresh('stale1', source.loader, pg))
    await source.resolve(0, 'v')
    expect(source.runs[1]?.context.key).toBe('stale1')
  })

  test('a load that nobody waited for is urgent once a caller of another process waits for it', async () => {
    const { a, b, c, clock, source } = limited({ concurrency: 1 }, { leaseTtl: 3_000 })
    await asked(a.getOrLoad('busy', source.loader, pg))
    await allAsked(ask(b, 'low', 3, source, { ...pg, priority: 'low' }))
    void answerOf(c.getOrLoad('low1', source.loader, { ...pg, priority: 'low' }))
    void answerOf(c.getOrLoad('low2', source.loader, pg))
    await allAsked(ask(a, 'caller', 2, source))
    await clock.advance(1_500)
    for (let ended = 0; ended < 6; ended++) {
      await source.resolve(ended, 'v')
      await clock.advance(500)
    }
    const order = source.runs.map(({ context }) => context.key)
    expect(order.slice(-2)).toEqual(['low0', 'low1'])
    expect(order.slice(1, -2).toSorted()).toEqual(['caller0', 'caller1', 'low2'])
  })

  test('a load is urgent if the caller that it began for was not, and a later one is', async () => {
    const { a, b, c, clock, source } = limited({ concurrency: 1 })
    void answerOf(b.getOrLoad('k', source.loader))
    await asked(c.getOrLoad('busy', source.loader, pg))
    void answerOf(a.getOrLoad('k', source.loader, { ...pg, priority: 'low' }))
    await asked(c.getOrLoad('low', source.loader, { ...pg, priority: 'low' }))
    void answerOf(a.getOrLoad('k', source.loader, pg))
    void b.close({ timeout: 0 })
    await clock.advance(1_000)
    await source.resolve(1, 'v')
    expect(source.runs.map(({ context }) => context.key)).toEqual(['k', 'busy', 'k'])
  })
})

describe('a load that cannot begin in time', () => {
  test('is refused at once if too many wait, and says when to ask again', async () => {
    const { a, source } = limited({ concurrency: 1, maxQueued: 2 })
    const heard = told(a, 'overloaded')
    await asked(a.getOrLoad('busy', source.loader, pg))
    const answers = await allAsked(ask(a, 'k', 3, source))
    expect(answers.slice(0, 2)).toEqual([pending, pending])
    expect(answers[2]).toMatchObject({ state: 'error', error: { code: 'OVERLOADED', key: 'k2', retryAfter: 1_000 } })
    expect(heard).toEqual([{ key: 'k2', queued: 2, source: 'pg' }])
  })

  test('gives its place to a caller that waits, if only a refresh waits for it', async () => {
    const { a, clock, source } = limited({ concurrency: 1, maxQueued: 1 }, { ttl: 1_000, grace: 60_000 })
    await a.set('stale', 'old')
    await clock.advance(2_000)
    void answerOf(a.getOrLoad('busy', source.loader, pg))
    expect(await asked(a.getOrLoad('stale', source.loader, pg))).toEqual(valued('old'))
    const caller = await asked(a.getOrLoad('caller', source.loader, pg))
    expect(caller).toEqual(pending)
    await source.resolve(0, 'v')
    await source.resolve(1, 'v')
    expect(caller).toEqual(valued('v'))
    expect(source.runs).toHaveLength(2)
  })

  test('is refused if its turn would come after the deadline of its caller, and served stale where that may be', async () => {
    const { a, clock, source } = limited({ concurrency: 1 }, { waitTimeout: 1_000, ttl: 1_000, grace: 60_000 })
    await a.set('stale', 'old')
    await clock.advance(2_000)
    await asked(a.getOrLoad('first', source.loader, pg))
    await clock.advance(600)
    await source.resolve(0, 'v')
    await allAsked(ask(a, 'k', 2, source))
    const [late, stale] = await allAsked([
      a.getOrLoad('late', source.loader, pg),
      a.getOrLoad('stale', source.loader, { ...pg, softTimeout: 900 }),
    ])
    expect(late).toMatchObject({ state: 'error', error: { code: 'OVERLOADED' } })
    expect(stale).toEqual(valued('old'))
  })

  test('is refused by the limit that its source has set', async () => {
    const { a, clock, source } = limited({ concurrency: 2, adaptive: true }, { waitTimeout: 1_000, failureCooldown: 0 })
    await allAsked(ask(a, 'first', 1, source))
    await clock.advance(600)
    await source.resolve(0, 'v')
    const refusal = Object.assign(new Error('full'), { code: '53300' })
    await asked(a.getOrLoad('full', () => Promise.reject(refusal), pg))
    const answers = await allAsked(ask(a, 'k', 3, source))
    expect(source.runs).toHaveLength(2)
    expect(answers.slice(1)).toEqual([pending, expect.objectContaining({ state: 'error' })])
  })

  test('is not refused because the caller that began to wait for another process has no time left', async () => {
    const { a, b, clock, ways } = limited({ concurrency: 1 }, { leaseTtl: 2_000 })
    const [held, source] = [new Source<string>(), new Source<string>()]
    await asked(a.getOrLoad('k', held.loader))
    const first = await asked(b.getOrLoad('k', source.loader, { ...pg, waitTimeout: 1_000 }))
    await clock.advance(500)
    const second = await asked(b.getOrLoad('k', source.loader, { ...pg, waitTimeout: 30_000 }))
    await clock.advance(1_000)
    expect(first).toMatchObject({ error: { code: 'WAIT_TIMEOUT' } })
    // Its lease runs out, and nobody tells so.
    ways.a.mode = 'failing'
    await clock.advance(4_000)
    expect(second).toEqual(pending)
    await source.resolve(0, 'v')
    expect(second).toEqual(valued('v'))
  })

  test('is not refused because a caller with a stale value waits for a short time only', async () => {
    const { a, clock, source } = limited({ concurrency: 1 }, { ttl: 1_000, grace: 60_000 })
    const overloaded = told(a, 'overloaded')
    await a.set('stale', 'old')
    await clock.advance(2_000)
    await asked(a.getOrLoad('first', source.loader, pg))
    await clock.advance(100)
    await source.resolve(0, 'v')
    void answerOf(a.getOrLoad('busy', source.loader, pg))
    expect(await asked(a.getOrLoad('stale', source.loader, pg))).toEqual(valued('old'))
    const soft = await asked(a.getOrLoad('stale', source.loader, { ...pg, softTimeout: 240 }))
    await clock.advance(239)
    expect([soft, overloaded]).toEqual([pending, []])
    await clock.advance(1)
    expect(soft).toEqual(valued('old'))
    await source.resolve(1, 'v')
    await source.resolve(2, 'new')
    expect(await asked(a.getOrLoad('stale', source.loader, pg))).toEqual(valued('new'))
  })

  test('is refused while it waits, once the source has become too slow', async () => {
    const { a, clock, source } = limited({ concurrency: 1 }, { waitTimeout: 5_000 })
    await asked(a.getOrLoad('quick', source.loader, pg))
    await clock.advance(10)
    await source.resolve(0, 'v')
    await asked(a.getOrLoad('slow', source.loader, pg))
    const waiting = await asked(a.getOrLoad('waits', source.loader, pg))
    await clock.advance(2_000)
    expect(waiting).toEqual(pending)
    const failures = told(a, 'failure')
    await clock.advance(1_000)
    expect(waiting).toMatchObject({ state: 'error', error: { code: 'OVERLOADED', key: 'waits' } })
    expect(failures).toEqual([])
  })
})

test('the rate of a source is never passed within any window, and is used', async () => {
  const { a, b, clock } = limited({ rate: { loads: 10, per: 1_000 } })
  const begun: number[] = []
  const loader = (): string => {
    begun.push(clock.now())
    return 'v'
  }
  for (const cache of [a, b]) {
    for (let key = 0; key < 30; key++) void answerOf(cache.getOrLoad(`${cache === a}${key}`, loader, pg))
  }
  for (let ms = 0; ms < 8_000; ms += 50) await clock.advance(50)
  expect(begun).toHaveLength(60)
  for (const at of begun) expect(begun.filter((each) => each >= at && each < at + 1_000).length).toBeLessThanOrEqual(10)
  expect((begun.at(-1) ?? 0) - (begun[0] ?? 0)).toBeLessThanOrEqual(5_800)
})

test.for([
  { rate: { loads: 3, per: 1_000 } },
  { concurrency: 3 },
  { concurrency: 3, rate: { loads: 9, per: 1_000 } },
  { concurrency: 9, rate: { loads: 3, per: 1_000 } },
])('a source that lets nobody wait refuses none that need not, with %j', async (limits) => {
  const { a, clock, source } = limited({ ...limits, maxQueued: 0 })
  const answers = await allAsked(ask(a, 'k', 4, source))
  answers.push(await asked(a.getOrLoad('late', source.loader, pg)))
  expect(source.runs).toHaveLength(3)
  expect(answers.slice(3)).toEqual([
    expect.objectContaining({ error: expect.objectContaining({ code: 'OVERLOADED' }) as unknown }),
    expect.objectContaining({ error: expect.objectContaining({ code: 'OVERLOADED' }) as unknown }),
  ])
  await endAll(source, 0)
  await clock.advance(1_100)
  await allAsked(ask(a, 'next', 1, source))
  expect(source.runs).toHaveLength(4)
})

describe('a source that fails', () => {
  test('sees a falling part of the loads, and all of them again once it has healed', async () => {
    const { a, clock } = limited({ concurrency: 100 }, { failureCooldown: 0 })
    let isDown = true
    let runs = 0
    const loader = (): string => {
      runs++
      if (isDown) throw new Error('down')
      return 'v'
    }
    const second = async (name: string): Promise<unknown[]> => {
      runs = 0
      const answers: unknown[] = []
      for (let part = 0; part < 10; part++) {
        answers.push(
          ...answersOf(Array.from({ length: 10 }, (_, key) => a.getOrLoad(`${name}${part}:${key}`, loader, pg))),
        )
        await clock.advance(100)
      }
      return answers
    }
    await second('first')
    const answers = await second('second')
    expect(runs).toBeLessThan(40)
    expect(answers).toContainEqual(
      expect.objectContaining({
        error: expect.objectContaining({ code: 'OVERLOADED', cause: new Error('down') }) as unknown,
      }),
    )
    isDown = false
    for (let at = 0; at < 12; at++) await second(`healing${at}`)
    await second('healed')
    expect(runs).toBe(100)
  })

  test('is not held to be down for errors that are answers, or without the throttle', async () => {
    for (const [limits, options] of [
      [{ concurrency: 100 }, { errorKind: () => 'answer' as const }],
      [{ concurrency: 100, throttle: false }, {}],
    ] as const) {
      expect(await runsOf(limited(limits, options).a, new Error('no such row'))).toBe(60)
    }
  })

  test('is seen to fail by loaders that throw undefined', async () => {
    const { a } = limited({ concurrency: 100 }, { failureCooldown: 0 })
    expect(await runsOf(a, undefined)).toBeLessThan(60)
  })

  test('that refuses some loads has its limit lowered, second by second, and raised again', async () => {
    const { a, b, clock } = limited(
      { concurrency: 10, adaptive: { least: 2 }, throttle: false },
      { failureCooldown: 0 },
    )
    const source = new Source<string>()
    const running = async (): Promise<number> => {
      const from = source.runs.length
      await allAsked(ask(b, `after ${from}: `, 20, source, { ...pg, waitTimeout: 900_000 }))
      const now = source.runs.length - from
      for (let ended = from; ended < source.runs.length;) ended = await endAll(source, ended)
      return now
    }
    expect(await running()).toBe(10)
    for (let second = 0; second < 6; second++) {
      await clock.advance(1_000)
      await asked(a.getOrLoad(`w${second}`, () => 'v', pg))
      const answer = await asked(
        a.getOrLoad(`x${second}`, () => Promise.reject(Object.assign(new Error('full'), { code: '53300' })), pg),
      )
      expect(answer).toMatchObject({ error: { code: '53300' } })
    }
    expect(await running()).toBe(2)
    for (let second = 0; second < 12; second++) {
      await clock.advance(1_000)
      await asked(a.getOrLoad(`y${second}`, () => 'v', pg))
      await asked(b.getOrLoad(`z${second}`, () => 'v', pg))
    }
    expect(await running()).toBe(10)
  })
})

describe('many keys of one call', () => {
  test.for([
    ['', undefined],
    [', beside near copies', {}],
  ] as const)('share a permit, and those that wait for one travel together%s', async ([, near]) => {
    const clock = new FakeClock()
    const sources = { pg: { concurrency: 1, maxBatch: 3 } }
    const store = Object.assign(memoryStore({ clock }), { near: undefined })
    const a = createCache({ store, clock, sources, near, warnings: false })
    const queries: { keys: readonly string[]; end: () => void }[] = []
    const loadMany = (keys: readonly string[]): Promise<string[]> =>
      new Promise((resolve) => queries.push({ keys, end: () => resolve(keys.map((key) => `v ${key}`)) }))
    const first = await asked(a.getOrLoadMany(['a', 'b'], loadMany, pg))
    const second = await asked(a.getOrLoadMany(['c', 'd', 'e', 'f'], loadMany, pg))
    expect(queries.map(({ keys }) => keys)).toEqual([['a', 'b']])
    for (let ended = 0; ended < 3; ended++) {
      queries[ended]?.end()
      await settled()
    }
    expect(queries.map(({ keys }) => keys)).toEqual([['a', 'b'], ['c', 'd', 'e'], ['f']])
    expect([first, second]).toEqual([valued(['v a', 'v b']), valued(['v c', 'v d', 'v e', 'v f'])])
  })

  test('wait as callers do if one of them is missing, though another is refreshed behind its stale value', async () => {
    const { a, clock, source } = limited({ concurrency: 1 }, { ttl: 1_000, grace: 60_000 })
    await a.set('stale', 'old')
    await clock.advance(2_000)
    await allAsked(ask(a, 'busy', 1, source))
    const loaded: (readonly string[])[] = []
    const loadMany = (keys: readonly string[]): readonly string[] => {
      loaded.push(keys)
      return keys
    }
    const answer = await asked(a.getOrLoadMany(['stale', 'missing'], loadMany, pg))
    await allAsked(ask(a, 'later', 1, source))
    await source.resolve(0, 'v')
    expect([loaded, answer]).toEqual([[['stale', 'missing']], valued(['old', 'missing'])])
    expect(source.runs.map(({ context }) => context.key)).toEqual(['busy0', 'later0'])
  })

  test('leave their permit to each other when one of them needs it no more', async () => {
    const { a } = limited({ concurrency: 1 })
    const other = new Source<string>()
    const ends: (() => void)[] = []
    const end = (): Promise<void> => new Promise((resolve) => ends.push(resolve))
    const outer = (): Promise<unknown> => end().then(() => a.getOrLoad('k1', () => 'v', pg))
    await asked(a.getOrLoad('outer', outer, pg))
    const answer = await asked(a.getOrLoadMany(['k1', 'k2'], (keys) => end().then(() => keys), pg))
    // The loader brings its own permit along for the one, and then gives it to the other.
    for (const ended of [0, 1]) {
      ends[ended]?.()
      await settled()
    }
    await allAsked(ask(a, 'other', 1, other))
    expect([ends.length, other.runs.length]).toEqual([3, 0])
    ends[2]?.()
    await settled()
    expect([answer, other.runs.length]).toEqual([valued(['k1', 'k2']), 1])
  })
})

describe('without the store', () => {
  test('each process goes on with its share of the limit', async () => {
    const { a, b, ways, clock } = limited({ concurrency: 6 }, { commandTimeout: 500 })
    const [one, two] = [new Source<string>(), new Source<string>()]
    await allAsked([a.getOrLoad('a', () => 'v', pg), b.getOrLoad('b', () => 'v', pg), a.getOrLoad('c', () => 'v', pg)])
    for (const way of [ways.a, ways.b]) way.mode = 'failing'
    void answersOf([...ask(a, 'x', 10, one), ...ask(b, 'y', 10, two)])
    await clock.advance(600)
    expect([one.runs.length, two.runs.length]).toEqual([3, 3])
    await one.resolve(0, 'v')
    expect(one.runs).toHaveLength(4)
  })

  test('a load that waits for its permit has a lease if the store is back by then', async () => {
    const { a, b, ways, clock, source } = limited({ concurrency: 1 }, { commandTimeout: 500 })
    ways.a.mode = 'failing'
    void answerOf(a.getOrLoad('busy', source.loader, pg))
    await clock.advance(600)
    const waiting = await asked(a.getOrLoad('k', source.loader, pg))
    await clock.advance(600)
    ways.a.mode = 'answering'
    await clock.advance(1_000)
    expect(source.runs.map(({ context }) => context.fence)).toEqual([null])
    await source.resolve(0, 'v')
    await clock.advance(1_000)
    expect(source.runs.map(({ context }) => [context.key, context.fence !== null])).toEqual([
      ['busy', false],
      ['k', true],
    ])
    await source.resolve(1, 'v')
    expect(waiting).toEqual(valued('v'))
    expect(await b.peek('k')).toMatchObject({ value: 'v' })
  })

  test('each process goes on with its share of a rate', async () => {
    const { a, b, ways, clock } = limited({ rate: { loads: 10, per: 1_000 } }, { commandTimeout: 100 })
    await allAsked([a.getOrLoad('a', () => 'v', pg), b.getOrLoad('b', () => 'v', pg), a.getOrLoad('c', () => 'v', pg)])
    for (const way of [ways.a, ways.b]) way.mode = 'failing'
    const begun: number[] = []
    for (let key = 0; key < 30; key++) void answerOf(a.getOrLoad(`x${key}`, () => begun.push(clock.now()), pg))
    for (let ms = 0; ms < 5_000; ms += 50) await clock.advance(50)
    for (const at of begun)
      expect(begun.filter((each) => each >= at && each < at + 1_000).length).toBeLessThanOrEqual(5)
    expect(begun.length).toBeGreaterThan(15)
  })

  test('which has forgotten everybody, a process has no more than its share until the others have reported', async () => {
    const { a, b, clock, ways } = limited({ concurrency: 4 })
    const [one, two] = [new Source<string>(), new Source<string>()]
    await allAsked(ask(a, 'a', 4, one))
    const waiting = await allAsked(ask(b, 'b', 4, two))
    ;(ways.a as unknown as { store: { permits: { clear(): void } } }).store.permits.clear()
    await clock.advance(500)
    expect(two.runs.length).toBeLessThanOrEqual(2)
    await clock.advance(1_500)
    expect(two.runs.length).toBeLessThanOrEqual(2)
    expect(waiting).toContainEqual(pending)
  })
})

test.for([
  ['of an application', (clock: FakeClock) => Object.assign(memoryStore({ clock }), { permits: undefined })],
  ['made of a key-value store and a lock', (clock: FakeClock) => locked(keyValue(), memoryLock({ clock }))],
] as const)(
  'on a store without permits %s, a process reports what it holds once a second, and nothing more once that is nothing',
  async ([, storeOn]) => {
    const clock = new FakeClock()
    const cache = createCache({ store: storeOn(clock), clock, sources: { pg: { concurrency: 2 } }, warnings: false })
    const source = new Source<string>()
    const held: number[] = []
    cache.on('permits', (event) => {
      // It was reported without end, in one turn of the event loop: a test that fails must end.
      if (held.push(event.held) === 100) void cache.close()
    })
    const answers = answersOf(ask(cache, 'k', 3, source))
    await clock.advance(1_100)
    expect(source.runs).toHaveLength(2)
    for (let ended = 0; ended < 3; ended++) await source.resolve(ended, 'v')
    await clock.advance(5_000)
    expect(answers).toEqual([valued('v'), valued('v'), valued('v')])
    expect(held.length).toBeLessThan(10)
    expect(held.at(-1)).toBe(0)
  },
)

describe('two caches of a process that name one source', () => {
  function both(one: Limits, other: Limits): readonly [Cache, Cache] {
    const clock = new FakeClock()
    const store = memoryStore({ clock })
    const options = { store, clock, warnings: false, failureCooldown: 0 }
    return [createCache({ ...options, sources: { pg: one } }), createCache({ ...options, sources: { pg: other } })]
  }

  test.for([
    ['maxQueued', { concurrency: 1 }, { concurrency: 1, maxQueued: 1 }, 2],
    ['rate', { rate: { loads: 9, per: '1m' }, maxQueued: 0 }, { rate: { loads: 3, per: '1m' } }, 3],
  ] as const)('have the smaller `%s`', async ([, one, other, begun]) => {
    for (const [cache] of [both(one, other), both(other, one)]) {
      const answers = await allAsked(ask(cache, 'k', begun + 1, new Source<string>()))
      expect(answers.map(({ state }) => state)).toEqual([...answers.slice(1).map(() => 'pending'), 'error'])
    }
  })

  test('have the smaller `maxBatch`', async () => {
    const [cache] = both({ concurrency: 1 }, { concurrency: 1, maxBatch: 2 })
    const source = new Source<string>()
    await allAsked(ask(cache, 'busy', 1, source))
    const sizes: number[] = []
    const answer = await asked(cache.getOrLoadMany(['a', 'b', 'c'], (keys) => (sizes.push(keys.length), keys), pg))
    await source.resolve(0, 'v')
    expect([answer, sizes]).toEqual([valued(['a', 'b', 'c']), [2, 1]])
  })

  test('have no throttle if one switches it off', async () => {
    const [cache] = both({ concurrency: 100 }, { concurrency: 100, throttle: false })
    expect(await runsOf(cache, new Error('down'))).toBe(60)
  })

  const isRefusal = (error: unknown): boolean => error === 'full'
  test.for([
    [{}, { adaptive: { isRefusal } }, 'full'],
    [{ adaptive: true }, { adaptive: { isRefusal } }, 'full'],
    [{ adaptive: true }, { adaptive: { isRefusal } }, Object.assign(new Error('busy'), { status: 429 })],
  ] as const)('have a limit that adapts to what either takes for a refusal', async ([one, other, refusal]) => {
    const [cache] = both({ concurrency: 10, ...one }, { concurrency: 10, ...other })
    await asked(cache.getOrLoad('refused', () => Promise.reject(refusal), pg))
    const source = new Source<string>()
    await allAsked(ask(cache, 'k', 11, source))
    expect(source.runs).toHaveLength(7)
  })

  test('must not name rates of two times, of which neither says what the other does', () => {
    const rates = (): unknown => both({ rate: { loads: 9, per: '1m' } }, { rate: { loads: 1, per: '1s' } })
    expect(rates).toThrow(TypeError)
    expect(rates).toThrow(
      'Expected the `rate` of the source "pg" (string) to have the `per` of the other caches on its store, 60000, got 1000',
    )
  })
})

describe('the option `sources`', () => {
  test('may have an `isRefusal` that throws: the load ends all the same, with a warning', async () => {
    const warned = new Promise<Error>((resolve) => process.once('warning', resolve))
    const isRefusal = (error: unknown): boolean => (error as { response: { status: number } }).response.status === 429
    const { a, b, clock } = limited({ concurrency: 1, adaptive: { isRefusal }, throttle: false })
    await clock.advance(1_000)
    const thrown = new Error('reset')
    expect(await asked(a.getOrLoad('k', () => Promise.reject(thrown), pg))).toMatchObject({ error: thrown })
    expect(await asked(b.getOrLoad('other', () => 'v', pg))).toEqual(valued('v'))
    expect((await warned).message).toContain('The option `isRefusal` threw')
  })

  test.each([
    [{ pg: {} }, 'Expected the source "pg" (string) to have a `concurrency` or a `rate`, got neither'],
    [{ pg: { concurrency: 0 } }, 'Expected `concurrency` to be a whole number of at least 1, got 0 (number)'],
    [{ pg: { rate: { loads: 1 } } }, 'Expected `rate` to have `loads` and `per`'],
    [{ pg: { rate: { loads: 1, per: '1s' }, adaptive: true } }, 'Expected `concurrency` beside `adaptive`'],
    [
      { pg: { concurrency: 5, adaptive: { least: 6 } } },
      'Expected the `least` of `adaptive` to be at most the `concurrency` of "pg" (string), 5, got 6',
    ],
    [{ pg: { concurrency: 5, adaptive: [] } }, 'Expected the options of adaptive to be an object, got'],
    [{ '': { concurrency: 1 } }, 'Expected `sources` to be the name of a source'],
    [new Map(), 'Expected `sources` to be an object with the limits of each source'],
    [[], 'Expected `sources` to be an object with the limits of each source'],
  ])('refuses %j', (sources, message) => {
    expect(() => fleet({ sources: sources as never })).toThrow(TypeError)
    expect(() => fleet({ sources: sources as never })).toThrow(message)
  })

  test('must have the source that a call names', async () => {
    const { a } = limited({ concurrency: 1 })
    const answer = await asked(a.getOrLoad('k', () => 'v', { source: 'mysql' }))
    expect(answer).toMatchObject({ error: new TypeError('Expected `source` to be one of pg, got "mysql" (string)') })
    expect((answer as { error: unknown }).error).not.toBeInstanceOf(CacheError)
    expect(() => fleet({ source: 'pg' })).toThrow(
      'Expected `source` to be one of the option `sources`, which has none, got "pg" (string)',
    )
  })
})

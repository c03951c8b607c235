import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, expect, test } from 'vitest'
import type { Cache, Trace, TraceOutcome, Tracer } from '../../../src/index.ts'
import { settled } from '../../support/fake-clock.ts'
import { answerOf, asked } from '../support/answer.ts'
import { fleet } from '../support/fleet.ts'
import { loading } from '../support/source.ts'

/** What became of each thing that was traced, in the order of their beginnings. */
class Recorder implements Tracer {
  readonly #name: string
  readonly told: { what: string; follows: string[]; end?: TraceOutcome; code?: string }[] = []
  readonly running = new AsyncLocalStorage<string>()

  constructor(cache: Cache, name: string) {
    this.#name = name
    cache.trace(this)
  }

  begin(what: 'claim' | 'load' | 'wait'): Trace {
    const one: Recorder['told'][number] = { what, follows: [] }
    const context = `${this.#name}${this.told.push(one)}`
    return {
      context,
      becomes: (now) => void (one.what = now),
      follows: (other) => void one.follows.push(other),
      run: (work) => this.running.run(context, work),
      end: (outcome, error) => {
        one.end ??= outcome
        if (one.end === outcome && error !== undefined) one.code = error.code
      },
    }
  }
}

describe('a tracer is told', () => {
  test('of a load, which runs inside it, and of nothing when a value is served', async () => {
    const { a } = fleet()
    const traces = new Recorder(a, 'a')
    const inside = await a.getOrLoad('k', async () => {
      await settled()
      return traces.running.getStore()
    })
    expect(inside).toBe('a1')
    for (let hit = 0; hit < 3; hit++) await a.getOrLoad('k', () => 'w')
    expect(traces.told).toEqual([{ what: 'load', follows: [], end: 'value' }])
  })

  test('of a wait for another process, and what that calls its load', async () => {
    const { a, b, clock } = fleet()
    const [of, other] = [new Recorder(a, 'a'), new Recorder(b, 'b')]
    const { source } = await loading(a)
    answerOf(b.getOrLoad('k', source.loader))
    // Long enough to ask again several times.
    await clock.advance(2_000)
    expect((await b.explain('k')).load?.context).toBe('a1')
    await source.resolve(0, 'v')
    expect(of.told).toEqual([{ what: 'load', follows: [], end: 'value' }])
    expect(other.told).toEqual([{ what: 'wait', follows: ['a1'], end: 'value' }])
  })

  test('of waits within a process, and of those who leave', async () => {
    const { a } = fleet()
    const traces = new Recorder(a, 'a')
    const controller = new AbortController()
    const { source } = await loading(a)
    answerOf(a.getOrLoad('k', source.loader))
    await asked(a.getOrLoad('k', source.loader, { signal: controller.signal }))
    controller.abort()
    await settled()
    expect(traces.told.map(({ end }) => end)).toEqual([undefined, undefined, 'left'])
    await source.resolve(0, 'v')
    expect(traces.told).toEqual([
      { what: 'load', follows: [], end: 'value' },
      { what: 'wait', follows: ['a1'], end: 'value' },
      { what: 'wait', follows: ['a1'], end: 'left' },
    ])
  })

  test('of a caller that waits for a refresh in the background', async () => {
    const { a, clock, source } = fleet({ ttl: '1s', grace: '1m' })
    const traces = new Recorder(a, 'a')
    await a.set('k', 'old')
    await clock.advance(2_000)
    await a.getOrLoad('k', source.loader)
    await settled()
    await asked(a.refresh('k', source.loader))
    await source.resolve(0, 'v')
    expect(traces.told).toEqual([
      { what: 'load', follows: [], end: 'value' },
      { what: 'wait', follows: ['a1'], end: 'value' },
    ])
  })

  test('of a load that is voided, and what comes next for all', async () => {
    const { a, b, c } = fleet()
    const [of, other] = [new Recorder(a, 'a'), new Recorder(b, 'b')]
    const { source } = await loading(a)
    await asked(b.getOrLoad('k', source.loader))
    await c.invalidate('k')
    await settled()
    expect(source.runs).toHaveLength(2)
    await source.resolve(1, 'v')
    expect(of.told[0]).toEqual({ what: 'load', follows: [], end: 'lost', code: 'LEASE_LOST' })
    expect(other.told[0]).toEqual({ what: 'wait', follows: ['a1'], end: 'again' })
    // One of them loads, and the other waits for that very load.
    const [second, third] = [of.told[1], other.told[1]]
    const [name, load, wait] = second?.what === 'load' ? ['a2', second, third] : ['b2', third, second]
    expect(load).toEqual({ what: 'load', follows: [], end: 'value' })
    expect(wait).toMatchObject({ what: 'wait', follows: [name], end: 'value' })
  })

  test('that a wait came to a load of its own, because the holder is gone', async () => {
    const { a, b, c, ways, clock } = fleet({ leaseTtl: '3s' })
    const [waiter, third] = [new Recorder(b, 'b'), new Recorder(c, 'c')]
    const { source } = await loading(a)
    await asked(b.getOrLoad('k', source.loader))
    ways.a.mode = 'silent'
    await clock.advance(3_500)
    expect(source.runs.length).toBeGreaterThan(1)
    await asked(c.getOrLoad('k', source.loader))
    source.runs.at(-1)?.resolve('v')
    await settled()
    // The holder said nothing of itself.
    expect(waiter.told).toEqual([
      { what: 'wait', follows: [''], end: 'lease' },
      { what: 'load', follows: ['b1'], end: 'value' },
    ])
    expect(third.told).toEqual([{ what: 'wait', follows: ['b1'], end: 'value' }])
  })

  test('of what fails, here and elsewhere, what must not be stored, and claims that come to nothing', async () => {
    const { a, b } = fleet({ failureCooldown: '10s' })
    const [of, other] = [new Recorder(a, 'a'), new Recorder(b, 'b')]
    await asked(a.getOrLoad('bad', () => Promise.reject(new Error('down'))))
    await asked(b.getOrLoad('bad', () => 'v'))
    await asked(a.getOrLoad('own', ({ doNotStore }) => doNotStore()))
    await asked(b.getOrLoad('own', () => 'v'))
    expect(of.told).toEqual([
      { what: 'load', follows: [], end: 'failed', code: 'LOAD_FAILED' },
      { what: 'load', follows: [], end: 'pass' },
    ])
    expect(other.told).toEqual([
      { what: 'claim', follows: [], end: 'failed', code: 'LOAD_FAILED' },
      { what: 'claim', follows: [], end: 'pass' },
      { what: 'load', follows: [], end: 'value' },
    ])
  })

  test('of a load without a lease, which runs inside it', async () => {
    const { a, ways } = fleet()
    const traces = new Recorder(a, 'a')
    ways.a.mode = 'failing'
    expect(await a.getOrLoad('k', () => traces.running.getStore())).toMatch(/^a\d$/)
    expect(traces.told.at(-1)).toEqual({ what: 'load', follows: [], end: 'value' })
    await expect(a.getOrLoad('l', () => Promise.reject(new Error('down')))).rejects.toThrow('down')
    expect(traces.told.at(-1)).toEqual({ what: 'load', follows: [], end: 'failed', code: 'LOAD_FAILED' })
    expect(traces.told.every(({ end }) => end !== undefined)).toBe(true)
  })
})

test('a context that is too long is not sent, for a part of it would name something else', async () => {
  const { a, b } = fleet()
  const traces = new Recorder(a, 'x'.repeat(256))
  const waits = new Recorder(b, 'b')
  const { source } = await loading(a)
  await asked(b.getOrLoad('k', source.loader))
  expect([traces.told.length, waits.told[0]?.follows]).toEqual([1, ['']])
})

test('a cache has one tracer at a time', async () => {
  const { a } = fleet()
  const told: string[] = []
  const tracer: Tracer = {
    begin(what, key): never {
      told.push(`${what} ${key}`)
      throw new Error('not asked for')
    },
  }
  expect(() => a.trace({} as Tracer)).toThrow('Expected `tracer` to be an object with begin()')
  const stop = a.trace(tracer)
  expect(() => a.trace(tracer)).toThrow(TypeError)
  stop()
  const stopAgain = a.trace({ ...tracer })
  stop()
  expect(() => a.trace(tracer)).toThrow(TypeError)
  stopAgain()
  await a.getOrLoad('k', () => 'v')
  expect(told).toEqual([])
})

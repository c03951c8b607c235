import { describe, expect, test } from 'vitest'
import type { LoadContext } from '../../../src/index.ts'
import { settled } from '../../support/fake-clock.ts'
import { answerOf } from '../support/answer.ts'
import { fleet } from '../support/fleet.ts'

test('the context of a loader can be taken apart', async () => {
  const { a } = fleet()
  const value = await a.getOrLoad('k', ({ key, ...rest }) => {
    rest.doNotStore()
    return `${key}: ${Object.keys(rest).join(' ')}`
  })
  expect(value).toBe('k: signal fence stale ttl grace tags validators notModified doNotStore')
  expect(await a.peek('k')).toEqual({ state: 'missing' })
})

describe('a loader', () => {
  test('may be synchronous', async () => {
    const { a, b } = fleet()
    expect(await a.getOrLoad('k', () => 'v')).toBe('v')
    expect(await b.getOrLoad('k', () => 'wrong')).toBe('v')
  })

  test('may return any thenable', async () => {
    const { a } = fleet()
    // oxlint-disable-next-line unicorn/no-thenable -- the query builders of some databases are such objects
    const thenable = { then: (resolve: (value: string) => void) => resolve('v') }
    expect(await a.getOrLoad('k', () => thenable as unknown as Promise<string>)).toBe('v')
  })

  test.for([
    ['undefined', undefined],
    ['null', null],
    ['false', false],
    ['zero', 0],
    ['an empty text', ''],
    ['NaN', Number.NaN],
  ] as const)('may return %s, and is not run again for it', async ([, value]) => {
    const { a, b } = fleet()
    let runs = 0
    const loader = () => (runs++, value)
    expect(await a.getOrLoad('k', loader)).toBe(value)
    expect(await b.getOrLoad('k', loader)).toBe(value)
    expect(runs).toBe(1)
    expect(await b.peek('k')).toMatchObject({ state: 'fresh', value })
  })

  test('that throws before its first await fails like any other', async () => {
    const { a } = fleet()
    const cause = new Error('down')
    const loader = (): string => {
      throw cause
    }
    await expect(a.getOrLoad('k', loader)).rejects.toBe(cause)
  })

  test.for([
    ['a text', 'down', 'down'],
    ['undefined', undefined, 'undefined'],
    ['null', null, 'null'],
    ['an object without a prototype', Object.create(null), 'a value that cannot be shown was thrown'],
  ] as const)('that throws %s fails like any other', async ([, thrown, said]) => {
    const { a } = fleet()
    await expect(a.getOrLoad('k', () => Promise.reject(thrown))).rejects.toMatchObject({
      code: 'LOAD_FAILED',
      message: `Loading "k" failed: ${said}`,
      cause: thrown,
    })
  })

  test('that throws an error which cannot be shown fails like any other, and does not hang', async () => {
    const { a, clock } = fleet()
    const thrown = Object.defineProperty(new Error('x'), 'message', { value: Symbol('not a text') })
    const answer = answerOf(a.getOrLoad('k', () => Promise.reject(thrown)))
    await clock.advance(10_000)
    expect(answer).toMatchObject({ state: 'error', error: thrown })
  })

  test('may go on changing what it has returned: what is stored does not change', async () => {
    const { a, b } = fleet()
    const value = { list: [1] }
    await a.getOrLoad('k', () => {
      setImmediate(() => value.list.push(2))
      return value
    })
    await settled()
    expect(value.list).toEqual([1, 2])
    expect(await b.getOrLoad('k', () => ({ list: [9] }))).toEqual({ list: [1] })
  })

  test('may say no ttl that is none', async () => {
    const { a } = fleet()
    for (const bad of [0, -1, Number.NaN, '5 m']) {
      const loading = a.getOrLoad(`k ${bad}`, ({ ttl }) => (ttl(bad as number), 'v'))
      await expect(loading).rejects.toMatchObject({ name: 'TypeError' })
    }
  })

  test('may say what it has to say any number of times, and too late', async () => {
    const { a, b, clock } = fleet()
    let kept!: LoadContext
    await a.getOrLoad('k', (context) => {
      kept = context
      context.ttl('1h')
      context.ttl('2s')
      return 'v'
    })
    kept.ttl('1h')
    kept.doNotStore()
    await clock.advance(1_999)
    expect(await b.peek('k')).toMatchObject({ state: 'fresh' })
    await clock.advance(1)
    expect(await b.peek('k')).toEqual({ state: 'missing' })
  })

  test('has a signal that is never aborted when all goes well', async () => {
    const { a, clock } = fleet({ hardTimeout: '1s' })
    let signal!: AbortSignal
    await a.getOrLoad('k', (context) => ((signal = context.signal), 'v'))
    await a.invalidate('k')
    await clock.advance(60_000)
    expect(signal.aborted).toBe(false)
  })
})

import { describe, expect, test } from 'vitest'
import type { LoadContext } from '../../../src/index.ts'
import { settled } from '../../support/fake-clock.ts'
import { asked } from '../support/answer.ts'
import { fleet } from '../support/fleet.ts'

test('the context of a loader can be taken apart', async () => {
  const { a } = fleet()
  const value = await a.getOrLoad('k', ({ key, ...rest }) => {
    rest.doNotStore()
    return `${key}: ${Object.keys(rest).toSorted().join(' ')}`
  })
  expect(value).toBe('k: doNotStore fence grace notModified signal stale tags ttl validators')
  expect(await a.peek('k')).toEqual({ state: 'missing' })
})

describe('a loader', () => {
  test.for([
    ['a text', 'down', 'down'],
    ['undefined', undefined, 'undefined'],
    ['null', null, 'null'],
    ['a number', 7, '7'],
    ['an object', { a: 1 }, '[object Object]'],
    ['a symbol', Symbol('s'), 'Symbol(s)'],
    ['an object without a prototype', Object.create(null), 'a value that cannot be shown was thrown'],
  ] as const)('that throws %s fails like any other', async ([, thrown, said]) => {
    const { a } = fleet()
    await expect(a.getOrLoad('k', () => Promise.reject(thrown))).rejects.toMatchObject({
      code: 'LOAD_FAILED',
      message: `Loading "k" failed: ${said}`,
      cause: thrown,
    })
  })

  test.for([
    ['a symbol', Symbol('not a text')],
    ['an object that cannot be shown', Object.create(null)],
    ['a number', 7],
    ['undefined', undefined],
  ] as const)(
    'that throws an error whose message is %s fails like any other, and does not hang',
    async ([, message]) => {
      const { a } = fleet()
      const thrown = Object.defineProperty(new Error('x'), 'message', { value: message })
      expect(await asked(a.getOrLoad('k', () => Promise.reject(thrown)))).toMatchObject({
        state: 'error',
        error: thrown,
      })
    },
  )

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

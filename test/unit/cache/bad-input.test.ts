import { deepStrictEqual } from 'node:assert'
import { describe, expect, test } from 'vitest'
import { settled } from '../../support/fake-clock.ts'
import { allAsked, valued } from '../support/answer.ts'
import { fleet } from '../support/fleet.ts'
import { throwing } from '../support/source.ts'

describe('a loader that settles more than once', () => {
  interface Settle {
    (resolve: (value: string) => void, reject: (error: unknown) => void): void
  }

  test.for<[string, Settle, object]>([
    ['with two values', (resolve) => (resolve('first'), resolve('second')), valued('first')],
    [
      'with a value, then an error',
      (resolve, reject) => (resolve('first'), reject(new Error('second'))),
      valued('first'),
    ],
    [
      'with an error, then a value',
      (resolve, reject) => (reject(new Error('first')), resolve('second')),
      { state: 'error' },
    ],
    [
      'with a value, and then throws',
      (resolve) => {
        resolve('first')
        throw new Error('second')
      },
      valued('first'),
    ],
    [
      'with a value now and another later',
      (resolve) => (resolve('first'), setImmediate(resolve, 'second')),
      valued('first'),
    ],
  ])('%s, has settled with the first', async ([, settle, expected]) => {
    const { a, b } = fleet({ failureCooldown: 0 })
    let runs = 0
    // oxlint-disable-next-line unicorn/no-thenable -- a promise settles once; not so what only looks like one
    const thenable = { then: settle } as unknown as Promise<string>
    const loader = (): Promise<string> => (runs++, thenable)
    const answers = await allAsked([a, b].map((cache) => cache.getOrLoad('k', loader)))
    await settled()
    expect(answers).toMatchObject([expected, expected])
    expect(runs).toBe(1)
    expect(await b.getOrLoad('k', () => 'first')).toBe('first')
  })

  test('with a thenable that throws when it is looked at fails like any other', async () => {
    const { a } = fleet()
    const cause = new Error('no')
    // oxlint-disable-next-line unicorn/no-thenable -- as above
    const thenable = Object.defineProperty({}, 'then', { get: throwing(cause) })
    await expect(a.getOrLoad('k', () => thenable)).rejects.toBe(cause)
  })
})

const bytes = Uint8Array.of(0, 255, 1, 2, 3, 4, 5, 6)
test.for<[string, unknown]>([
  ['a bigint', 2n ** 70n],
  ['a Date', new Date(5)],
  ['a Map', new Map<unknown, unknown>([[{ a: 1 }, new Set([1n])]])],
  ['a Buffer', Buffer.from(bytes)],
  ['a Uint8Array', bytes],
  ['an ArrayBuffer', bytes.buffer],
  ['a DataView', new DataView(bytes.buffer, 2, 4)],
  ['zero', 0],
  ['minus zero', -0],
  ['NaN', Number.NaN],
  ['Infinity', Infinity],
  ['undefined', undefined],
  ['null', null],
  ['false', false],
  ['an empty text', ''],
  ['an object without a prototype', Object.assign(Object.create(null), { a: [undefined, null] })],
  ['an object whose keys are those of prototypes', JSON.parse('{"__proto__":1,"constructor":{"prototype":2}}')],
])('a hit has the type of the miss before it, where that is %s', async ([, value]) => {
  const { a, b } = fleet()
  const miss = await a.getOrLoad('k', () => value)
  const hits = [await a.getOrLoad('k', () => 'wrong'), await b.getOrLoad('k', () => 'wrong')]
  expect(b.stats().loads).toBe(0)
  expect(() => deepStrictEqual([miss, ...hits], [value, value, value])).not.toThrow()
  const { value: peeked } = (await b.peek('k')) as { value: unknown }
  expect(() => deepStrictEqual(peeked, value)).not.toThrow()
})

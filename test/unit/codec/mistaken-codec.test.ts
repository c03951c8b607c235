import { describe, expect, test } from 'vitest'
import { createCache, memoryStore, type Codec } from '../../../src/index.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { allAsked, asked, valued } from '../support/answer.ts'
import { throwing } from '../support/source.ts'

/** Two processes on one store: one with a codec that makes a mistake, one whose codec is right. */
function mistaken(codec: Partial<Record<keyof Codec, () => unknown>>) {
  const clock = new FakeClock()
  const store = memoryStore({ clock })
  const right: Codec = {
    encode: (value) => Buffer.from(JSON.stringify(value)),
    decode: (payload) => JSON.parse(payload.toString()) as unknown,
  }
  const a = createCache({
    store,
    clock,
    failureCooldown: 0,
    unstorable: 'throw',
    codec: { ...right, ...codec } as Codec,
  })
  const garbage: unknown[] = []
  a.on('garbage', ({ cause }) => garbage.push(cause))
  return { a, b: createCache({ store, clock, codec: right }), garbage }
}

describe('a codec that encodes', () => {
  test.for([
    ['to nothing', undefined, 'undefined'],
    ['to null', null, 'null'],
    ['to a text', 'hunter2', 'a string'],
    ['to a list of bytes', [1, 2], 'an instance of Array'],
    ['to the memory of its bytes', new ArrayBuffer(2), 'an instance of ArrayBuffer'],
    ['to wider numbers', new Uint16Array([300]), 'an instance of Uint16Array'],
    ['to a view of bytes', new DataView(new ArrayBuffer(2)), 'an instance of DataView'],
    ['to something with a length', { byteLength: 1 }, 'an instance of Object'],
    ['some other time', async () => Buffer.from('1'), 'an instance of Promise'],
    ['never', async () => Promise.reject(new Error('too late')), 'an instance of Promise'],
  ] as const)('%s is told so, whoever loads or sets, and its lease is free', async ([, encoded, got]) => {
    const { a, b } = mistaken({ encode: () => (typeof encoded === 'function' ? encoded() : encoded) })
    const message = `The value of "k" cannot be stored: Expected encode() of the codec to return a Uint8Array, got ${got}`
    const error = { code: 'VALUE_NOT_SERIALIZABLE', key: 'k', message }
    expect(await allAsked<unknown>([a.getOrLoad('k', () => 'v'), a.set('k', 'v')])).toMatchObject([
      { state: 'error', error },
      { state: 'error', error },
    ])
    expect(await asked(b.getOrLoad('k', () => 'right'))).toEqual(valued('right'))
  })

  test.for([
    ['an error', new RangeError('too big'), 'too big'],
    ['a text', 'no', 'no'],
    ['nothing', undefined, 'undefined'],
    ['what cannot be shown', Object.create(null), 'a value that cannot be shown was thrown'],
  ] as const)('by throwing %s is told what, and its lease is free', async ([, thrown, said]) => {
    const { a, b } = mistaken({ encode: throwing(thrown) })
    expect(await asked(a.getOrLoad('k', () => 'v'))).toMatchObject({
      state: 'error',
      error: { code: 'VALUE_NOT_SERIALIZABLE', message: `The value of "k" cannot be stored: ${said}`, cause: thrown },
    })
    expect(await asked(b.getOrLoad('k', () => 'right'))).toEqual(valued('right'))
  })

  test('to no bytes at all is not mistaken', async () => {
    const { a } = mistaken({ encode: () => new Uint8Array(0), decode: () => 'empty' })
    await a.set('k', 'v')
    expect(await a.peek('k')).toMatchObject({ state: 'fresh', value: 'empty' })
  })
})

describe('a codec that decodes', () => {
  test.for([
    ['by throwing', throwing(new Error('not mine')), 'not mine'],
    ['some other time', () => Promise.resolve('v'), 'Expected decode() of the codec to return the value, got'],
    ['never', () => Promise.reject(new Error('late')), 'Expected decode() of the codec to return the value, got'],
  ] as const)('%s makes the value a missing one, which is loaded again', async ([, decode, said]) => {
    const { a, b, garbage } = mistaken({ decode })
    await b.set('k', 'old', { ttl: 1_000, grace: '1m' })
    expect(await allAsked<unknown>([a.peek('k'), a.getOrLoad('k', () => 'new')])).toEqual([
      { state: 'value', value: { state: 'missing' } },
      { state: 'value', value: 'new' },
    ])
    expect(garbage.length).toBeGreaterThan(0)
    for (const cause of garbage) expect((cause as Error).message).toContain(said)
    expect(await b.getOrLoad('k', () => 'wrong')).toBe('new')
  })
})

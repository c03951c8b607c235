import { deepStrictEqual } from 'node:assert'
import { inspect } from 'node:util'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { jsonCodec } from '../../../src/core/codec/codec.ts'

const codec = jsonCodec()

function stored(value: unknown): Buffer {
  return Buffer.from(codec.encode(value))
}

// Of all differences, those in the order of keys show only in the text, those in long binary data only here.
function roundTrip(value: unknown): unknown {
  const back = codec.decode(stored(value))
  deepStrictEqual(back, value)
  return back
}

function shown(value: unknown): string {
  return inspect(value, { depth: Infinity, maxArrayLength: null, maxStringLength: null, breakLength: Infinity })
}

function withKeys(prototype: object | null, entries: readonly (readonly [string, unknown])[]): object {
  const made: object = Object.create(prototype)
  for (const [key, value] of entries) {
    Object.defineProperty(made, key, { value, enumerable: true, configurable: true, writable: true })
  }
  return made
}

function nested(levels: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = wrap(value)
  return value
}

function outcomeOf(work: () => unknown): string {
  try {
    work()
    return 'fine'
  } catch (error) {
    return String(error)
  }
}

function refusalOf(value: unknown): string {
  const outcome = outcomeOf(() => codec.encode(value))
  expect(outcome).toMatch(/^TypeError: /)
  return outcome.slice('TypeError: '.length)
}

const levels: readonly (readonly [string, (inner: unknown) => unknown])[] = [
  ['objects', (inner) => ({ inner })],
  ['arrays', (inner) => [inner]],
  ['Maps', (inner) => new Map([['inner', inner]])],
]

class Money {
  readonly amount = 1
}

const memory = Uint8Array.from({ length: 16 }, (_, index) => index * 17).buffer
const binary = [
  new Int8Array(memory),
  new Uint8Array(memory),
  new Uint8ClampedArray(memory),
  new Int16Array(memory),
  new Uint16Array(memory),
  new Int32Array(memory),
  new Uint32Array(memory),
  new Float32Array(memory),
  new Float64Array(memory),
  new BigInt64Array(memory),
  new BigUint64Array(memory),
  new DataView(memory),
  // Since Node.js 24.
  ...('Float16Array' in globalThis
    ? [new (Reflect.get(globalThis, 'Float16Array') as typeof Float32Array)(memory)]
    : []),
]

const exact: Record<string, unknown> = {
  undefined: undefined,
  null: null,
  true: true,
  zero: 0,
  'minus zero': -0,
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  'minus Infinity': Number.NEGATIVE_INFINITY,
  'the least number': Number.MIN_VALUE,
  'an empty string': '',
  'a string that begins like a tag': '~d5',
  'a lone tilde': '~',
  'lone surrogates': 'a\ud800b\udc00',
  'a bigint': 12_345_678_901_234_567_890n,
  'a bigint below zero': -255n,
  'a bigint of zero': 0n,
  'a Date': new Date(1_700_000_000_123),
  'the earliest Date': new Date(-8.64e15),
  'a Map': new Map<unknown, unknown>([
    ['a', 1],
    [{ b: 2 }, undefined],
    [Number.NaN, new Map()],
  ]),
  'a Set': new Set(['a', undefined, new Set([1n])]),
  'a Buffer': Buffer.from('bytes'),
  'an empty Buffer': Buffer.alloc(0),
  'an ArrayBuffer': Uint8Array.of(1, 2, 3).buffer,
  'an object without a prototype': withKeys(null, [
    ['a', 1],
    ['__proto__', undefined],
  ]),
  'an own key __proto__': withKeys(Object.prototype, [['__proto__', { polluted: true }]]),
  'an own key __proto__ with a Date in it': withKeys(Object.prototype, [
    ['__proto__', new Date(5)],
    ['b', 1n],
  ]),
  'keys named like methods': { constructor: 1, hasOwnProperty: 2, toString: null },
  'a toJSON that is no function': { toJSON: 'text' },
  'arrays that look like tags': [['~M', 1, 2], ['~S'], ['~O', {}]],
  'an empty object and an empty array': [{}, []],
  'a property that holds undefined': { a: undefined, b: 1 },
  ...Object.fromEntries(binary.map((view) => [`a ${view.constructor.name}`, view])),
}

describe('a value comes back exactly as it went in', () => {
  // Any nesting of all of them: property/door.test.ts.
  it.each(Object.entries(exact))('%s, at the top, as a property, an element, a key and a member', (_, value) => {
    const holder = { before: 1, value, list: [value, 'after'], map: new Map([[value, value]]), set: new Set([value]) }
    for (const each of [value, holder]) expect(shown(roundTrip(each))).toBe(shown(each))
  })

  it('a Date is asked for its time as a Date, whatever has been put on it', () => {
    const date = Object.defineProperty(new Date(5), 'getTime', { value: () => 77 })
    expect(codec.decode(stored([date]))).toEqual([new Date(5)])
  })

  it('an invalid Date stays invalid', () => {
    const [date] = codec.decode(stored([new Date(Number.NaN)])) as [Date]
    expect(date).toBeInstanceOf(Date)
    expect(date.getTime()).toBeNaN()
  })

  it('a view of part of some memory brings only that part along', () => {
    const view = new Uint16Array(Uint16Array.of(1, 2, 3, 4).buffer, 2, 2)
    const [back] = roundTrip([view]) as [Uint16Array]
    expect(back).toStrictEqual(Uint16Array.of(2, 3))
    expect(back.buffer.byteLength).toBe(4)
  })

  it('an object that stands in two places comes back as two equal ones', () => {
    const shared = { at: new Date(0) }
    const back = roundTrip({ a: shared, b: shared }) as { a: object; b: object }
    expect(back).toStrictEqual({ a: shared, b: shared })
    expect(back.a).not.toBe(back.b)
  })

  it('what was encoded is not changed by it', () => {
    const value = Object.freeze({ at: new Date(0), list: Object.freeze(['~a', undefined, Object.freeze({ n: 1n })]) })
    const before = shown(value)
    codec.encode(value)
    expect(shown(value)).toBe(before)
  })

  it('objects of another realm come back as objects of this one', () => {
    const source =
      '({ list: [1, { a: undefined }], at: new Date(5), map: new Map([[1, 2]]), view: new Float32Array([1.5]) })'
    expect(codec.decode(stored(runInNewContext(source)))).toStrictEqual({
      list: [1, { a: undefined }],
      at: new Date(5),
      map: new Map([[1, 2]]),
      view: Float32Array.of(1.5),
    })
  })

  it.each([
    ...levels,
    ['objects without a prototype', (inner: unknown) => withKeys(null, [['inner', inner]])] as const,
  ])('1000 levels of %s', (_, wrap) => {
    const value = nested(1_000, wrap)
    expect(stored(codec.decode(stored(value))).equals(stored(value))).toBe(true)
  })
})

describe('a value that cannot come back is refused with its path', () => {
  const cyclic: Record<string, unknown> = { list: [] }
  cyclic['self'] = cyclic
  const deepCycle = { a: { b: [new Map()] } }
  deepCycle.a.b[0]?.set('back', deepCycle.a)
  const Impostor = { Date: class extends Date {} }
  const shared = new Uint8Array(new SharedArrayBuffer(2))
  const resizable: unknown = Reflect.construct(ArrayBuffer, [2, { maxByteLength: 4 }])
  const mappedFunction = { byId: new Map(Object.entries({ a: 1, b: () => {} })) }
  function argumentsOf(): object {
    return arguments
  }
  const named = Object.assign(['x'], { index: 0 })
  const sparse: unknown[] = []
  sparse.length = 4_000_000_000
  const hole = [1, , 3] // oxlint-disable-line no-sparse-arrays
  const holeAndName = Object.assign([1, ,], { more: 1 }) // oxlint-disable-line no-sparse-arrays
  const getter = Object.defineProperty({}, 'now', { get: () => 1, enumerable: true })
  const elementGetter = Object.defineProperty([1, 2], 1, { get: () => 2, enumerable: true })
  const elementSetter = Object.defineProperty([1, 2], 0, { set: () => {}, enumerable: true })
  const hidden = <T extends object>(on: T, name: string): T => Object.defineProperty(on, name, { value: () => 'other' })
  const detached = new ArrayBuffer(8)
  const detachedView = new Uint8Array(detached)
  structuredClone(detached, { transfer: [detached] })

  it.each<[string, unknown]>([
    ['a function at value', () => {}],
    ['a function at value.user.onClick', { user: { onClick() {} } }],
    ['a function at value.total.toJSON', { total: { toJSON: () => 1 } }],
    ['a function at value', Money],
    ['a symbol at value[1]', [1, Symbol('s')]],
    ['an instance of Money at value.total', { total: new Money() }],
    ['an instance of a class without a name at value', new (class {})()],
    ['an instance of Later at value', new (class Later extends Date {})()],
    ['an instance of Date at value', new Impostor.Date()],
    ['an instance of Bytes at value', new (class Bytes extends Uint8Array {})()],
    ['an instance of List at value', new (class List extends Array {})()],
    ['an instance of Date at value', Object.create(Date.prototype)],
    ['an instance of Uint8Array at value', Object.create(Uint8Array.prototype)],
    ['an instance of DataView at value', Object.create(DataView.prototype)],
    ['an instance of Buffer at value', Object.create(Buffer.prototype)],
    ['an object whose prototype is an object of its own at value', Object.create({ inherited: 1 })],
    ['an instance of Number at value["a b"]', { 'a b': Object(1) }],
    ['an instance of String at value', Object('text')],
    ['an instance of BigInt at value', Object(1n)],
    ['an instance of RegExp at value', /x/],
    ['an instance of TypeError at value', new TypeError('x')],
    ['an instance of Promise at value', Promise.resolve(1)],
    ['an instance of WeakMap at value', new WeakMap()],
    ['an instance of URL at value', new URL('http://localhost')],
    ['a proxy at value.a', { a: new Proxy({}, {}) }],
    ['a symbol-keyed property at value.a', { a: { [Symbol('s')]: 1 } }],
    ['a symbol-keyed property at value', Object.assign([1], { [Symbol('s')]: 1 })],
    ['a symbol-keyed property at value', argumentsOf()],
    ['an accessor at value.now', getter],
    ['an accessor at value.later', { set later(_: number) {} }],
    ['an accessor at value[1]', elementGetter],
    ['an accessor at value[0]', elementSetter],
    ['an object with a hidden toJSON at value.a', { a: hidden({ b: 1 }, 'toJSON') }],
    ['an object with a hidden toJSON at value', hidden(withKeys(null, [['a', 1]]), 'toJSON')],
    ['an array with a hidden toJSON at value[0]', [hidden([1], 'toJSON')]],
    ['an instance of Uint8Array with a named property at value', hidden(new Uint8Array(2), 'buffer')],
    ['an instance of Int16Array with a named property at value[0]', [hidden(new Int16Array(2), 'byteOffset')]],
    ['a hole in an array at value[1]', hole],
    ['a hole in an array at value[0]', sparse],
    ['a hole in an array at value[1]', holeAndName],
    ['a named property of an array at value.index', named],
    ['a named property of an array at value.index', /(x)/.exec('x')],
    ['an instance of Date with a named property at value', Object.assign(new Date(), { zone: 'UTC' })],
    ['an instance of Map with a symbol-keyed property at value', Object.assign(new Map(), { [Symbol('s')]: 1 })],
    ['an instance of Buffer with a named property at value', Object.assign(Buffer.from('x'), { mime: 'text/plain' })],
    ['an instance of Float64Array with a named property at value', Object.assign(new Float64Array(2), { unit: 'm' })],
    ['an instance of DataView with a named property at value', Object.assign(new DataView(memory), { a: 1 })],
    ['an instance of Uint8Array on shared, resizable or detached memory at value', shared],
    ['an instance of Uint8Array on shared, resizable or detached memory at value', detachedView],
    ['an instance of ArrayBuffer that is resizable or detached at value[0]', [detached]],
    ['an instance of ArrayBuffer that is resizable or detached at value', resizable],
    ['an instance of SharedArrayBuffer at value', new SharedArrayBuffer(2)],
    ['a function at value.byId.values()[1]', mappedFunction],
    ['a function at value.keys()[0].f', new Map([[{ f() {} }, 1]])],
    ['a symbol at value.values()[1]', new Set([1, Symbol('s')])],
    ['a cyclic reference at value.self', cyclic],
    ['a cyclic reference at value.a.b[0].values()[0]', deepCycle],
  ])('%s', (message, value) => {
    expect(refusalOf(value)).toBe(`Cannot store ${message}`)
  })

  it.each(levels)('more than 1000 levels of %s, however many', (_, wrap) => {
    for (const levels of [1_001, 100_000]) {
      expect(refusalOf(nested(levels, wrap))).toMatch(/^Cannot store more than 1000 levels of nesting at value/)
    }
  })

  it('a cycle through something wide, without going round it a thousand times', () => {
    const wide: Record<string, unknown> = { list: Array.from({ length: 100_000 }, (_, index) => index) }
    wide['list of lists'] = [wide['list'], { again: wide }]
    expect(refusalOf({ wide })).toBe('Cannot store a cyclic reference at value.wide["list of lists"][1].again')
  })

  it('every object of a patched realm whose JSON text would not be its own', () => {
    const patched: unknown = runInNewContext(
      'Object.defineProperty(Object.prototype, "toJSON", { value: () => "other" }), ({ a: 1 })',
    )
    expect(refusalOf([patched])).toBe('Cannot store an object with a hidden toJSON at value[0]')
  })

  it('a value for which the stack has no room', () => {
    const value = nested(1_000, (inner) => [inner])
    let frames = 0
    function below(left: number): string {
      frames++
      return left === 0 ? outcomeOf(() => codec.encode(value)) : below(left - 1)
    }
    expect(() => below(Number.POSITIVE_INFINITY)).toThrow(RangeError)
    expect(below(Math.floor(frames * 0.8))).toMatch(
      /^fine$|^TypeError: Cannot store the value: RangeError: Maximum call stack/,
    )
  })

  it('a path that is long shows both ends only', () => {
    const message = refusalOf(nested(900, (inner) => ({ a: inner === 1 ? Symbol('s') : inner })))
    expect(message).toBe(`Cannot store a symbol at value${'.a'.repeat(10)}…${'.a'.repeat(10)}`)
  })

  it('a key that is long or odd is quoted and cut', () => {
    expect(refusalOf({ ['a\n"b']: { ['k'.repeat(1_000_000)]: Symbol('s') } })).toBe(
      `Cannot store a symbol at value["a\\n\\"b"]["${'k'.repeat(100)}…"]`,
    )
  })

  it('nothing of the value is run or shown', () => {
    const run = vi.fn<() => never>()
    const secret = 'hunter2'
    const values = [
      Object.defineProperty({}, 'secret', { get: run, enumerable: true }),
      new Proxy({ secret }, { get: run, getPrototypeOf: run, ownKeys: run }),
      { [Symbol.toPrimitive]: run, toString: run, secret },
      Object.assign(new Money(), { secret, [Symbol.toStringTag]: secret }),
      [secret, Symbol(secret)],
      Object.defineProperty([1], 0, { get: run, enumerable: true }),
    ]
    for (const value of values) expect(refusalOf(value)).not.toContain(secret)
    expect(run).not.toHaveBeenCalled()
  })
})

describe('the payload', () => {
  it('of a plain JSON value is its JSON text', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        // The one number that JSON.stringify does not keep.
        fc.pre(!/(?<![\d.eE])-0(?![\d.])/.test(inspect(value, { depth: Infinity, maxArrayLength: null })))
        expect(stored(value).toString()).toBe(JSON.stringify(value))
      }),
    )
  })

  it('of a JSON value with tildes is its JSON text too, tildes undoubled', () => {
    for (const value of ['~', '~d5', ['~M', 1, 2], { '~': '~~u' }]) {
      expect(stored(value).toString()).toBe(JSON.stringify(value))
    }
  })

  it('of a Buffer or Uint8Array is its bytes behind one marker byte', () => {
    const bytes = [0, 255, 123]
    expect([...codec.encode(Buffer.from(bytes))]).toEqual([1, ...bytes])
    expect([...codec.encode(Uint8Array.from(bytes))]).toEqual([2, ...bytes])
  })

  it('of anything else is tagged JSON behind a marker byte', () => {
    const value = {
      at: new Date(5),
      n: [-0, Number.NaN, 255n, -255n, undefined],
      text: '~',
      map: new Map([['a', Buffer.from('b')]]),
    }
    expect(stored(value).toString()).toBe(
      '\u0003{"at":"~d5","n":["~z","~n","~iff","~jff","~u"],"text":"~~","map":["~M","a","~bBuffer:Yg=="]}',
    )
  })

  it('shares no memory with the value, nor the value read with the payload', () => {
    for (const value of [Buffer.from('abc'), Uint8Array.of(97, 98, 99)]) {
      const payload = stored(value)
      const back = codec.decode(payload) as Uint8Array
      value[0] = 0
      payload.fill(0)
      expect([...back]).toEqual([97, 98, 99])
    }
  })
})

// Bytes that are made up at random: property/door.test.ts.
describe('bytes that no codec wrote', () => {
  it.each([
    ['nothing', ''],
    ['text', 'hunter2'],
    ['half a text', '{"a":"hunter2'],
    ['a tag without a meaning', '\u0003"~?hunter2"'],
    ['a tag without a letter', '\u0003"~"'],
    ['no bigint', '\u0003"~ihunter2"'],
    ['an unknown class', '\u0003"~bMoney:aHVudGVyMg=="'],
    ['a class out of the prototype', '\u0003"~bconstructor:aHVudGVyMg=="'],
    ['bytes without a class', '\u0003"~baHVudGVyMg=="'],
    ['seven bytes for a Float64Array', '\u0003"~bFloat64Array:aHVudGVyMg=="'],
    ['a Map with a key too many', '\u0003["~M","hunter2"]'],
    ['no object to take the prototype from', '\u0003["~O","hunter2"]'],
    ['an array to take the prototype from', '\u0003["~O",["hunter2"]]'],
    ['a million levels', `\u0003${'["~S",'.repeat(1_000_000)}1${']'.repeat(1_000_000)}`],
    ['a control byte that is no marker', '\u000bhunter2'],
  ])('%s: an error that does not quote them', (_, text) => {
    const outcome = outcomeOf(() => codec.decode(Buffer.from(text)))
    expect(outcome).toMatch(/^Error: Cannot read a stored value: its \d+ bytes are not what this codec writes$/)
  })

  it('a payload of a newer version is told from a broken one', () => {
    for (const marker of [0, 4, 5, 6, 7, 8]) {
      expect(() => codec.decode(Buffer.of(marker, 34, 34))).toThrow(`unknown marker byte ${marker}`)
    }
  })

  it.each(['', '\u0003'])('a key __proto__ in them pollutes no prototype (marker %j)', (marker) => {
    for (const text of ['{"__proto__":{"polluted":"yes"}}', '{"constructor":{"prototype":{"polluted":"yes"}}}']) {
      const value = codec.decode(Buffer.from(marker + text)) as object
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
      expect('polluted' in {}).toBe(false)
    }
    codec.decode(Buffer.from('\u0003["~O",{"__proto__":["~O",{"polluted":"~u"}]}]'))
    expect('polluted' in {}).toBe(false)
  })
})

it('Dates made before a test has replaced the clock and meanwhile round-trip', () => {
  onTestFinished(() => void vi.useRealTimers())
  const before = new Date(1)
  vi.useFakeTimers()
  const back = codec.decode(stored([before, new Date(2)])) as Date[]
  expect(back.map(Number)).toEqual([1, 2])
  expect(back.every((date) => date instanceof Date)).toBe(true)
})

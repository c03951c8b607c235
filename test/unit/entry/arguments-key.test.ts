import { isDeepStrictEqual } from 'node:util'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { argumentsKey, copied } from '../../../src/core/entry/arguments-key.ts'

test.for<[string, unknown[]]>([
  ['f()', []],
  ['f(42,"de")', [42, 'de']],
  ['f("1")', ['1']],
  ['f(1)', [1]],
  ['f(1n)', [1n]],
  ['f(-1.5,1e+21,5e-324)', [-1.5, 1e21, 5e-324]],
  ['f(NaN,Infinity,-Infinity,-0,0)', [Number.NaN, Infinity, -Infinity, -0, 0]],
  ['f(true,null,undefined,false)', [true, null, undefined, false]],
  ['f(1970-01-01T00:00:00.000Z,Invalid Date)', [new Date(0), new Date(Number.NaN)]],
  ['f(+010000-01-01T00:00:00.000Z)', [new Date(253_402_300_800_000)]],
  ['f([1,[2,[]]])', [[1, [2, []]]]],
  ['f({"7":{},by:["name"],"in stock":true,page:2})', [{ page: 2, by: ['name'], 'in stock': true, 7: {} }]],
  ['f({a:0,b:{c:2,d:1}})', [{ b: { d: 1, c: 2 }, a: 0 }]],
  ['f({a:undefined})', [{ a: undefined }]],
  ['f("Ü \\"quoted\\"\\n💥")', ['Ü "quoted"\n💥']],
  ['f("\\ud800")', ['\ud800']],
  ['f({__proto__:1,constructor:2})', [JSON.parse('{"__proto__":1,"constructor":2}')]],
])('a key reads like the call: %s', ([key, args]) => {
  expect(argumentsKey('f', args)).toBe(key)
})

test('undefined at the end is as if it were not there, in the middle it is not', () => {
  expect(argumentsKey('f', [1, undefined])).toBe('f(1)')
  expect(argumentsKey('f', [undefined, undefined])).toBe('f()')
  expect(argumentsKey('f', [undefined, 1])).toBe('f(undefined,1)')
  expect(argumentsKey('f', [[1, undefined]])).toBe('f([1,undefined])')
})

test('an object is plain in any realm, and without a prototype', () => {
  const bare = Object.assign(Object.create(null), { a: 1 })
  const foreign: unknown = runInNewContext('({ a: [1, new Date(0)] })')
  expect(argumentsKey('f', [bare, foreign])).toBe('f({a:1},{a:[1,1970-01-01T00:00:00.000Z]})')
})

test('one object may stand in two places', () => {
  const shared = { a: 1 }
  expect(argumentsKey('f', [shared, [shared, shared]])).toBe('f({a:1},[{a:1},{a:1}])')
})

class Money {
  cents = 1
}
const hole: unknown[] = []
hole.length = 1
const cycle: { self?: unknown } = {}
cycle.self = [cycle]
const accessor = {
  get now() {
    return Date.now()
  },
}
let deep: unknown = 1
for (let level = 0; level < 101; level++) deep = [deep]

test.for<[string, unknown[]]>([
  ['args[1] is a function', [1, () => 1]],
  ['args[0] is a symbol', [Symbol('s')]],
  ['args[0].price.of is an instance of Money', [{ price: { of: new Money() } }]],
  ['args[0]["a b"][1] is an instance of Promise', [{ 'a b': [0, Promise.resolve()] }]],
  ['args[0] is an instance of Map', [new Map()]],
  ['args[0] is an instance of Set', [new Set()]],
  ['args[0] is an instance of RegExp', [/x/]],
  ['args[0] is an instance of URL', [new URL('https://example.org')]],
  ['args[0] is an instance of Buffer', [Buffer.from('x')]],
  ['args[0] is an instance of Number', [Object(1)]],
  ['args[0] is an instance of Error', [new Error('x')]],
  ['args[0] is an instance of Later', [new (class Later extends Date {})()]],
  ['args[0] is an instance of List', [new (class List extends Array {})()]],
  ['args[0] is an object whose prototype is an object of its own', [Object.create({ a: 1 })]],
  ['args[0] is a proxy', [new Proxy({}, {})]],
  ['args[0].now is an accessor', [accessor]],
  ['args[0] is an object with a symbol-keyed property', [{ [Symbol('s')]: 1 }]],
  ['args[0] is an array with holes or named properties', [hole]],
  ['args[0] is an array with holes or named properties', [Object.assign([1], { 1.5: 2 })]],
  ['args[0] is an array with holes or named properties', [Object.assign(hole.slice(), { a: 2 })]],
  ['args[0].self[0] is a cyclic reference', [cycle]],
  ['is below 100 levels of nesting', [deep]],
])('a TypeError says which argument no key can be made of, and why: %s', ([message, args]) => {
  const make = (): string => argumentsKey('f', args)
  expect(make).toThrow(TypeError)
  expect(make).toThrow(message)
  expect(make).toThrow('Cannot make a key of the arguments of f: args')
})

test('a long key has a hash in place of the arguments, and is a key like any other', () => {
  const [one, other] = ['x'.repeat(100_000), `${'x'.repeat(99_999)}y`].map((text) => argumentsKey('f', [text]))
  expect(one).toMatch(/^f\(sha256:[\w-]{43}\)$/)
  expect(argumentsKey('f', ['x'.repeat(100_000)])).toBe(one)
  expect(other).not.toBe(one)
  expect(argumentsKey('f', ['x'.repeat(995)])).toHaveLength(1_000)
  expect(argumentsKey('f', ['x'.repeat(996)])).toMatch(/^f\(sha256:/)
})

// Values that look like each other when they are written down.
const leaf = fc.oneof(
  fc.constantFrom<unknown>(
    '',
    ...'1 1n a b a,b "a"'.split(' '),
    '\\',
    '\\"',
    ...'" [1] {a:1} {"a":1} {} []'.split(' '),
  ),
  fc.constantFrom<unknown>('null', 'undefined', 'NaN', '-0', 'true', '1970-01-01T00:00:00.000Z', ')', '(', ','),
  fc.constantFrom<unknown>('\ud800', '\\ud800', '\udc00', '\ufffd', '💥', 'é', 'e\u0301', '\0', '\\u0000'),
  fc.constantFrom<unknown>(0, -0, 1, -1, 1.5, Number.NaN, Infinity, -Infinity, 0n, 1n, -1n),
  fc.constantFrom<unknown>(true, false, null, undefined, new Date(0), new Date(1), new Date(Number.NaN)),
  fc.string({ maxLength: 3, unit: fc.constantFrom('\\', '"', ',', ':', '[', ']', '{', '}', '(', ')', '1', 'a') }),
  fc.double(),
  fc.bigInt(),
  fc.date(),
)
const property = fc.constantFrom('a', 'b', 'a:1', 'a b', '"a"', '1', '', '__proto__', 'ä', ',', 'a,b', '{', '}')
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    { arbitrary: leaf, weight: 3 },
    { arbitrary: fc.array(tie('value'), { maxLength: 3 }), weight: 1 },
    { arbitrary: fc.dictionary(property, tie('value'), { maxKeys: 3, noNullPrototype: true }), weight: 1 },
  ),
}))
const lists = fc.array(value, { maxLength: 3 })

/** The same, with the properties of all objects in the opposite order. */
function turned(given: unknown): unknown {
  if (Array.isArray(given)) return given.map(turned)
  if (typeof given !== 'object' || given === null || given instanceof Date) return given
  return Object.fromEntries(
    Object.entries(given)
      .toReversed()
      .map(([name, held]) => [name, turned(held)]),
  )
}

const date = Symbol('date')

/** For Node.js no two invalid dates are the same. */
function comparable(given: unknown): unknown {
  if (Array.isArray(given)) return given.map(comparable)
  if (typeof given !== 'object' || given === null) return given
  if (given instanceof Date) return [date, given.getTime()]
  return Object.fromEntries(Object.entries(given).map(([name, held]) => [name, comparable(held)]))
}

function areSame(one: readonly unknown[], other: readonly unknown[]): boolean {
  const [a, b] = [one, other].map((args) => args.slice(0, args.findLastIndex((arg) => arg !== undefined) + 1))
  return isDeepStrictEqual(comparable(a), comparable(b))
}

/** A list and one that might be mistaken for it. */
const pairs = lists.chain((args) => {
  const inner = argumentsKey('', args).slice(1, -1)
  const neighbours: unknown[][] = [
    [inner],
    [args.slice()],
    inner.split(','),
    args.map(String),
    args.flat(),
    [...args, undefined],
    args.toReversed(),
    [JSON.stringify(args, (_, held: unknown) => (typeof held === 'bigint' ? `${held}n` : held))],
    args.map(turned),
    args.map((arg) => (typeof arg === 'string' ? arg.normalize().toWellFormed() : arg)),
    args.map((arg) => (typeof arg === 'object' ? null : arg)),
    args.map((arg) => (Array.isArray(arg) ? Object.fromEntries(Object.entries(arg)) : arg)),
  ]
  return fc.tuple(fc.constant(args), fc.oneof(fc.constantFrom(...neighbours), lists))
})

test('two lists of arguments have one key exactly if they are the same', () => {
  const seen = { same: 0, different: 0 }
  const holds = fc.property(pairs, ([one, other]) => {
    const same = areSame(one, other)
    seen[same ? 'same' : 'different']++
    expect(argumentsKey('f', one) === argumentsKey('f', other)).toBe(same)
  })
  fc.assert(holds, { numRuns: 6_000 })
  expect(Math.min(seen.same, seen.different)).toBeGreaterThan(300)
})

test('no two lists of few and short arguments have one key', () => {
  const atoms: unknown[] = ['', ',', '"', '\\', '1', 'a', 1, -0, 0, 1n, null, undefined, true, Number.NaN, new Date(0)]
  const values = [...atoms, [], {}, ...atoms.flatMap((atom) => [[atom], { a: atom }, { ',': atom }, { '': atom }])]
  const lists = [...values.map((one) => [one]), ...values.flatMap((one) => values.map((other) => [one, other]))]
  const apart = lists.filter((list) => list.at(-1) !== undefined)
  expect(apart.length).toBeGreaterThan(5_000)
  expect(new Set(apart.map((list) => argumentsKey('f', list))).size).toBe(apart.length)
})

test('two names have no key in common', () => {
  const names = fc.string({
    minLength: 1,
    maxLength: 4,
    unit: fc.constantFrom('f', ',', '"', '\\', '[', ']', '{', '}', ':', '1'),
  })
  const twoNames = fc.tuple(names, names).filter(([name, other]) => name !== other)
  const holds = fc.property(twoNames, pairs, ([name, otherName], [one, other]) => {
    expect(argumentsKey(name, one)).not.toBe(argumentsKey(otherName, other))
  })
  expect(() => fc.assert(holds, { numRuns: 2_000 })).not.toThrow()
})

test('a copy is the same, and has no object in common with what it was made of', () => {
  const objects = (args: readonly unknown[]): unknown[] => args.filter((arg) => typeof arg === 'object' && arg !== null)
  const holds = fc.property(lists, (args) => {
    const copy = copied(args)
    expect(areSame(copy, args)).toBe(true)
    expect(objects(copy).filter((object) => args.includes(object))).toEqual([])
  })
  expect(() => fc.assert(holds, { numRuns: 2_000 })).not.toThrow()
})

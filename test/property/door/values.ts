import { inspect } from 'node:util'
import fc from 'fast-check'
import { CacheError, jsonCodec, type Cache } from '../../../src/index.ts'
import { outcomeOf } from './outcome.ts'

/** A value, and whether the default codec can keep it as it is. */
export interface Sample {
  readonly value: unknown
  readonly storable: boolean
}

const memory = Uint8Array.from({ length: 16 }, (_, index) => index * 17).buffer

const text = fc.oneof(
  fc.string({ unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)), maxLength: 12 }),
  fc.constantFrom('', '~', '~u', '~~d5', '~M', '~S', '~O', '~bBuffer:AA==', '\0', '\ud800', '\ufeff', '💥'),
)
const name = fc.oneof(
  text,
  fc.constantFrom('__proto__', 'constructor', 'prototype', 'toJSON', 'toString', 'length', '0', '-1', '4294967295'),
)

const storable: fc.Arbitrary<unknown> = fc.oneof(
  text,
  fc.double(),
  fc.constantFrom(undefined, null, true, false, -0, 0, Number.NaN, Infinity, -Infinity, Number.MIN_VALUE, 2 ** 53 + 2),
  fc.bigInt(),
  fc.date({ noInvalidDate: false }),
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  fc.uint8Array({ maxLength: 40 }),
  fc.uint8Array({ maxLength: 16 }).map((bytes) => Uint8Array.from(bytes).buffer),
  fc.float32Array({ maxLength: 5 }),
  fc.bigInt64Array({ maxLength: 5 }),
  fc.constantFrom<unknown>(new DataView(memory), new Int16Array(memory, 2, 3), new Uint8ClampedArray(memory)),
  fc.constant(null).map(() => ({})),
  fc.constant(null).map(() => []),
)

class Money {
  readonly cents = 1999
}

const failing = (): never => {
  throw new Error('code of a value was run')
}

/**
 * Makes one of what cannot be kept; a new one each time, for some of them change by being looked at. Of each kind there
 * are a few: unit/codec/codec.test.ts has them all.
 */
const refused: readonly (() => unknown)[] = [
  () => () => 1,
  () => Symbol('s'),
  () => new Money(),
  () => new (class extends Map<number, number> {})([[1, 2]]),
  () => Object(1n),
  () => Promise.resolve(1),
  () => globalThis,
  () => Object.create({ inherited: 1 }),
  () => new Proxy({}, { ownKeys: failing, get: failing, getPrototypeOf: failing, has: failing }),
  () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    return proxy
  },
  () => Object.defineProperty({}, 'now', { get: failing, enumerable: true }),
  () => Object.defineProperty([1, 2], 1, { get: failing, enumerable: true }),
  () => Object.defineProperty({ a: 1 }, 'toJSON', { get: failing }),
  () => Object.defineProperty(new Uint8Array(2), 'buffer', { get: failing }),
  () => ({ toJSON: failing }),
  () => ({ [Symbol('s')]: 1 }),
  () => Object.assign(new Map(), { more: 1 }),
  () => [1, , 3], // oxlint-disable-line no-sparse-arrays
  () => new SharedArrayBuffer(2),
  () => {
    const cyclic = new Map<unknown, unknown>()
    return cyclic.set('a', [new Set([{ back: cyclic }])])
  },
  () => deep(1_001, (inner) => [inner]),
]

/** A value at the bottom of so many levels. */
function deep(levels: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = wrap(value)
  return value
}

/** Values of all kinds, nested in all kinds, most of which can be kept. */
export const samples: fc.Arbitrary<Sample> = fc.letrec<{ sample: Sample }>((tie) => ({
  sample: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    { arbitrary: storable.map((value) => ({ value, storable: true })), weight: 40 },
    {
      arbitrary: fc.constantFrom(...refused).map((make) => ({ value: make(), storable: false })),
      weight: 1,
    },
    { arbitrary: fc.array(tie('sample'), { maxLength: 4 }).map(list), weight: 10 },
    {
      arbitrary: fc
        .tuple(fc.constantFrom(Object.prototype, null), fc.array(fc.tuple(name, tie('sample')), { maxLength: 4 }))
        .map(([prototype, entries]) => record(prototype, entries)),
      weight: 10,
    },
    { arbitrary: fc.array(fc.tuple(tie('sample'), tie('sample')), { maxLength: 3 }).map(map), weight: 5 },
    { arbitrary: fc.array(tie('sample'), { maxLength: 3 }).map(set), weight: 5 },
  ),
})).sample

/** Whatever fast-check thinks of. */
export const anything: fc.Arbitrary<unknown> = fc.anything({
  withBigInt: true,
  withBoxedValues: true,
  withDate: true,
  withMap: true,
  withSet: true,
  withNullPrototype: true,
  withObjectString: true,
  withSparseArray: true,
  withTypedArray: true,
  maxDepth: 3,
})

function list(items: readonly Sample[]): Sample {
  return { value: items.map(({ value }) => value), storable: items.every((item) => item.storable) }
}

function record(prototype: object | null, entries: readonly (readonly [string, Sample])[]): Sample {
  const value: object = Object.create(prototype)
  for (const [key, { value: held }] of entries) {
    Object.defineProperty(value, key, { value: held, enumerable: true, configurable: true, writable: true })
  }
  return { value, storable: [...new Map(entries).values()].every((held) => held.storable) }
}

function map(entries: readonly (readonly [Sample, Sample])[]): Sample {
  // Of several values under one key the last stays.
  const kept = new Map(entries.map((entry) => [entry[0].value, entry]))
  return {
    value: new Map(entries.map(([key, held]) => [key.value, held.value])),
    storable: [...kept.values()].every(([key, held]) => key.storable && held.storable),
  }
}

function set(members: readonly Sample[]): Sample {
  return { value: new Set(members.map(({ value }) => value)), storable: members.every((member) => member.storable) }
}

const codec = jsonCodec()

function shown(value: unknown): string {
  return inspect(value, { depth: Infinity, maxArrayLength: null, maxStringLength: null, breakLength: Infinity })
}

/**
 * Whether two values that can be stored are the same, in kind and in the order of their keys. Long binary data differs
 * only in what is stored of it; an invalid Date is like no other to `isDeepStrictEqual`.
 */
export function areSame(one: unknown, other: unknown): boolean {
  return shown(one) === shown(other) && Buffer.from(codec.encode(one)).equals(codec.encode(other))
}

/** What is wrong with how the default codec keeps a value, or refuses it; `null` for nothing. */
export function wronglyKept({ value, storable: kept }: Sample): unknown {
  try {
    const back = codec.decode(Buffer.from(codec.encode(value)))
    return kept && areSame(back, value) ? null : { back }
  } catch (error) {
    if (!(error instanceof TypeError) || kept) return error
    return /^Cannot store (an? |more than )[^]{1,400}$/.test(error.message) ? null : error
  }
}

/**
 * What is wrong with how a cache answers the one who loads a value, and the one who comes after; `null` for nothing.
 * @param kept whether it can be stored; `null` if it is not known
 */
export async function wronglyAnswered(
  cache: Cache,
  key: string,
  value: unknown,
  kept: boolean | null,
): Promise<unknown> {
  // In an array, because a loader may return a promise, which would be waited for.
  const miss = await outcomeOf(() => cache.getOrLoad(key, () => [value]))
  const hit = await outcomeOf(() => cache.getOrLoad(key, () => 'wrong'))
  const wrong = { miss, hit }
  if ('value' in miss) {
    const isIt = Array.isArray(miss.value) && Object.is(miss.value[0], value)
    return kept !== false && isIt && 'value' in hit && areSame(hit.value, [value]) ? null : wrong
  }
  const { thrown } = miss
  if (!(thrown instanceof CacheError) || thrown.key !== key) return wrong
  const codes = ['VALUE_TOO_LARGE', 'VALUE_NOT_SERIALIZABLE'].slice(kept === false ? 1 : 0, kept === true ? 1 : 2)
  if (!codes.includes(thrown.code) || !('thrown' in hit) || !(hit.thrown instanceof CacheError)) return wrong
  return hit.thrown.code === thrown.code && hit.thrown.message === thrown.message ? null : wrong
}

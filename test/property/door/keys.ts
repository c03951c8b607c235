import fc from 'fast-check'
import { createCache, type Cache, type Store } from '../../../src/index.ts'

const longest = 65_536

const odd: readonly string[] = [
  ['', ' ', '\n', '\0', '{', '}', '{}', '}{', '{a}', '}:lease', ':', '::', ':lease', '%', '%3A', '%25', '*', '\\'],
  ['__proto__', 'constructor', 'toString', 'null', '0', '-0', 'é', 'e\u0301', 'Å', '\u212b', 'ß', 'ss', 'SS', 'ﬁ'],
  ['💥', '\u{10ffff}', '\ufffd', '\ud800', '\udc00', '\udc00\ud800', '\ufeff', '\u200b', 'a', 'a:b', 'b:c', 'c'],
].flat()
const piece = fc.oneof(
  { arbitrary: fc.constantFrom(...odd), weight: 6 },
  fc.string({ unit: 'binary', maxLength: 4 }),
  fc.string({ unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)), maxLength: 3 }),
)

/** Keys of every odd kind, right and wrong, and what is none. */
export const keys: fc.Arbitrary<unknown> = fc.oneof(
  { arbitrary: fc.array(piece, { maxLength: 4 }).map((pieces) => pieces.join('')), weight: 40 },
  {
    arbitrary: fc
      .tuple(fc.constantFrom('k', '{', 'é', '}'), fc.integer({ min: longest - 2, max: longest + 2 }), piece)
      .map(([letter, length, end]) => letter.repeat(length - end.length) + end),
    weight: 1,
  },
  { arbitrary: fc.anything(), weight: 3 },
)

/** Whether that is a key. */
export function isKey(given: unknown): given is string {
  return typeof given === 'string' && given.length >= 1 && given.length <= longest && given.isWellFormed()
}

/** Names of caches that share a store, and keys in them, that look alike, or that others make of each other. */
const neighbours: readonly (readonly [namespaces: readonly string[], keys: readonly string[]])[] = [
  [
    ['a', 'a:b', 'a%3Ab'],
    ['c', 'b:c', 'b%3Ac', ':c'],
  ],
  [
    [':', '::', 'a:', 'a%'],
    [':k', 'k', '::k', 'a:k', '3Ak'],
  ],
  [
    ['a', 'a:lease'],
    ['k', 'k:lease', '{k}', '{k', 'k}', '{}k', '}k{', '{k}:lease', '}:lease', 'k}:lease'],
  ],
  [
    ['a', ' a', 'A'],
    ['k', ' k', 'k ', 'k\n', '\tk', 'k\0', 'k\0k', 'K', '\ufeffk', 'k\u200b', 'k\u00a0'],
  ],
  [
    ['é', 'e\u0301', 'É'],
    ['é', 'e\u0301', 'E\u0301', 'Å', 'A\u030a', '\u212b', 'ß', 'ss', 'SS', 'ﬁ', 'fi', '½', '1⁄2'],
  ],
  [
    ['__proto__', 'constructor', '0'],
    ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', '0', '-0', '00', 'null', 'undefined'],
  ],
]

export const namespaces: readonly string[] = neighbours.flatMap(([some]) => some)

/** What is done to some key in one of the caches. */
interface Step {
  readonly process: 0 | 1
  readonly namespace: string
  readonly key: unknown
  readonly what: 'load' | 'set' | 'invalidate' | 'peek'
}

/** Things done one after the other to keys that are easily confused, most of them again and again. */
export const steps: fc.Arbitrary<readonly Step[]> = fc
  .tuple(
    fc
      .constantFrom(...neighbours)
      .chain(([some, alike]) =>
        fc.tuple(
          fc.shuffledSubarray([...some], { minLength: 2, maxLength: 2 }),
          fc.shuffledSubarray([...alike], { minLength: 2, maxLength: 3 }),
        ),
      ),
    fc.array(keys, { maxLength: 2 }),
  )
  .chain(([[some, alike], others]) =>
    fc.array(
      fc.record({
        process: fc.constantFrom<0 | 1>(0, 1),
        namespace: fc.constantFrom(...some),
        key: fc.oneof(
          { arbitrary: fc.constantFrom<unknown>(...alike, ...others), weight: 9 },
          keys,
          fc.subarray([...alike]),
        ),
        what: fc.constantFrom('load', 'load', 'set', 'invalidate', 'peek'),
      }),
      { minLength: 20, maxLength: 20 },
    ),
  )

/**
 * Does it all, and says what went wrong. What each key of each namespace must hold is kept beside, in texts of which no
 * two are alike.
 * @param stores of two processes
 * @param salt what makes the namespaces of this run none of another's
 */
export async function confused(
  all: readonly Step[],
  stores: readonly [Store, Store],
  salt: string,
): Promise<unknown[]> {
  const caches = new Map<string, Cache>()
  const held = new Map<string, unknown>()
  const wrong: unknown[] = []
  for (const [number, step] of all.entries()) {
    const { process, namespace, key, what } = step
    const name = `${process} ${namespace}`
    const options = { store: stores[process], namespace: `${salt}:${namespace}`, commandTimeout: '60s' } as const
    const cache = caches.get(name) ?? createCache(options)
    caches.set(name, cache)
    const its = keysOf(step)
    const placeOf = (one: unknown): string => JSON.stringify([namespace, one])
    const before = held.get(placeOf(key))
    const fresh = `${salt} ${number}`
    const told = await done(cache, key as string, what, fresh)
    const expected = its === null ? 'refused' : expectedOf(what, before, fresh)
    if (told !== expected) wrong.push({ number, told, expected, held: before, namespace, key, what })
    for (const one of its ?? []) {
      if (what === 'invalidate') held.delete(placeOf(one))
      else if (what === 'set') held.set(placeOf(one), fresh)
      else if (what === 'load') held.set(placeOf(one), expected)
    }
  }
  await Promise.all([...caches.values()].map((cache) => cache.close()))
  return wrong
}

/** The keys that a step is about, several of an invalidation; `null` if it must be refused. */
function keysOf({ what, key }: Step): readonly string[] | null {
  const all: readonly unknown[] = what === 'invalidate' && Array.isArray(key) ? key : [key]
  return all.every(isKey) ? all : null
}

function expectedOf(what: Step['what'], held: unknown, fresh: string): unknown {
  return what === 'peek' ? held : what === 'load' ? (held ?? fresh) : undefined
}

async function done(cache: Cache, key: string, what: Step['what'], fresh: string): Promise<unknown> {
  try {
    if (what === 'load') return await cache.getOrLoad(key, () => fresh)
    if (what === 'set') return await cache.set(key, fresh)
    if (what === 'invalidate') return await cache.invalidate(key)
    const peeked = await cache.peek(key)
    return peeked.state === 'missing' ? undefined : peeked.value
  } catch (error) {
    const isRefusal =
      error instanceof TypeError && error.message.startsWith('Expected a key to be a well-formed string')
    return isRefusal ? 'refused' : error
  }
}

/** What Redis Cluster makes the slot of a key of: what stands within the first braces that hold something. */
export function hashTag(key: string): string {
  const open = key.indexOf('{')
  const close = key.indexOf('}', open + 1)
  return open === -1 || close <= open + 1 ? key : key.slice(open + 1, close)
}

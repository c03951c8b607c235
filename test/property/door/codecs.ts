import fc from 'fast-check'
import { CacheError, createCache, type Cache, type Codec, type Store } from '../../../src/index.ts'
import { outcomeOf } from './outcome.ts'
import { anything } from './values.ts'

/** What a codec does when it is asked. */
export type Turn =
  | { readonly does: 'right' }
  | { readonly does: 'throw' | 'return' | 'resolve' | 'reject'; readonly with: unknown }

const thrown = fc.oneof(
  anything,
  fc.constantFrom<unknown>(undefined, Object.create(null), Symbol('s'), new Error('x'.repeat(5_000)), new RangeError()),
  fc.constant(null).map(() => Object.defineProperty(new Error('x'), 'message', { value: Symbol('no text') })),
)
const returned = fc.oneof(
  anything.filter((value) => !(value instanceof Uint8Array)),
  fc.constantFrom<unknown>(undefined, null, 'text', [1, 2], new ArrayBuffer(3), new Uint16Array(2), { byteLength: 1 }),
  fc.constantFrom<unknown>(new DataView(new ArrayBuffer(2)), () => Buffer.alloc(1), { length: 2, 0: 1, 1: 2 }),
)

/** Most of them wrong. */
export const turns: fc.Arbitrary<Turn> = fc.oneof(
  { arbitrary: fc.constant<Turn>({ does: 'right' }), weight: 2 },
  thrown.map((with_): Turn => ({ does: 'throw', with: with_ })),
  returned.map((with_): Turn => ({ does: 'return', with: with_ })),
  returned.map((with_): Turn => ({ does: 'resolve', with: with_ })),
  thrown.map((with_): Turn => ({ does: 'reject', with: with_ })),
)

/** A codec of a user who has made mistakes. */
export function mistaken({ encode, decode }: { encode: Turn; decode: Turn }): Codec {
  return {
    encode: (value) => taken(encode, () => Buffer.from(JSON.stringify(value))) as Uint8Array,
    decode: (payload) => taken(decode, () => JSON.parse(payload.toString()) as unknown),
  }
}

function taken(turn: Turn, right: () => unknown): unknown {
  switch (turn.does) {
    case 'right':
      return right()
    case 'throw':
      throw turn.with
    case 'return':
      return turn.with
    case 'resolve':
      return Promise.resolve(turn.with)
    case 'reject':
      return Promise.reject(turn.with)
  }
}

/** A codec that makes these mistakes, a value, and who else uses the store. */
interface Mistake {
  readonly encode: Turn
  readonly decode: Turn
  readonly value: unknown
  readonly key: string
  readonly store: Store
  readonly others: Cache
}

/** What is wrong with what comes of a mistaken codec; `null` for nothing. */
export async function wronglySurvived({ encode, decode, value, key, store, others }: Mistake): Promise<unknown> {
  const cache = createCache({ store, codec: mistaken({ encode, decode }), failureCooldown: 0 })
  const first = await outcomeOf(() => cache.getOrLoad(key, () => [value]))
  const peeked = await cache.peek(key)
  if (!('value' in first)) {
    const { thrown } = first
    const isTold = thrown instanceof CacheError && thrown.code === 'VALUE_NOT_SERIALIZABLE' && thrown.key === key
    // Nobody else is held up by it.
    const next = await outcomeOf(() => others.getOrLoad(key, () => 'right'))
    return isTold && peeked.state === 'missing' && 'value' in next ? null : { first, peeked, next }
  }
  const isIt = Array.isArray(first.value) && Object.is(first.value[0], value) && encode.does === 'right'
  const isReadable = decode.does === 'right' || decode.does === 'return'
  const isSeen = peeked.state === (isReadable ? 'fresh' : 'missing')
  const isAsRead = decode.does !== 'return' || ('value' in peeked && Object.is(peeked.value, decode.with))
  const again = isReadable ? null : await outcomeOf(() => cache.getOrLoad(key, () => 'again'))
  const isLoaded = again === null || ('value' in again && again.value === 'again')
  return isIt && isSeen && isAsRead && isLoaded ? null : { first, peeked, again }
}

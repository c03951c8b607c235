import { types } from 'node:util'
import type { Codec } from '../codec/codec.ts'
import { checkBy, type Schema } from '../codec/schema.ts'
import { CacheError, quoted, messageOf, ignoreRejection } from '../errors.ts'
import type { Events } from '../observe/events.ts'
import { ErrorAnswer, type LoadFailures } from './failures.ts'
import type { Stale } from './loader.ts'
import { describeKind } from '../codec/built-in.ts'
import type { Entry } from '../contract/store.ts'
import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../time/clock.ts'

/** The payload of a value, or the error VALUE_NOT_SERIALIZABLE or VALUE_TOO_LARGE. */
export function encodeValue(value: unknown, key: string, maxValueSize: number, codec: Codec): Uint8Array | CacheError {
  let payload: Uint8Array
  try {
    payload = codec.encode(value)
    if (!types.isUint8Array(payload)) throw wrong('encode', 'a Uint8Array', payload)
  } catch (cause) {
    const why = `The value of ${quoted(key)} cannot be stored: ${messageOf(cause)}`
    return new CacheError('VALUE_NOT_SERIALIZABLE', why, { key, cause })
  }
  if (payload.byteLength <= maxValueSize) return payload
  const size = `${payload.byteLength} bytes, more than the ${maxValueSize} that \`maxValueSize\` allows`
  return new CacheError('VALUE_TOO_LARGE', `The value of ${quoted(key)} has ${size}`, { key })
}

/**
 * The value of an entry, as its schema gives it; `null` if the codec cannot decode its payload, or if it does not pass
 * the schema: it then counts as missing.
 */
export function decodeEntry(
  entry: Pick<Entry, 'payload' | 'age'>,
  key: string,
  { codec, events }: { codec: Codec; events: Events },
  schema: Schema | null,
): Stale | null {
  try {
    const value = codec.decode(entry.payload)
    if (value instanceof Promise) throw wrong('decode', 'the value', value)
    if (schema === null || ErrorAnswer.is(value)) return { value, age: entry.age }
    const checked = checkBy(schema, value)
    if (checked.state === 'fails') throw checked.error
    return { value: checked.output, age: entry.age }
  } catch (cause) {
    events.emit('garbage', { key, cause })
    return null
  }
}

/** The value of an entry; `null` also if it is older than a value that callers here have received. */
export function decodeUsable(
  entry: Entry,
  key: string,
  parts: { codec: Codec; events: Events; unstored: UnstoredValues },
  schema: Schema | null,
): Stale | null {
  return parts.unstored.isOlder(key, entry) ? null : decodeEntry(entry, key, parts, schema)
}

/** The error for a codec that returned the wrong type. It names only the type, because the result may hold a value. */
function wrong(method: 'encode' | 'decode', what: string, returned: unknown): TypeError {
  // The promise has no other consumer.
  if (types.isPromise(returned)) ignoreRejection(returned)
  const got = returned === undefined || returned === null ? String(returned) : describeKind(returned)
  return new TypeError(`Expected ${method}() of the codec to return ${what}, got ${got}`)
}

/** The first byte of payloads with a mark: no text in UTF-8 and no value in msgpack begins with it. */
const mark = 0xc1
const [errorMark, valueMark] = [0x65, 0x76]

/** The codec of a cache: that of its user for values, and the answers that are errors. */
export function withErrorAnswers(codec: Codec, failures: LoadFailures): Codec {
  const marked = (kind: number, payload: Uint8Array): Buffer => Buffer.concat([Buffer.of(mark, kind), payload])
  return {
    encode(value) {
      if (ErrorAnswer.is(value)) return marked(errorMark, value.encoded(failures))
      const payload = codec.encode(value)
      return types.isUint8Array(payload) && payload[0] === mark ? marked(valueMark, payload) : payload
    },
    decode(payload) {
      if (payload[0] !== mark) return codec.decode(payload)
      if (payload[1] === errorMark) return ErrorAnswer.decoded(payload.subarray(2), failures)
      return codec.decode(payload[1] === valueMark ? payload.subarray(2) : payload)
    },
  }
}

/** The most keys that are remembered. */
const most = 10_000

interface Unstored {
  /** When its load began, by the clock. */
  readonly began: number
  readonly digest: string
}

/**
 * The values that callers of this process received but the store may lack: those of loads without a lease, and of loads
 * whose fill was not answered. The store may hold an older value that is still fresh. A caller that has seen the newer
 * one must not get the older one afterwards. So an older value counts as missing here and is loaded again, once in the
 * fleet, unless its bytes are the same.
 */
export class UnstoredValues {
  readonly #clock: Clock
  readonly #byKey = new LRUCache<string, Unstored>({ max: most })

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Remembers a value that callers received.
   * @param began when its load began, by the clock
   */
  add(key: string, began: number, payload: Uint8Array): void {
    const known = this.#byKey.get(key)
    if (known === undefined || known.began < began) this.#byKey.set(key, { began, digest: digestOf(payload) })
  }

  /** Whether the entry was loaded before a value that callers received, and differs from it. */
  isOlder(key: string, { age, loadTime, payload }: Entry): boolean {
    if (this.#byKey.size === 0) return false
    const unstored = this.#byKey.get(key)
    if (unstored === undefined) return false
    if (this.#clock.now() - age - loadTime < unstored.began) return digestOf(payload) !== unstored.digest
    this.#byKey.delete(key)
    return false
  }
}

function digestOf(payload: Uint8Array): string {
  return createHash('sha1').update(payload).digest('base64')
}

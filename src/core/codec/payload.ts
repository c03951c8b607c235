import { types } from 'node:util'
import type { Codec } from './codec.ts'
import { checkBy, type Schema } from './schema.ts'
import { CacheError, quoted, messageOf, ignoreRejection } from '../errors.ts'
import { ErrorAnswer } from './error-answer.ts'
import { describeKind } from './built-in.ts'
import type { Entry, Validators } from '../contract/store.ts'

/** The value that a load replaces, and its age in milliseconds. It may still be fresh. */
export interface Stale extends Validators {
  readonly value: unknown
  readonly age: number
}

/** What decodes the entries of a cache, and hears of those that do not decode. */
export interface Decoding {
  readonly codec: Codec
  readonly events: { emit(name: 'garbage', event: { key: string; cause: unknown }): void }
}

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
  { codec, events }: Decoding,
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

/** The error for a codec that returned the wrong type. It names only the type, because the result may hold a value. */
function wrong(method: 'encode' | 'decode', what: string, returned: unknown): TypeError {
  // The promise has no other consumer.
  if (types.isPromise(returned)) ignoreRejection(returned)
  const got = returned === undefined || returned === null ? String(returned) : describeKind(returned)
  return new TypeError(`Expected ${method}() of the codec to return ${what}, got ${got}`)
}

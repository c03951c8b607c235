import { types } from 'node:util'
import type { Codec } from './codec.ts'
import { CacheError, quoted, said } from './errors.ts'
import type { Events } from './events.ts'
import type { Stale } from './load.ts'
import { quietly } from './quietly.ts'
import { described } from './refusal.ts'
import type { Entry } from './store.ts'

/** The bytes of a value; VALUE_NOT_SERIALIZABLE or VALUE_TOO_LARGE if it cannot be kept. */
export function encoded(value: unknown, key: string, maxValueSize: number, codec: Codec): Uint8Array | CacheError {
  let payload: Uint8Array
  try {
    payload = codec.encode(value)
    if (!types.isUint8Array(payload)) throw wrong('encode', 'a Uint8Array', payload)
  } catch (cause) {
    const why = `The value of ${quoted(key)} cannot be stored: ${said(cause)}`
    return new CacheError('VALUE_NOT_SERIALIZABLE', why, { key, cause })
  }
  if (payload.byteLength <= maxValueSize) return payload
  const size = `${payload.byteLength} bytes, more than the ${maxValueSize} that \`maxValueSize\` allows`
  return new CacheError('VALUE_TOO_LARGE', `The value of ${quoted(key)} has ${size}`, { key })
}

/** The value of an entry; `null` for bytes that are not of this codec, which then count as no value at all. */
export function decoded(
  entry: Pick<Entry, 'payload' | 'age'>,
  key: string,
  { codec, events }: { codec: Codec; events: Events },
): Stale | null {
  try {
    const value = codec.decode(entry.payload)
    if (value instanceof Promise) throw wrong('decode', 'the value', value)
    return { value, age: entry.age }
  } catch (cause) {
    events.emit('garbage', { key, cause })
    return null
  }
}

/** The error of a codec that returned what it must not. Says nothing of what it is but its kind, for it is a value. */
function wrong(method: 'encode' | 'decode', what: string, returned: unknown): TypeError {
  // Nobody else will ever hear how it ends.
  if (types.isPromise(returned)) quietly(returned)
  const got = returned === undefined || returned === null ? String(returned) : described(returned)
  return new TypeError(`Expected ${method}() of the codec to return ${what}, got ${got}`)
}

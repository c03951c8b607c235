import type { Codec } from './codec.ts'
import { CacheError, quoted } from './errors.ts'
import type { Events } from './events.ts'
import type { Stale } from './load.ts'
import type { Entry } from './store.ts'

/** The bytes of a value; VALUE_NOT_SERIALIZABLE or VALUE_TOO_LARGE if it cannot be kept. */
export function encoded(value: unknown, key: string, maxValueSize: number, codec: Codec): Uint8Array | CacheError {
  let payload: Uint8Array
  try {
    payload = codec.encode(value)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    return new CacheError('VALUE_NOT_SERIALIZABLE', `The value of ${quoted(key)} cannot be stored: ${why}`, {
      key,
      cause,
    })
  }
  if (payload.byteLength <= maxValueSize) return payload
  const size = `${payload.byteLength} bytes, more than the ${maxValueSize} that \`maxValueSize\` allows`
  return new CacheError('VALUE_TOO_LARGE', `The value of ${quoted(key)} has ${size}`, { key })
}

/** The value of an entry; `null` for bytes that are not of this codec, which then count as no value at all. */
export function decoded(entry: Entry, key: string, { codec, events }: { codec: Codec; events: Events }): Stale | null {
  try {
    return { value: codec.decode(entry.payload), age: entry.age }
  } catch (cause) {
    events.emit('garbage', { key, cause })
    return null
  }
}

import { types } from 'node:util'
import type { Codec } from '../codec/codec.ts'
import { CacheError, quoted, messageOf, ignoreRejection } from '../errors.ts'
import type { Events } from '../observe/events.ts'
import type { Stale } from './loader.ts'
import { describeKind } from '../codec/built-in.ts'
import type { Entry } from '../contract/store.ts'
import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../time/clock.ts'

/** The bytes of a value; VALUE_NOT_SERIALIZABLE or VALUE_TOO_LARGE if it cannot be kept. */
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

/** The value of an entry; `null` for bytes that are not of this codec, which then count as no value at all. */
export function decodeEntry(
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

/** The same; `null` also for a value older than one that callers here have been given. */
export function decodeUsable(
  entry: Entry,
  key: string,
  parts: { codec: Codec; events: Events; unstored: UnstoredValues },
): Stale | null {
  return parts.unstored.isOlder(key, entry) ? null : decodeEntry(entry, key, parts)
}

/** The error of a codec that returned what it must not. Says nothing of what it is but its kind, for it is a value. */
function wrong(method: 'encode' | 'decode', what: string, returned: unknown): TypeError {
  // Nobody else will ever hear how it ends.
  if (types.isPromise(returned)) ignoreRejection(returned)
  const got = returned === undefined || returned === null ? String(returned) : describeKind(returned)
  return new TypeError(`Expected ${method}() of the codec to return ${what}, got ${got}`)
}

/** The most keys that are remembered. */
const most = 10_000

interface Unstored {
  /** When its load began, by the clock. */
  readonly began: number
  readonly digest: string
}

/**
 * The values that callers of this process were given and the store was not: of loads without a lease, and of loads whose
 * fill may have been lost. While the store was away it may have kept an older value that is fresh still. A caller that has
 * seen the newer one must not be given the older one after it, so an older value counts as missing here, unless it is the
 * same value: then it is loaded anew, once in the fleet.
 */
export class UnstoredValues {
  readonly #clock: Clock
  readonly #byKey = new LRUCache<string, Unstored>({ max: most })

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** A value is given to callers. @param began when its load began, by the clock */
  add(key: string, began: number, payload: Uint8Array): void {
    const known = this.#byKey.get(key)
    if (known === undefined || known.began < began) this.#byKey.set(key, { began, digest: digestOf(payload) })
  }

  /** Whether what the store has was loaded before a value that callers were given, and differs from it. */
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

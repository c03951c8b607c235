import { types } from 'node:util'
import { builtInAt, fromBytes } from './built-in.ts'
import { toTagged, fromTagged } from './tagged-json.ts'

/** Turns values into bytes and back. */
export interface Codec {
  /**
   * The bytes a store keeps for a value.
   * @param value what the loader returned
   * @throws TypeError when the value would not come back as it is
   */
  encode(value: unknown): Uint8Array

  /**
   * The value that was encoded; it shares no memory with the payload.
   * @param payload what `encode` returned, in this process or in another
   * @throws Error when no codec of this version wrote these bytes
   */
  decode(payload: Buffer): unknown
}

// A payload without a marker is JSON text, and no JSON text begins with a byte below 0x09.
const buffer = 0x01
const uint8Array = 0x02
const taggedJson = 0x03
const lastMarker = 0x08

/**
 * The default codec, JSON made honest: a value comes back exactly as it went in, or it is refused.
 *
 * Comes back, at any depth: all that JSON knows, `undefined` (also as a property's value), `NaN`, `Infinity`, `-0`,
 * bigints, `Date`, `Map`, `Set`, `Buffer`, typed arrays, `DataView`, `ArrayBuffer`, objects without a prototype, a key
 * `__proto__`.
 *
 * Refused, with a TypeError that names the path: functions, symbols, instances of other classes (also of subclasses of
 * the above), proxies, accessors, symbol keys, holes in arrays, named properties of arrays and of other built-ins,
 * shared or resizable memory, cycles, more than 1000 levels.
 *
 * Not kept: that two references were to one object (two equal ones come back), non-enumerable properties, frozenness.
 *
 * Plain JSON is stored as its text in UTF-8, a `Buffer` or `Uint8Array` as its bytes behind a marker byte.
 */
export function jsonCodec(): Codec {
  return { encode, decode }
}

function encode(value: unknown): Uint8Array {
  try {
    if (types.isUint8Array(value)) {
      const name = builtInAt(value, { steps: [], holders: [] }, 0)
      return marked(name === 'Buffer' ? buffer : uint8Array, value)
    }
    const { plain, tree } = toTagged(value)
    const text = Buffer.from(JSON.stringify(tree))
    return plain ? text : marked(taggedJson, text)
  } catch (error) {
    if (error instanceof TypeError) throw error
    // The stack was nearly full before the call, or the text is longer than a string can be.
    throw new TypeError(`Cannot store the value: ${String(error)}`, { cause: error })
  }
}

function marked(marker: number, bytes: Uint8Array): Buffer {
  const payload = Buffer.allocUnsafe(1 + bytes.length)
  payload[0] = marker
  payload.set(bytes, 1)
  return payload
}

function decode(payload: Buffer): unknown {
  const marker = payload[0]
  try {
    if (marker === undefined || marker > lastMarker) return JSON.parse(payload.toString())
    if (marker === taggedJson) return fromTagged(JSON.parse(payload.toString('utf8', 1)))
    if (marker === buffer) return fromBytes('Buffer', payload.subarray(1))
    if (marker === uint8Array) return fromBytes('Uint8Array', payload.subarray(1))
  } catch {
    // No cause: what JSON.parse throws quotes the text, and values have no business in logs.
    throw new Error(`Cannot read a stored value: its ${payload.length} bytes are not what this codec writes`)
  }
  throw new Error(`Cannot read a stored value: unknown marker byte ${marker}, perhaps of a newer version of this codec`)
}

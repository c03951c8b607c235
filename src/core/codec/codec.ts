/*
 * Room: codec. Turns values into bytes and back without silent changes. It knows nothing of stores, keys or times.
 *
 * Reading order: codec.ts (the contract and the default codec), tagged-json.ts (values that plain JSON would change),
 * built-in.ts (which instances of built-in classes can be restored, and the errors for all others), schema.ts (values
 * checked by a schema of the user), payload.ts (values of a cache as the bytes of an entry), portable-error.ts (errors
 * that cross processes), load-failures.ts (the errors of failed loads), error-answer.ts (errors that are answers).
 */
import { types } from 'node:util'
import { builtInAt, fromBytes } from './built-in.ts'
import { toTagged, fromTagged } from './tagged-json.ts'

/** Turns values into bytes and back. */
export interface Codec {
  /**
   * Encodes a value as the bytes that a store keeps.
   * @param value the result of the loader
   * @throws TypeError if the value would not decode to an equal one
   */
  encode(value: unknown): Uint8Array

  /**
   * Decodes a payload; the result shares no memory with it.
   * @param payload the result of `encode`, from this process or another
   * @throws Error if no codec of this version wrote these bytes
   */
  decode(payload: Buffer): unknown
}

// A payload without a marker is JSON text; no JSON text begins with a byte below 0x09.
const buffer = 0x01
const uint8Array = 0x02
const taggedJson = 0x03
const lastMarker = 0x08

/**
 * The default codec: JSON that either restores a value exactly or refuses it.
 *
 * Restored at any depth: everything that JSON knows, `undefined` (as a property's value too), `NaN`, `Infinity`, `-0`,
 * bigints, `Date`, `Map`, `Set`, `Buffer`, typed arrays, `DataView`, `ArrayBuffer`, objects without a prototype, and a
 * key `__proto__`.
 *
 * Refused, with a TypeError that names the path: functions, symbols, instances of other classes (subclasses of the
 * above included), proxies, accessors, symbol keys, holes in arrays, named properties of arrays and of other built-ins,
 * shared or resizable memory, cycles, more than 1000 levels.
 *
 * Not kept: object identity (two references to one object decode to two equal objects), non-enumerable properties,
 * frozenness.
 *
 * Plain JSON is stored as UTF-8 text, a `Buffer` or `Uint8Array` as its bytes behind a marker byte.
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
    // The stack was nearly full before the call, or the text exceeds the longest string.
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
    // No cause: the error of JSON.parse quotes the text, and values must not reach the logs.
    throw new Error(`Cannot read a stored value: its ${payload.length} bytes are not what this codec writes`)
  }
  throw new Error(`Cannot read a stored value: unknown marker byte ${marker}, perhaps of a newer version of this codec`)
}

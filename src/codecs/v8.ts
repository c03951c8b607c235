import { DefaultDeserializer, serialize, type Deserializer } from 'node:v8'
import { bytesOf, fromBytes } from '../core/codec/built-in.ts'
import type { Codec } from '../core/codec/codec.ts'
import { messageOf } from '../core/errors.ts'
import { refuseWhatChanges } from './cloneable.ts'

/**
 * A codec with the structured clone of V8 (`node:v8`), for values with shared or cyclic references, and for errors.
 *
 * Restored at any depth: everything that `jsonCodec` restores except objects without a prototype; also cycles, object
 * identity, errors of the built-in classes (message, stack, cause), `RegExp`, and holes in arrays.
 *
 * Refused, with a TypeError that names the path: functions, symbols, instances of other classes, objects without a
 * prototype, errors with own properties (a `code`), proxies, accessors, symbol keys, more than 1000 levels.
 *
 * The bytes have the format of V8. A Node.js with an older format cannot read a newer one, and no other software reads
 * either.
 */
export function v8Codec(): Codec {
  return { encode, decode }
}

function encode(value: unknown): Uint8Array {
  try {
    refuseWhatChanges(value)
    return serialize(value)
  } catch (error) {
    if (error instanceof TypeError) throw error
    // The stack was nearly full before the call, or the bytes exceed the largest buffer.
    throw new TypeError(`Cannot store the value: ${messageOf(error)}`, { cause: error })
  }
}

function decode(payload: Buffer): unknown {
  try {
    const reader = new CopyingDeserializer(payload)
    reader.readHeader()
    return reader.readValue()
  } catch {
    // No cause: the error may quote the value, and values must not reach the logs.
    const size = `its ${payload.length} bytes`
    throw new Error(`Cannot read a stored value: ${size} are not what this codec writes, or of a newer Node.js`)
  }
}

interface HostObjects extends Deserializer {
  /** Documented for subclasses, but missing in the types. */
  _readHostObject(): ArrayBufferView
}

const Base = DefaultDeserializer as unknown as new (payload: Uint8Array) => HostObjects

/**
 * Copies each view: the base class returns views of the payload, which change with it and expose it by their `buffer`.
 */
class CopyingDeserializer extends Base {
  override _readHostObject(): ArrayBufferView {
    const view = super._readHostObject()
    return fromBytes(view.constructor.name, bytesOf(view)) as ArrayBufferView
  }
}

import { types } from 'node:util'
import { ignoreRejection } from '../core/errors.ts'
import { describeKind } from '../core/codec/built-in.ts'

/**
 * The bytes that a user's method returned.
 * @throws TypeError for anything else, naming its kind but not its content, which is a value
 */
export function bytesReturned(by: string, returned: unknown): Uint8Array {
  if (types.isUint8Array(returned)) return returned
  // The promise has no other consumer.
  if (types.isPromise(returned)) ignoreRejection(returned)
  const got = returned === undefined || returned === null ? String(returned) : describeKind(returned)
  throw new TypeError(`Expected ${by} to return a Uint8Array, got ${got}`)
}

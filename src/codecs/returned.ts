import { types } from 'node:util'
import { ignoreRejection } from '../core/errors.ts'
import { describeKind } from '../core/codec/built-in.ts'

/** What somebody else's method returned, if it is bytes. Throws TypeError with its kind, never with itself: it is a value. */
export function bytesReturned(by: string, returned: unknown): Uint8Array {
  if (types.isUint8Array(returned)) return returned
  // Nobody else will ever hear how it ends.
  if (types.isPromise(returned)) ignoreRejection(returned)
  const got = returned === undefined || returned === null ? String(returned) : describeKind(returned)
  throw new TypeError(`Expected ${by} to return a Uint8Array, got ${got}`)
}

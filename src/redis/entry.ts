import { tokenLength } from '../core/token.ts'
import type { Entry } from '../core/store.ts'

/*
 * A value in Redis is one string: a header of 48 bytes, then the payload. Fixed width, so that a script can cut it
 * without knowing the payload; numbers are big-endian; times are milliseconds by the clock of the Redis server.
 *
 *   0  format, 177          18  written at, 6 bytes       36  version, IEEE double
 *   1  flags, 0             24  fresh until, 6 bytes      44  load time in ms, 4 bytes
 *   2  token, 16 bytes      30  stale until, 6 bytes      48  payload
 */
const format = 177
const headerLength = 48

/** The entry in a string as it stands in Redis; `null` for what is not one of ours, or of a format yet to come. */
export function entryIn(bytes: Buffer, serverNow: number): Entry | null {
  if (bytes.length < headerLength || bytes[0] !== format) return null
  return {
    payload: bytes.subarray(headerLength),
    token: bytes.toString('latin1', 2, 2 + tokenLength),
    version: bytes.readDoubleBE(36),
    age: Math.max(0, serverNow - bytes.readUIntBE(18, 6)),
    freshFor: bytes.readUIntBE(24, 6) - serverNow,
    staleFor: bytes.readUIntBE(30, 6) - serverNow,
    loadTime: bytes.readUInt32BE(44),
  }
}

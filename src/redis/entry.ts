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

/**
 * A value written this many milliseconds in the future, or more, is from before the server's clock was set back: how old
 * it is nobody knows. Less than that is what clocks of different servers, and estimates of them, may differ by.
 */
const ofTheFuture = 5_000

/** The entry in a string as it stands in Redis; `null` for what is not one of ours, or of a format yet to come. */
export function entryIn(bytes: Buffer, serverNow: number): Entry | null {
  if (bytes.length < headerLength || bytes[0] !== format) return null
  return new RedisEntry(bytes, serverNow)
}

/** An entry whose header is read where it is asked for: a hit needs one field of it. */
class RedisEntry implements Entry {
  readonly #bytes: Buffer
  readonly #serverNow: number

  constructor(bytes: Buffer, serverNow: number) {
    this.#bytes = bytes
    this.#serverNow = serverNow
  }

  get payload(): Buffer {
    return this.#bytes.subarray(headerLength)
  }

  get token(): string {
    return this.#bytes.toString('latin1', 2, 2 + tokenLength)
  }

  get version(): number {
    return this.#bytes.readDoubleBE(36)
  }

  get age(): number {
    return Math.max(0, this.#serverNow - this.#bytes.readUIntBE(18, 6))
  }

  get freshFor(): number {
    return this.#left(24)
  }

  get staleFor(): number {
    return this.#left(30)
  }

  get loadTime(): number {
    return this.#bytes.readUInt32BE(44)
  }

  /** What is left until the moment at a place of the header. */
  #left(place: number): number {
    const writtenAt = this.#bytes.readUIntBE(18, 6)
    return writtenAt > this.#serverNow + ofTheFuture ? -1 : this.#bytes.readUIntBE(place, 6) - this.#serverNow
  }
}

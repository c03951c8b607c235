import { tokenLength } from '../core/lease/token.ts'
import type { Entry, NewValue, Validators } from '../core/contract/store.ts'
import { checkedValidators } from '../core/load/loader.ts'

/*
 * A value in Redis is one string: a header of 48 bytes, then the payload. Fixed width, so that a script can cut it
 * without knowing the payload; numbers are big-endian; times are milliseconds by the clock of the Redis server.
 *
 *   0  format, 177          18  written at, 6 bytes       36  version, IEEE double
 *   1  flags                24  fresh until, 6 bytes      44  load time in ms, 4 bytes
 *   2  token, 16 bytes      30  stale until, 6 bytes      48  what the flags say, then the payload
 *
 * With the flag 1 there is more to say of it: the length of the next, 4 bytes, and as JSON the epoch of when its load
 * began, its tags and its validators.
 */
const format = 177
const headerLength = 48
const aboutFlag = 1

/**
 * A value written this many milliseconds in the future, or more, is from before the server's clock was set back: how old
 * it is nobody knows. Less than that is what clocks of different servers, and estimates of them, may differ by.
 */
const ofTheFuture = 5_000

/** The entry in a string as it stands in Redis; `null` for what is not one of ours, or of a format yet to come. */
export function entryIn(bytes: Buffer, serverNow: number): RedisEntry | null {
  if (bytes.length < headerLength || bytes[0] !== format) return null
  return new RedisEntry(bytes, serverNow)
}

/** Whose value these bytes are; `null` for what is not one of ours. */
export function tokenIn(bytes: unknown): string | null {
  return Buffer.isBuffer(bytes) ? (entryIn(bytes, 0)?.token ?? null) : null
}

/** What stands behind the header. @param since the epoch of when the load of the value began */
export function payloadOf({ payload, tags = [], validators = null }: NewValue, since: number): Buffer {
  const bytes = Buffer.isBuffer(payload) ? payload : Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength)
  if (tags.length === 0 && validators === null) return bytes
  const about = Buffer.from(JSON.stringify([since, tags, validators]))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(about.length)
  return Buffer.concat([length, about, bytes])
}

/** Its flags. */
export function flagsOf({ tags = [], validators = null }: NewValue): number {
  return tags.length === 0 && validators === null ? 0 : aboutFlag
}

interface About {
  readonly since: number
  readonly tags: readonly string[]
  readonly validators: Validators | null
}

const nothing: About = { since: 0, tags: [], validators: null }

/** No tag is empty, so that nobody finds one by this name: void. */
const garbage: About = { since: 0, tags: [''], validators: null }

/** An entry whose header is read where it is asked for: a hit needs one field of it. */
export class RedisEntry implements Entry {
  readonly #bytes: Buffer
  readonly #serverNow: number
  #about: About | null = null

  constructor(bytes: Buffer, serverNow: number) {
    this.#bytes = bytes
    this.#serverNow = serverNow
  }

  get payload(): Buffer {
    return this.#bytes.subarray(this.#aboutEnd)
  }

  get tags(): readonly string[] {
    return this.#said().tags
  }

  get validators(): Validators | null {
    return this.#said().validators
  }

  /** The epoch of when its load began; 0 without tags. */
  get since(): number {
    return this.#said().since
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

  get #aboutEnd(): number {
    if (((this.#bytes[1] as number) & aboutFlag) === 0 || this.#bytes.length < headerLength + 4) return headerLength
    return headerLength + 4 + this.#bytes.readUInt32BE(headerLength)
  }

  #said(): About {
    return (this.#about ??= this.#aboutEnd === headerLength ? nothing : aboutIn(this.#bytes, this.#aboutEnd))
  }

  /** What is left until the moment at a place of the header. */
  #left(place: number): number {
    const writtenAt = this.#bytes.readUIntBE(18, 6)
    return writtenAt > this.#serverNow + ofTheFuture ? -1 : this.#bytes.readUIntBE(place, 6) - this.#serverNow
  }
}

function aboutIn(bytes: Buffer, end: number): About {
  try {
    const said = JSON.parse(bytes.toString('utf8', headerLength + 4, end)) as [unknown, unknown, Validators | null]
    const [since, tags, validators] = said
    const good = Number.isSafeInteger(since) && Array.isArray(tags) && tags.every((tag) => typeof tag === 'string')
    return good ? { since: since as number, tags, validators: validators && checkedValidators(validators) } : garbage
  } catch {
    return garbage
  }
}

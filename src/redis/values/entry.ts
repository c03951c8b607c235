import { tokenLength } from '../../core/lease/token.ts'
import type { Entry, NewValue, Validators } from '../../core/contract/store.ts'
import { checkedValidators } from '../../core/entry/validators.ts'

/*
 * A value in Redis is one string: a header of 48 bytes, then the payload. The width is fixed, so that a script can cut
 * the header without knowing the payload. Numbers are big-endian, times are milliseconds by the clock of the Redis
 * server.
 *
 *   0  format, 177          18  written at, 6 bytes       36  version, IEEE double
 *   1  flags                24  fresh until, 6 bytes      44  load time in ms, 4 bytes
 *   2  token, 16 bytes      30  stale until, 6 bytes      48  the additional data of the flags, then the payload
 *
 * Flag 1 announces additional data: its length, 4 bytes, then JSON with the epoch at which the load began, the tags and
 * the validators. Flag 2 says that a soft invalidation has ended the ttl.
 */
const format = 177
const headerLength = 48
const aboutFlag = 1
const softFlag = 2

/**
 * A value written this far in the future, in milliseconds, is from before the server's clock was set back, and its age
 * is unknown. Smaller differences come from the clocks of several servers and the estimates of them.
 */
const ofTheFuture = 5_000

/** The entry in a string of Redis; `null` for foreign bytes, or a format of a later version. */
export function entryIn(bytes: Buffer, serverNow: number): RedisEntry | null {
  if (bytes.length < headerLength || bytes[0] !== format) return null
  return new RedisEntry(bytes, serverNow)
}

/** The token of the load that wrote these bytes; `null` for foreign bytes. */
export function tokenIn(bytes: unknown): string | null {
  return Buffer.isBuffer(bytes) ? (entryIn(bytes, 0)?.token ?? null) : null
}

/**
 * The bytes behind the header.
 * @param since the epoch at which the load of the value began
 */
export function payloadOf({ payload, tags = [], validators = null }: NewValue, since: number): Buffer {
  const bytes = Buffer.isBuffer(payload) ? payload : Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength)
  if (tags.length === 0 && validators === null) return bytes
  const about = Buffer.from(JSON.stringify([since, tags, validators]))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(about.length)
  return Buffer.concat([length, about, bytes])
}

/** The flags of a value. */
export function flagsOf({ tags = [], validators = null }: NewValue): number {
  return tags.length === 0 && validators === null ? 0 : aboutFlag
}

interface About {
  readonly since: number
  readonly tags: readonly string[]
  readonly validators: Validators | null
}

const nothing: About = { since: 0, tags: [], validators: null }

/** Unreadable data voids the value: no tag has an empty name, so its epoch is never found. */
const garbage: About = { since: 0, tags: [''], validators: null }

/** An entry that reads its header on demand: a hit needs only one field. */
export class RedisEntry implements Entry {
  /** The server's time at which it was seen, in milliseconds. */
  readonly seenAt: number
  readonly #bytes: Buffer
  #about: About | null = null

  constructor(bytes: Buffer, serverNow: number) {
    this.#bytes = bytes
    this.seenAt = serverNow
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

  /** The epoch at which its load began; 0 without tags. */
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
    return Math.max(0, this.seenAt - this.#bytes.readUIntBE(18, 6))
  }

  get freshFor(): number {
    const left = this.#left(24)
    // The estimate of the server's clock may be behind the moment of the invalidation.
    return this.outdated ? Math.min(left, 0) : left
  }

  get outdated(): boolean {
    return ((this.#bytes[1] as number) & softFlag) !== 0
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

  /** The milliseconds until the moment at an offset of the header. */
  #left(place: number): number {
    const writtenAt = this.#bytes.readUIntBE(18, 6)
    return writtenAt > this.seenAt + ofTheFuture ? -1 : this.#bytes.readUIntBE(place, 6) - this.seenAt
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

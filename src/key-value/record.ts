import type { Failure } from '../core/errors.ts'
import type { Entry, Seen, Validators } from '../core/contract/store.ts'
import { inspected, type TagEpochs } from '../core/entry/tags.ts'

/**
 * The record of a key in a plain key-value store. Moments are milliseconds since 1970, by the clocks of the processes.
 */
export interface KeyRecord {
  /** The version of the last lease or value; the next one is greater. */
  readonly version: number
  readonly value?: StoredValue | undefined
  /** The load under way. */
  readonly held?: HeldRecord | undefined
  /** The outcome of a load without a value, while it is the answer; `failure` is `null` for "do not queue". */
  readonly rest?: RestRecord | undefined
}

/** The outcome of a load without a value. */
export interface RestRecord {
  readonly token: string
  readonly until: number
  readonly failure: Failure | null
  /** The tags of a failure, and their epoch when its load began; missing without tags. */
  readonly tags?: readonly string[]
  readonly since?: number
}

/** A load under way; `since` is the epoch of tags at its grant. */
export interface HeldRecord {
  readonly token: string
  readonly until: number
  readonly since: number
  /** The fields from here on are missing in records of older versions of this library. */
  readonly holder?: string
  readonly context?: string | undefined
  readonly grantedAt?: number
  readonly renewals?: number
}

/** A value and its metadata. */
export interface StoredValue {
  readonly token: string
  readonly version: number
  readonly loadTime: number
  readonly writtenAt: number
  readonly freshUntil: number
  readonly staleUntil: number
  readonly payload: Buffer
  readonly tags: readonly string[]
  readonly validators: Validators | null
  /** The epoch of its namespace when its load began. */
  readonly since: number
  /** Whether a soft invalidation has ended its ttl. */
  readonly outdated?: boolean
}

/** The first byte of a record; no UTF-8 text begins with it. */
const mark = 0xb2

const nothing: KeyRecord = { version: 0 }

const noEntry = { entry: null, voidedBy: [], softenedBy: [] }

/** A record as bytes: the mark, the length of the JSON head, the head, and the payload. */
export function bytesOf({ value, ...rest }: KeyRecord): Buffer {
  const { payload = Buffer.alloc(0), ...about } = value ?? {}
  const head = Buffer.from(JSON.stringify({ ...rest, ...(value === undefined ? {} : { value: about }) }))
  const start = Buffer.alloc(5)
  start.writeUInt8(mark)
  start.writeUInt32BE(head.length, 1)
  return Buffer.concat([start, head, payload])
}

/** The record in the bytes; an empty record if they are not one. */
export function recordFrom(bytes: Uint8Array | null | undefined): KeyRecord {
  if (bytes === null || bytes === undefined || bytes.length < 5 || bytes[0] !== mark) return nothing
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const end = 5 + buffer.readUInt32BE(1)
  try {
    const { value, ...rest } = JSON.parse(buffer.toString('utf8', 5, end)) as KeyRecord
    if (!(rest.version >= 0) || (value !== undefined && !Array.isArray(value.tags))) return nothing
    // A copy: the value must not change with the store's buffer.
    return value === undefined ? rest : { ...rest, value: { ...value, payload: Buffer.from(buffer.subarray(end)) } }
  } catch {
    return nothing
  }
}

/** When the last part of a record ends; 0 if it has none. */
export function endOf({ value, held, rest }: KeyRecord): number {
  return Math.max(value?.staleUntil ?? 0, held?.until ?? 0, rest?.until ?? 0)
}

/** The entry of a record at a moment; `null` if it may not be served any more. */
export function entryOf({ value }: KeyRecord, now: number): Entry | null {
  return value !== undefined && value.staleUntil > now ? seen(value, now) : null
}

/**
 * A value after a soft invalidation: its ttl ends at that moment, unless it has ended before, and its grace begins, which
 * ends at `until` at the latest.
 */
export function softened(value: StoredValue, at: number, until: number): StoredValue {
  const freshUntil = Math.min(value.freshUntil, at)
  const staleUntil = Math.min(freshUntil + value.staleUntil - value.freshUntil, until)
  return { ...value, outdated: true, freshUntil, staleUntil }
}

/** A stored value as an entry at a moment. */
export function seen(value: StoredValue, now: number): Entry {
  const { payload, token, version, loadTime, tags, validators, writtenAt, freshUntil, staleUntil } = value
  const { outdated = false } = value
  return {
    payload,
    token,
    version,
    loadTime,
    tags,
    validators,
    age: now - writtenAt,
    // The clock of another process may be ahead of this one.
    freshFor: outdated ? Math.min(freshUntil - now, 0) : freshUntil - now,
    staleFor: staleUntil - now,
    outdated,
  }
}

/** A record for operators. The number of waiters is unknown. */
export function lookedAt(
  key: string,
  { value, held, rest, version }: KeyRecord,
  epochs: readonly (TagEpochs | null)[],
  now: number,
): Seen {
  const restLeft = rest === undefined || held !== undefined ? 0 : rest.until - now
  const left = (held?.until ?? 0) - now
  const { token = '', holder = '', context = '', grantedAt = now, renewals = 0 } = held ?? {}
  const lease = {
    key,
    token,
    fence: BigInt(version),
    holder,
    context,
    age: Math.max(0, now - grantedAt),
    left,
    renewals,
    waiting: null,
  }
  return {
    ...(value === undefined ? noEntry : inspected(seen(value, now), value.since, epochs, now)),
    lease: left > 0 ? lease : null,
    rest: rest !== undefined && restLeft > 0 ? { failure: rest.failure, left: restLeft } : null,
  }
}

/** The required methods of a key-value store. */
export interface KeyValue {
  /** The last value that was set and not forgotten; `null` or `undefined` if there is none. */
  get(key: string): Promise<Uint8Array | null | undefined>
  /**
   * @param ttl the milliseconds after which the store may forget the value; it must not forget earlier unless memory is
   *   short
   */
  set(key: string, value: Uint8Array, ttl: number): Promise<unknown>
}

/*
 * Room: stored. A stored response: its record, its bytes, its key and its validators.
 *
 * Reading order: stored-response.ts (the records and their codec), request-key.ts (addresses and keys), validators.ts
 * (ETags, and the conditions of a revalidation).
 */
import { ageAt } from '../policy/age.ts'
import type { Codec } from '../../core/codec/codec.ts'
import type { FieldLine } from '../policy/fields.ts'
import type { StaleRules } from '../policy/stale.ts'

/** The stored part of a response besides its body. */
export interface StoredHead {
  readonly status: number
  /** The reason phrase that the handler has set; `undefined` for the usual one, and with HTTP/2, which has none. */
  readonly statusMessage: string | undefined
  readonly lines: readonly FieldLine[]
  /** The names of the fields of earlier middleware that the handler has removed; absent for none. */
  readonly removed?: readonly string[]
  /**
   * When the head was received, in milliseconds since the epoch; its age at that time and its freshness lifetime, in
   * ms.
   */
  readonly receivedAt: number
  readonly initialAge: number
  readonly lifetime: number
  readonly rules: StaleRules
  /** What the request that was answered is given, as `textOf` formats it. */
  readonly given: string
  /** The names of the selecting inputs (request fields and others), and their values as `Inputs.by` formats them. */
  readonly vary: readonly string[]
  readonly selected: string
}

/** A stored response. */
export interface StoredResponse extends StoredHead {
  readonly kind: 'response'
  readonly body: Buffer
}

/** A stored response that may be validated, with its age in milliseconds. */
export interface Old {
  readonly stored: StoredResponse
  readonly age: number
}

/**
 * The record at an address with variants: the names of the inputs that they differ by. Each variant has a key of its
 * own, where there may be such a record again: some handlers read a further input for some values of the others only.
 */
export interface Variants {
  readonly kind: 'variants'
  readonly names: readonly string[]
  /**
   * Random part of the keys of the variants. An invalidation of the address deletes this record, and with it the only
   * way to the variants.
   */
  readonly generation: string
}

/** The age of a response now, in milliseconds; as accurate as the clocks of the machines agree. */
export function ageNow({ initialAge, receivedAt }: StoredHead): number {
  return ageAt(Date.now(), initialAge, receivedAt)
}

const formats = { response: 1, variants: 2 }

/**
 * The codec of the records. Layout: one byte for the format, the length of the head (uint32, big-endian), the head as
 * JSON, the body.
 */
export const responseCodec: Codec = {
  encode(value) {
    const { kind, ...rest } = value as StoredResponse | Variants
    const { body = Buffer.alloc(0), ...head } = rest as { body?: Buffer }
    const text = Buffer.from(JSON.stringify(head))
    const prefix = Buffer.alloc(5)
    prefix[0] = formats[kind]
    prefix.writeUInt32BE(text.length, 1)
    return Buffer.concat([prefix, text, body])
  },
  decode(payload) {
    const length = payload.readUInt32BE(1)
    const head: unknown = JSON.parse(payload.toString('utf8', 5, 5 + length))
    if (payload[0] === formats.variants) return { kind: 'variants', ...(head as object) }
    if (payload[0] !== formats.response) throw new Error(`Cannot read a stored response: unknown format ${payload[0]}`)
    // A copy, because the payload is a slice of a larger buffer of the connection, which a near copy would keep alive.
    return { kind: 'response', ...(head as object), body: Buffer.from(payload.subarray(5 + length)) }
  },
}

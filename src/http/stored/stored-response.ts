import type { Codec } from '../../core/codec/codec.ts'
import type { FieldLine } from '../policy/fields.ts'
import type { StaleRules } from '../policy/stale.ts'

/** What is kept of a response besides its body. */
export interface StoredHead {
  readonly status: number
  /** What stands beside the status, where that is not what is usual. */
  readonly statusMessage: string | undefined
  readonly lines: readonly FieldLine[]
  /** When it was received, in milliseconds since the epoch, and how old it was then and how long it is fresh in all, in ms. */
  readonly receivedAt: number
  readonly initialAge: number
  readonly lifetime: number
  readonly rules: StaleRules
  /** What stood before the cache when it was made, as `textOf` says it. */
  readonly before: string
  /** The names of the request fields and of what else it was selected by, and what they said. */
  readonly vary: readonly string[]
  readonly selected: string
}

/** A response as it is kept. */
export interface StoredResponse extends StoredHead {
  readonly kind: 'response'
  readonly body: Buffer
}

/** What is stored and may be validated, and how old it is. */
export interface Old {
  readonly stored: StoredResponse
  readonly age: number
}

/** Says by which request fields the responses of a URL differ; each is kept under a key of its own. */
export interface Variants {
  readonly kind: 'variants'
  readonly names: readonly string[]
  /** Part of their keys: what was stored before an invalidation is not found after it. */
  readonly generation: string
}

/** How old a response is, in milliseconds, as far as the clocks of the machines agree. */
export function ageNow({ initialAge, receivedAt }: StoredHead): number {
  return initialAge + Math.max(0, Date.now() - receivedAt)
}

const formats = { response: 1, variants: 2 }

/** Bytes of stored responses: a byte for the format, the length of the head, the head as JSON, and the body as it is. */
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
    // A copy: the bytes of the connection are a larger buffer, which a response that is kept would keep with it.
    return { kind: 'response', ...(head as object), body: Buffer.from(payload.subarray(5 + length)) }
  },
}

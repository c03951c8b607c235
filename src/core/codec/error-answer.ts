import { randomUUID } from 'node:crypto'
import { types } from 'node:util'
import type { CacheError } from '../errors.ts'
import type { Codec } from './codec.ts'
import { errorForCallers, failureOf, type LoadFailures } from './load-failures.ts'
import { membersOf } from './portable-error.ts'

/** An error in the place of a value: the answer of the source, such as "not found", which every caller is thrown. */
export class ErrorAnswer {
  /** Its cause is what the loader threw. */
  readonly error: CacheError
  /** In milliseconds. */
  readonly ttl: number
  readonly #token = randomUUID()

  constructor(error: CacheError, ttl: number) {
    this.error = error
    this.ttl = ttl
  }

  /** Whether a value is one. Asks no proxy. */
  static is(value: unknown): value is ErrorAnswer {
    return typeof value === 'object' && value !== null && #token in value
  }

  /** The answer in bytes. */
  encoded(failures: LoadFailures): Uint8Array {
    const { error, ttl } = this
    const key = error.key ?? ''
    return Buffer.from(JSON.stringify({ key, ttl, ...failures.describe(error, { key, token: this.#token }, ttl) }))
  }

  /**
   * The answer in bytes of `encoded`.
   * @throws SyntaxError for other bytes
   */
  static decoded(bytes: Buffer, failures: LoadFailures): ErrorAnswer {
    const said = membersOf(JSON.parse(bytes.toString()))
    const [key, ttl] = [String(said['key']), Number(said['ttl'])]
    return new ErrorAnswer(failures.revive(failureOf(said), key, ttl), ttl)
  }
}

/**
 * The value for a caller.
 * @throws what the loader threw, if that is the answer
 */
export function answerOf(value: unknown): unknown {
  if (ErrorAnswer.is(value)) throw errorForCallers(value.error)
  return value
}

/** The first byte of payloads with a mark: no text in UTF-8 and no value in msgpack begins with it. */
const mark = 0xc1
const [errorMark, valueMark] = [0x65, 0x76]

/** The codec of a cache: that of its user for values, and the answers that are errors. */
export function withErrorAnswers(codec: Codec, failures: LoadFailures): Codec {
  const marked = (kind: number, payload: Uint8Array): Buffer => Buffer.concat([Buffer.of(mark, kind), payload])
  return {
    encode(value) {
      if (ErrorAnswer.is(value)) return marked(errorMark, value.encoded(failures))
      const payload = codec.encode(value)
      return types.isUint8Array(payload) && payload[0] === mark ? marked(valueMark, payload) : payload
    },
    decode(payload) {
      if (payload[0] !== mark) return codec.decode(payload)
      if (payload[1] === errorMark) return ErrorAnswer.decoded(payload.subarray(2), failures)
      return codec.decode(payload[1] === valueMark ? payload.subarray(2) : payload)
    },
  }
}

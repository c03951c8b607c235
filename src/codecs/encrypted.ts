import { createCipheriv, createDecipheriv, createSecretKey, randomBytes, type KeyObject } from 'node:crypto'
import { types } from 'node:util'
import { checkOptions, shape, type Check } from '../core/options/checks.ts'
import type { Codec } from '../core/codec/codec.ts'
import { formatValue } from '../core/time/duration.ts'
import { quoted } from '../core/errors.ts'
import { bytesReturned } from './returned.ts'

/** A named key for AES-256. */
export interface EncryptionKey {
  /** The name, stored in clear text before each value that the key encrypts. 1 to 255 bytes in UTF-8. */
  readonly id: string
  /** 32 random bytes, or a secret `KeyObject` of 32 bytes. Bytes are copied. */
  readonly key: Uint8Array | KeyObject
}

/** The options of `encrypted`. */
export interface EncryptedOptions {
  /**
   * The first key encrypts, all keys decrypt. To rotate, append the new key in every process, then move it to the
   * front.
   */
  readonly keys: readonly EncryptionKey[]
  /**
   * The owner of the values, such as the namespace: a value encrypted with another context is refused. It is
   * authenticated, not stored. Default `''`.
   */
  readonly context?: string | undefined
}

// An encrypted value: the mark, the length of the id, the id, a nonce of 12 bytes, the ciphertext, a tag of 16 bytes.
// The part before the nonce is authenticated together with the context. The mark begins no UTF-8 text.
const mark = 0xfd
const nonceLength = 12
const tagLength = 16
const algorithm = 'aes-256-gcm'
const cipherOptions = { authTagLength: tagLength }

/**
 * A codec that encrypts and authenticates the bytes of another codec with AES-256-GCM (NIST SP 800-38D) and a random
 * nonce per value. Wrap `compressed` with it, not the other way round: ciphertext does not compress.
 * @throws TypeError for another kind of object, or a wrong option; no message contains any part of a key
 */
export function encrypted(codec: Codec, options: EncryptedOptions): Codec {
  shape('an object with encode() and decode()', ['encode', 'decode'])('codec', codec)
  // A key in place of the options must not be quoted.
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(`Expected the options of encrypted to be an object, got ${kindOf(options)}`)
  }
  const given = checkOptions('encrypted', options, { keys: asGiven, context: checkContext }) as EncryptedOptions
  checkKeys(given.keys)
  const keys = new Map(given.keys.map(({ id, key }) => [id, secretOf(key)]))
  const context = Buffer.from(given.context ?? '')
  const [[id, secret]] = keys as unknown as [[string, KeyObject]]
  const header = headerOf(id)
  return {
    encode: (value) => {
      const bytes = bytesReturned('encode() of the wrapped codec', codec.encode(value))
      const nonce = randomBytes(nonceLength)
      const cipher = createCipheriv(algorithm, secret, nonce, cipherOptions).setAAD(Buffer.concat([header, context]))
      const ciphertext = [cipher.update(bytes), cipher.final()]
      return Buffer.concat([header, nonce, ...ciphertext, cipher.getAuthTag()])
    },
    decode: (payload) => codec.decode(decrypted(payload, keys, context)),
  }
}

function headerOf(id: string): Buffer {
  const name = Buffer.from(id)
  return Buffer.concat([Buffer.of(mark, name.length), name])
}

function decrypted(payload: Buffer, keys: ReadonlyMap<string, KeyObject>, context: Buffer): Buffer {
  const unread = 'Cannot read a stored value:'
  const nonceAt = 2 + (payload[1] ?? 0)
  const ciphertextAt = nonceAt + nonceLength
  const tagAt = payload.length - tagLength
  if (payload[0] !== mark || tagAt < ciphertextAt) {
    throw new Error(`${unread} its ${payload.length} bytes are not what this codec writes`)
  }
  const id = payload.toString('utf8', 2, nonceAt)
  const secret = keys.get(id)
  if (secret === undefined) throw new Error(`${unread} there is no key with its id, ${quoted(id)}`)
  try {
    const decipher = createDecipheriv(algorithm, secret, payload.subarray(nonceAt, ciphertextAt), cipherOptions)
      .setAAD(Buffer.concat([payload.subarray(0, nonceAt), context]))
      .setAuthTag(payload.subarray(tagAt))
    return Buffer.concat([decipher.update(payload.subarray(ciphertextAt, tagAt)), decipher.final()])
  } catch {
    const causes = 'its key or context was another one, or its bytes were changed'
    throw new Error(`${unread} the key ${quoted(id)} does not decrypt it; ${causes}`)
  }
}

/** Passes a value on: its own check comes later, because the value may be missing or must not be quoted. */
const asGiven: Check = (_, value) => value

function checkKeys(keys: unknown): void {
  if (!Array.isArray(keys) || keys.length === 0) {
    throw new TypeError(`Expected \`keys\` to be a list of at least one key, got ${kindOf(keys)}`)
  }
  const ids = new Map<unknown, number>()
  for (const [index, entry] of keys.entries()) {
    const place = `keys[${index}]`
    if (typeof entry !== 'object' || entry === null) {
      throw new TypeError(`Expected \`${place}\` to be an object with id and key, got ${kindOf(entry)}`)
    }
    const { id, key }: Partial<EncryptionKey> = checkOptions(place, entry, { id: asGiven, key: asGiven })
    checkId(`${place}.id`, id)
    checkKey(`${place}.key`, key)
    const first = ids.get(id)
    if (first !== undefined) {
      throw new TypeError(`Expected each of \`keys\` to have an id of its own, got the same at ${first} and ${index}`)
    }
    ids.set(id, index)
  }
}

function checkId(name: string, id: unknown): void {
  const length = typeof id === 'string' && id.isWellFormed() ? Buffer.byteLength(id) : 0
  if (length >= 1 && length <= 255) return
  // Not quoted: it may be a key in place of an id.
  const got = typeof id === 'string' ? `a string of ${id.length} characters` : kindOf(id)
  throw new TypeError(`Expected \`${name}\` to be a text of 1 to 255 bytes in UTF-8, got ${got}`)
}

function checkKey(name: string, key: unknown): void {
  const size = types.isKeyObject(key) ? key.symmetricKeySize : types.isUint8Array(key) ? key.byteLength : 0
  if (size === 32) return
  throw new TypeError(`Expected \`${name}\` to be 32 bytes or a secret KeyObject of 32, got ${kindOf(key)}`)
}

const checkContext: Check = (name, value) => {
  if (typeof value === 'string' && value.isWellFormed()) return value
  const got = typeof value === 'string' ? 'one with half a surrogate pair' : formatValue(value)
  throw new TypeError(`Expected \`${name}\` to be a text, got ${got}`)
}

/** A copy, so that the caller may wipe the bytes. */
function secretOf(key: Uint8Array | KeyObject): KeyObject {
  return types.isKeyObject(key) ? key : createSecretKey(key)
}

/** The kind of a value, without any part of its content. */
function kindOf(value: unknown): string {
  if (types.isKeyObject(value)) {
    return `a ${value.type} KeyObject${value.type === 'secret' ? ` of ${value.symmetricKeySize} bytes` : ''}`
  }
  if (types.isUint8Array(value)) return `${value.byteLength} bytes`
  if (Array.isArray(value)) return `a list of ${value.length}`
  return value === undefined || value === null ? String(value) : `a value of type ${typeof value}`
}

import { randomBytes } from 'node:crypto'
import { formatValue } from '../time/duration.ts'

/** The length of every token, in ASCII characters: fixed, because it stands in the fixed-width header of a value. */
export const tokenLength = 16

const counterDigits = 6
const counterEnd = 36 ** counterDigits

/**
 * A source of tokens, one per load in the whole fleet: ten random characters (60 bits) drawn per source,
 * then a counter, so that a token costs an addition and not a random number.
 */
export class TokenSource {
  #prefix = ''
  #count = counterEnd

  next(): string {
    if (this.#count >= counterEnd) {
      this.#prefix = randomBytes(8)
        .toString('base64url')
        .slice(0, tokenLength - counterDigits)
      this.#count = 0
    }
    return this.#prefix + (this.#count++).toString(36).padStart(counterDigits, '0')
  }

  /** Whether a token came from here. */
  issued(token: string): boolean {
    return this.#prefix !== '' && token.startsWith(this.#prefix) && token.length === tokenLength
  }
}

/** A function that returns a new token each time. */
export function tokens(): () => string {
  const source = new TokenSource()
  return () => source.next()
}

/** Throws TypeError for what cannot name a load. */
export function checkToken(token: unknown): asserts token is string {
  if (typeof token === 'string' && /^[\w-]{16}$/.test(token)) return
  throw new TypeError(`Expected the token of a lease, as explain() and leases() tell it, got ${formatValue(token)}`)
}

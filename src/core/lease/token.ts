import { randomBytes } from 'node:crypto'
import { formatValue } from '../time/duration.ts'

/**
 * The length of every token, in ASCII characters. It is fixed because the token is part of a value's fixed-width
 * header.
 */
export const tokenLength = 16

const counterDigits = 6
const counterEnd = 36 ** counterDigits

/**
 * A source of tokens that are unique in the fleet: ten random characters (60 bits) per source, then a counter, so that
 * a token costs an addition instead of a random number.
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

  /** Whether this source made a token. */
  issued(token: string): boolean {
    return this.#prefix !== '' && token.startsWith(this.#prefix) && token.length === tokenLength
  }
}

/** A function that returns a new token on each call. */
export function tokens(): () => string {
  const source = new TokenSource()
  return () => source.next()
}

/**
 * Asserts that `token` has the form of a token.
 * @throws TypeError for anything else
 */
export function checkToken(token: unknown): asserts token is string {
  if (typeof token === 'string' && /^[\w-]{16}$/.test(token)) return
  throw new TypeError(`Expected the token of a lease, as explain() and leases() tell it, got ${formatValue(token)}`)
}

import { randomBytes } from 'node:crypto'

/** The length of every token, in ASCII characters: fixed, because it stands in the fixed-width header of a value. */
export const tokenLength = 16

const counterDigits = 6
const counterEnd = 36 ** counterDigits

/**
 * A source of tokens, one per load in the whole fleet: ten random characters (60 bits) drawn per source,
 * then a counter, so that a token costs an addition and not a random number.
 */
export function tokens(): () => string {
  let prefix = ''
  let count = counterEnd
  return () => {
    if (count >= counterEnd) {
      prefix = randomBytes(8)
        .toString('base64url')
        .slice(0, tokenLength - counterDigits)
      count = 0
    }
    return prefix + (count++).toString(36).padStart(counterDigits, '0')
  }
}

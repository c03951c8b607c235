import type { Validators } from '../contract/store.ts'
import { formatValue } from '../time/duration.ts'

/** The longest validator, in characters. */
const longest = 1_000

/**
 * The given validators; `null` if there are none.
 * @throws TypeError unless each is a well-formed string of up to 1 000 characters
 */
export function checkedValidators(given: Validators): Validators | null {
  if (given === null || typeof given !== 'object') {
    throw new TypeError(
      `Expected validators to be an object with \`etag\` or \`lastModified\`, got ${formatValue(given)}`,
    )
  }
  const { etag, lastModified } = given
  for (const [name, value] of Object.entries({ etag, lastModified })) {
    if (value === undefined || (typeof value === 'string' && value.length <= longest && value.isWellFormed())) continue
    throw new TypeError(
      `Expected \`${name}\` to be a well-formed string of up to ${longest} characters, got ${formatValue(value)}`,
    )
  }
  return etag === undefined && lastModified === undefined ? null : validatorsOf({ etag, lastModified })
}

/** The validators that are strings, without the others. */
export function validatorsOf({ etag, lastModified }: { etag?: unknown; lastModified?: unknown }): Validators {
  return {
    ...(typeof etag === 'string' ? { etag } : {}),
    ...(typeof lastModified === 'string' ? { lastModified } : {}),
  }
}

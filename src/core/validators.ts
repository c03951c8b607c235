import { shown } from './duration.ts'
import type { Validators } from './store.ts'

const longest = 1_000

/** Those among what is given; `null` if there is none. Throws TypeError for what is none. */
export function checkedValidators(given: Validators): Validators | null {
  if (given === null || typeof given !== 'object') {
    throw new TypeError(`Expected validators to be an object with \`etag\` or \`lastModified\`, got ${shown(given)}`)
  }
  const { etag, lastModified } = given
  for (const [name, value] of Object.entries({ etag, lastModified })) {
    if (value === undefined || (typeof value === 'string' && value.length <= longest && value.isWellFormed())) continue
    throw new TypeError(
      `Expected \`${name}\` to be a well-formed string of up to ${longest} characters, got ${shown(value)}`,
    )
  }
  return etag === undefined && lastModified === undefined ? null : validatorsOf({ etag, lastModified })
}

/** Only those that are there. */
export function validatorsOf({ etag, lastModified }: { etag?: unknown; lastModified?: unknown }): Validators {
  return {
    ...(typeof etag === 'string' ? { etag } : {}),
    ...(typeof lastModified === 'string' ? { lastModified } : {}),
  }
}

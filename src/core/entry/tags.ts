import { formatValue } from '../time/duration.ts'
import type { Entry } from '../contract/store.ts'

/*
 * Tags without a list of their keys. A namespace has an epoch, a number that each invalidation of tags makes greater, and
 * each tag the epoch of its last invalidation. A value has the epoch of when its load began: it is void if that of a tag
 * is greater, or is not there any more, because it was evicted or forgotten.
 */

const mostTags = 64
const longestTag = 1_000

/** The namespace of a key or a tag, as the stores see them; its colon included. */
export function namespaceOf(name: string): string {
  return name.slice(0, name.indexOf(':') + 1)
}

/** @param epochs those of all its tags; `null` for one that is not there */
export function isVoid(since: number, epochs: readonly (number | null)[]): boolean {
  return epochs.some((epoch) => epoch === null || epoch > since)
}

/** A value as it is seen when a tag of it voids it. */
export function voided({ payload, token, version, age, loadTime, tags, validators }: Entry): Entry {
  const never = Number.NEGATIVE_INFINITY
  return { payload, token, version, age, loadTime, tags, validators, freshFor: never, staleFor: never }
}

/** Whether a value is not served, not even to those who have waited for it. */
export function isVoided({ staleFor }: Entry): boolean {
  return staleFor === Number.NEGATIVE_INFINITY
}

/** Throws TypeError unless it is an array of up to 64 tags: well-formed strings of 1 to 1 000 characters. */
export function checkedTags(name: string, value: unknown): readonly string[] {
  if (!Array.isArray(value) || value.length > mostTags) {
    throw new TypeError(`Expected \`${name}\` to be an array of up to ${mostTags} tags, got ${formatValue(value)}`)
  }
  for (const tag of value as readonly unknown[]) {
    if (typeof tag === 'string' && tag !== '' && tag.length <= longestTag && tag.isWellFormed()) continue
    throw new TypeError(
      `Expected a tag to be a well-formed string of 1 to ${longestTag} characters, got ${formatValue(tag)}`,
    )
  }
  return [...new Set(value as readonly string[])]
}

/** How long an invalidation of a tag is remembered at least, in milliseconds: no load that it voids is under way then. */
export const tagKept = 86_400_000

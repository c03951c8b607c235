import { formatValue } from '../time/duration.ts'
import type { Entry } from '../contract/store.ts'

/*
 * Tags without lists of their keys. A namespace has an epoch, which every invalidation of tags increases; a tag has the
 * epoch of its last invalidation; a value has the epoch at which its load began. The value is void if the epoch of one
 * of its tags is greater, or is missing because it was evicted or forgotten.
 *
 * The race that the epochs survive, with processes A and B:
 *
 * 1. A wins the lease of a key at epoch 4, and its loader reads the old row.
 * 2. The row changes, and B invalidates tag t: the epochs of the namespace and of t become 5.
 * 3. A fills the key with a value that has tag t, of which the store learns only now. It compares epoch 5 with the 4 of
 *    the lease, and refuses the fill.
 *
 * Had A filled before step 2, readers would find 5 against the 4 of the value, and not serve it.
 */

const mostTags = 64
const longestTag = 1_000

/** The namespace of a key or tag in the store, including its colon. */
export function namespaceOf(name: string): string {
  return name.slice(0, name.indexOf(':') + 1)
}

/**
 * Whether a value is void.
 * @param since the epoch at which its load began
 * @param epochs the epochs of all its tags; `null` for a missing one
 */
export function isInvalidatedSince(since: number, epochs: readonly (number | null)[]): boolean {
  return epochs.some((epoch) => epoch === null || epoch > since)
}

/** A copy of a void entry that no reader may be served. */
export function markInvalidated({ payload, token, version, age, loadTime, tags, validators }: Entry): Entry {
  const never = Number.NEGATIVE_INFINITY
  return { payload, token, version, age, loadTime, tags, validators, freshFor: never, staleFor: never }
}

/** Whether a tag has voided an entry. Such an entry is not even the answer to callers that waited for its load. */
export function isInvalidated({ staleFor }: Entry): boolean {
  return staleFor === Number.NEGATIVE_INFINITY
}

/**
 * The tags without duplicates.
 * @throws TypeError unless `value` is an array of up to 64 well-formed strings of 1 to 1 000 characters
 */
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

/** The shortest memory of a tag's invalidation, in milliseconds: no load that it voids runs that long. */
export const tagKept = 86_400_000

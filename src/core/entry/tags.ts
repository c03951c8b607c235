import { formatValue } from '../time/duration.ts'
import type { Entry, Invalidation, Seen } from '../contract/store.ts'

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
 *
 * A tag has a second epoch, that of its last soft invalidation, if that came after the last hard one. It refuses fills as
 * the first does. It does not void a value that was stored before: it ends its ttl, at the moment that the epoch is.
 */

/** The most tags of a value, and of one invalidation. */
export const mostTags = 64
const longestTag = 1_000

/** The namespace of a key or tag in the store, including its colon. */
export function namespaceOf(name: string): string {
  return name.slice(0, name.indexOf(':') + 1)
}

/** The epochs of a tag's last invalidations; `soft` is 0 unless it is greater than `hard`. */
export interface TagEpochs {
  readonly hard: number
  readonly soft: number
}

/** The epochs of a tag after an invalidation; a tag that is missing may have voided values before. */
export function invalidated(before: TagEpochs | null, epoch: number, how: Invalidation): TagEpochs {
  return how === 'hard' || before === null ? { hard: epoch, soft: 0 } : { hard: before.hard, soft: epoch }
}

/** The epochs of a tag as text. */
export function textOfEpochs({ hard, soft }: TagEpochs): string {
  return soft === 0 ? String(hard) : `${hard} ${soft}`
}

/** The epochs in a text; `null` if it holds none. */
export function epochsIn(text: string): TagEpochs | null {
  const space = text.indexOf(' ')
  const hard = Number(space === -1 ? text : text.slice(0, space))
  const soft = space === -1 ? 0 : Number(text.slice(space + 1))
  return Number.isSafeInteger(hard) && Number.isSafeInteger(soft) ? { hard, soft } : null
}

/**
 * The epoch at which invalidations of its tags ended the ttl of a value: `-Infinity` if one voids it, `Infinity` if none
 * concerns it. The earliest of several counts, but of each tag only the last is known.
 * @param since the epoch at which its load began
 * @param epochs the epochs of all its tags; `null` for a missing tag, which voids the value
 */
export function endOfTtl(since: number, epochs: readonly (TagEpochs | null)[]): number {
  let end = Number.POSITIVE_INFINITY
  for (const each of epochs) {
    if (each === null || each.hard > since) return Number.NEGATIVE_INFINITY
    if (each.soft > since) end = Math.min(end, each.soft)
  }
  return end
}

/**
 * An entry as invalidations of its tags leave it: stale since then, with its grace from there; for ever, if it is void.
 * @param end the result of `endOfTtl`
 * @param now the moment of the entry, by the clock of the epochs, in milliseconds
 */
export function asInvalidated(entry: Entry, end: number, now: number): Entry {
  if (end === Number.POSITIVE_INFINITY) return entry
  const { payload, token, version, age, loadTime, tags, validators } = entry
  // The epoch is of the future if the clock was set back.
  const freshFor = Math.min(entry.freshFor, end / 1_000 - now, 0)
  const staleFor = freshFor + entry.staleFor - entry.freshFor
  return { payload, token, version, age, loadTime, tags, validators, freshFor, staleFor, outdated: true }
}

/** An entry for operators, as soft invalidations leave it, and the tags by which it was invalidated; as `asInvalidated`. */
export function inspected(
  entry: Entry,
  since: number,
  epochs: readonly (TagEpochs | null)[],
  now: number,
): Pick<Seen, 'entry' | 'voidedBy' | 'softenedBy'> {
  const end = endOfTtl(since, epochs)
  const ends = epochs.map((each) => endOfTtl(since, [each]))
  return {
    entry: Number.isFinite(end) ? asInvalidated(entry, end, now) : entry,
    voidedBy: entry.tags.filter((_, index) => ends[index] === Number.NEGATIVE_INFINITY),
    softenedBy: entry.tags.filter((_, index) => Number.isFinite(ends[index])),
  }
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

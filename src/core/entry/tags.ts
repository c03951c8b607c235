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
 * the first does. It does not void a value that was stored before: it ends its ttl, at the moment that the epoch is. A
 * third number may say after how many milliseconds the value must not be served any more.
 */

/** The most tags of a value, and of one invalidation. */
export const mostTags = 64
const longestTag = 1_000

/** The namespace of a key or tag in the store, including its colon. */
export function namespaceOf(name: string): string {
  return name.slice(0, name.indexOf(':') + 1)
}

/**
 * The epochs of a tag's last invalidations; `soft` is 0 unless it is greater than `hard`. `within`: for how many
 * milliseconds after it the values may be served at most; absent if it does not say.
 */
export interface TagEpochs {
  readonly hard: number
  readonly soft: number
  readonly within?: number
}

/** For how many milliseconds the values may be served at most after an invalidation. */
export function withinOf(how: Invalidation): number {
  if (typeof how === 'number') return how
  return how === 'hard' ? 0 : Number.POSITIVE_INFINITY
}

/** The epochs of a tag after an invalidation; a tag that is missing may have voided values before. */
export function invalidated(before: TagEpochs | null, epoch: number, how: Invalidation): TagEpochs {
  if (how === 'hard' || before === null) return { hard: epoch, soft: 0 }
  const { hard, soft, within } = before
  // The values that the last one concerned are gone at their time, whatever this one says.
  const left = within === undefined ? Number.POSITIVE_INFINITY : Math.floor((soft - epoch) / 1_000 + within)
  const most = Math.min(withinOf(how), left <= 0 ? Number.POSITIVE_INFINITY : left)
  return { hard: left <= 0 ? soft : hard, soft: epoch, ...(most < Number.POSITIVE_INFINITY && { within: most }) }
}

/** The epochs of a tag as text. */
export function textOfEpochs({ hard, soft, within }: TagEpochs): string {
  if (soft === 0) return String(hard)
  return within === undefined ? `${hard} ${soft}` : `${hard} ${soft} ${within}`
}

/** The epochs in a text; `null` if it holds none. */
export function epochsIn(text: string): TagEpochs | null {
  // Most are one number.
  const [hard, soft = 0, within, more] = text.includes(' ') ? text.split(' ').map(Number) : [Number(text)]
  if (!Number.isSafeInteger(hard) || !Number.isSafeInteger(soft) || more !== undefined) return null
  if (within === undefined) return { hard: hard as number, soft }
  return Number.isSafeInteger(within) ? { hard: hard as number, soft, within } : null
}

/** When the ttl of a value is over, and its life: epochs, `Infinity` for those that nothing has ended. */
export interface Ends {
  readonly ttl: number
  readonly life: number
}

const untouched: Ends = { ttl: Number.POSITIVE_INFINITY, life: Number.POSITIVE_INFINITY }
const over: Ends = { ttl: Number.NEGATIVE_INFINITY, life: Number.NEGATIVE_INFINITY }

/** Whether an invalidation of a tag concerns a value, or a remembered error. */
export function isTouched({ ttl }: Ends): boolean {
  return ttl < Number.POSITIVE_INFINITY
}

/** Whether it voids it. */
export function isVoid({ ttl }: Ends): boolean {
  return ttl === Number.NEGATIVE_INFINITY
}

/**
 * How invalidations of its tags leave a value. The earliest of several counts, but of each tag only the last is known.
 * @param since the epoch at which its load began
 * @param epochs the epochs of all its tags; `null` for a missing tag, which voids the value
 */
export function endsOf(since: number, epochs: readonly (TagEpochs | null)[]): Ends {
  let ends = untouched
  for (const each of epochs) {
    if (each === null || each.hard > since) return over
    const { soft, within = Number.POSITIVE_INFINITY } = each
    if (soft > since) ends = { ttl: Math.min(ends.ttl, soft), life: Math.min(ends.life, soft + within * 1_000) }
  }
  return ends
}

/**
 * An entry as invalidations of its tags leave it: stale since then, with its grace from there; for ever, if it is void.
 * @param now the moment of the entry, by the clock of the epochs, in milliseconds
 */
export function asInvalidated(entry: Entry, ends: Ends, now: number): Entry {
  if (!isTouched(ends)) return entry
  const { payload, token, version, age, loadTime, tags, validators } = entry
  // The epoch is of the future if the clock was set back.
  const freshFor = Math.min(entry.freshFor, ends.ttl / 1_000 - now, 0)
  const staleFor = Math.min(freshFor + entry.staleFor - entry.freshFor, ends.life / 1_000 - now)
  return { payload, token, version, age, loadTime, tags, validators, freshFor, staleFor, outdated: true }
}

/** An entry for operators, as soft invalidations leave it, and the tags by which it was invalidated; as `asInvalidated`. */
export function inspected(
  entry: Entry,
  since: number,
  epochs: readonly (TagEpochs | null)[],
  now: number,
): Pick<Seen, 'entry' | 'voidedBy' | 'softenedBy'> {
  const all = endsOf(since, epochs)
  const ends = epochs.map((each) => endsOf(since, [each]))
  const by = (which: (ends: Ends) => boolean): readonly string[] => {
    return entry.tags.filter((_, index) => which(ends[index] ?? untouched))
  }
  return {
    entry: isVoid(all) ? entry : asInvalidated(entry, all, now),
    voidedBy: by(isVoid),
    softenedBy: by((each) => isTouched(each) && !isVoid(each)),
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

import { entityTagOf, sameStrongly, sameWeakly } from './conditional.ts'
import { fieldOf, type FieldLine, type Fields } from './fields.ts'
import { storedFields } from './stored-fields.ts'

/*
 * RFC 9111 section 3.2: what is said of the stored content stays with it. ETag is the same in whatever may freshen a
 * response, but for its strength.
 */
const ofTheContent: ReadonlySet<string> = new Set([
  'content-digest',
  'content-encoding',
  'content-length',
  'content-md5',
  'content-range',
  'etag',
])

/**
 * RFC 9111 section 4.3.4: whether a 304 is about the stored response: its strong validator is that of the stored one;
 * without one, no weak validator of it is another and one is the same. A 304 without validators answers the only question
 * that was asked.
 */
export function isAbout(stored: Fields, update: Fields): boolean {
  const tag = entityTagOf(fieldOf(update, 'etag'))
  const known = entityTagOf(fieldOf(stored, 'etag'))
  if (tag?.strength === 'strong') return known !== null && sameStrongly(tag, known)
  const answers = [
    tag && known && sameWeakly(tag, known),
    sameText(fieldOf(stored, 'last-modified'), fieldOf(update, 'last-modified')),
  ].filter((answer) => answer !== null)
  const saysNothing = tag === null && fieldOf(update, 'last-modified') === null
  return answers.length === 0 ? saysNothing : answers.every(Boolean)
}

/**
 * RFC 9111 section 4.3.5: whether the 200 to a HEAD agrees with the stored response, which it then freshens; otherwise that
 * is stale.
 */
export function headAgrees(stored: Fields, head: Fields): boolean {
  return ['etag', 'last-modified', 'content-length'].every(
    (name) => fieldOf(head, name) === null || fieldOf(head, name) === fieldOf(stored, name),
  )
}

/**
 * RFC 9111 section 3.2: the stored lines after a 304, or a 200 to a HEAD. All lines of a field that the update has replace
 * all that are stored; the others stay, but for Age, which was that of the older response. An update has a Date: see
 * `dated`. If it has another Vary, the response is to be found by that from now on.
 */
export function freshen(
  stored: readonly FieldLine[],
  update: readonly FieldLine[],
  options: { readonly setCookie: 'keep' | 'drop' },
): FieldLine[] {
  const fresh = new Map<string, FieldLine[]>()
  for (const line of storedFields(update, options)) {
    const name = line[0].toLowerCase()
    if (ofTheContent.has(name)) continue
    const lines = fresh.get(name)
    if (lines) lines.push(line)
    else fresh.set(name, [line])
  }
  const kept: FieldLine[] = []
  for (const line of stored) {
    const name = line[0].toLowerCase()
    const lines = fresh.get(name)
    if (lines) kept.push(...lines.splice(0))
    else if (name !== 'age') kept.push(line)
  }
  return [...kept, ...[...fresh.values()].flat()]
}

function sameText(one: string | null, other: string | null): boolean | null {
  return one === null || other === null ? null : one === other
}

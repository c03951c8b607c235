import { entityTagOf, sameStrongly, sameWeakly } from './conditional.ts'
import { fieldOf, type FieldLine, type Fields } from './fields.ts'
import { storedFields } from './stored-fields.ts'

/*
 * RFC 9111 section 3.2: fields that describe the stored content stay with it. An update has the same ETag, except
 * perhaps for its strength.
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
 * Whether a 304 selects the stored response (RFC 9111 section 4.3.4): its strong ETag equals the stored one; or,
 * without a strong ETag, at least one of its weak validators equals the stored one and none differs. A 304 without
 * validators selects it, too: only one response was asked about.
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
 * The stored lines after a 304 (RFC 9111 section 3.2). The update's lines of a field replace
 * all stored lines of that field. The other stored lines stay, except Age, which belonged to the older response. An
 * update always has a Date; see `dated`. If it changes Vary, the response is selected by the new Vary from then on.
 */
export function freshen(stored: readonly FieldLine[], update: readonly FieldLine[]): FieldLine[] {
  const fresh = new Map<string, FieldLine[]>()
  for (const line of storedFields(update)) {
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

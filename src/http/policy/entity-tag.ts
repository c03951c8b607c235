import { trimmed } from './fields.ts'

/** RFC 9110 section 8.8.3: a validator; one that is odd (without quotes) is its spelling, and never strong. */
export interface EntityTag {
  readonly opaque: string
  readonly strength: 'strong' | 'weak' | 'odd'
}

/** The tags of a list, in order; `null` for a field that is absent. A comma within quotes does not part two tags. */
export function entityTagsOf(field: string | null): readonly EntityTag[] | null {
  if (field === null) return null
  const tags: EntityTag[] = []
  let at = 0
  while (at < field.length) {
    const end = endOfMember(field, at)
    const member = trimmed(field.slice(at, end))
    if (member !== '') tags.push(tagOf(member))
    at = end + 1
  }
  return tags
}

/** The one tag of an ETag field; `null` where there is none. */
export function entityTagOf(field: string | null): EntityTag | null {
  return field === null || field === '' ? null : tagOf(field)
}

/** RFC 9110 section 8.8.3.2: both strong, and the same. */
export function sameStrongly(one: EntityTag, other: EntityTag): boolean {
  return one.strength === 'strong' && other.strength === 'strong' && one.opaque === other.opaque
}

/** RFC 9110 section 8.8.3.2: the same, whether strong or weak; of odd ones the spelling. */
export function sameWeakly(one: EntityTag, other: EntityTag): boolean {
  return one.opaque === other.opaque
}

function endOfMember(field: string, from: number): number {
  let at = from
  while (field[at] === ' ' || field[at] === '\t') at++
  if (/^w\//i.test(field.slice(at, at + 2))) at += 2
  if (field[at] === '"') {
    const quote = field.indexOf('"', at + 1)
    if (quote !== -1) at = quote + 1
  }
  const comma = field.indexOf(',', at)
  return comma === -1 ? field.length : comma
}

function tagOf(text: string): EntityTag {
  const weak = /^w\//i.test(text.slice(0, 2))
  const quoted = weak ? text.slice(2) : text
  const inner = quoted.slice(1, -1)
  if (quoted.length < 2 || !quoted.startsWith('"') || !quoted.endsWith('"') || inner.includes('"')) {
    return { opaque: text, strength: 'odd' }
  }
  return { opaque: inner, strength: weak ? 'weak' : 'strong' }
}

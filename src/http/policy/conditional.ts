import { fieldOf, type FieldLine, trimmed } from './fields.ts'
import { dateOf } from './http-date.ts'
import type { Request, Response } from './message.ts'

/**
 * What the conditions of a request make of a stored response: it is sent, or a 304 is; or the request is the handler's.
 */
export type Precondition = 'send' | 'not-modified' | 'forward'

/**
 * RFC 9110 section 13.2.2 and RFC 9111 section 4.3.2: evaluates the conditions of a GET or HEAD against a stored response.
 * If-Match and If-Unmodified-Since are for who has the resource, and other methods are, too.
 * @param now for dates with a year of two digits; milliseconds since the epoch
 */
export function preconditionOf(
  { method, fields }: Request,
  stored: Pick<Response, 'status' | 'fields'>,
  now: number,
): Precondition {
  const isForTheHandler = fieldOf(fields, 'if-match') !== null || fieldOf(fields, 'if-unmodified-since') !== null
  if (isForTheHandler || (method !== 'GET' && method !== 'HEAD')) return 'forward'
  // RFC 9110 section 13.2.1: conditions count only where the answer without them would be a success.
  if (stored.status !== 200) return 'send'
  const tags = fieldOf(fields, 'if-none-match')
  const holds = tags === null ? isModified(fields, stored, now) : matchesNone(tags, stored)
  return holds ? 'send' : 'not-modified'
}

/** RFC 9110 section 13.1.2: `*` is any tag; otherwise none of the list may be that of the response, weakly compared. */
function matchesNone(tags: string, stored: Pick<Response, 'fields'>): boolean {
  if (tags === '*') return false
  const tag = entityTagOf(fieldOf(stored.fields, 'etag'))
  return tag === null || !entityTagsOf(tags)?.some((other) => sameWeakly(tag, other))
}

/** RFC 9110 section 13.1.3; RFC 9111 section 4.3.2: where it has no Last-Modified, its Date is compared. */
function isModified(fields: Request['fields'], stored: Pick<Response, 'fields'>, now: number): boolean {
  const since = dateOf(fieldOf(fields, 'if-modified-since'), now)
  if (since === null) return true
  const modified = fieldOf(stored.fields, 'last-modified') ?? fieldOf(stored.fields, 'date')
  const modifiedAt = dateOf(modified, now)
  return modifiedAt === null || modifiedAt > since
}

// Metadata of a content that is not sent.
const ofTheContent: ReadonlySet<string> = new Set([
  'content-digest',
  'content-encoding',
  'content-language',
  'content-length',
  'content-md5',
  'content-range',
  'content-type',
])

/**
 * RFC 9110 section 15.4.5: the lines of a 304. Whoever has the content has its metadata, but for what a cache goes by;
 * Last-Modified is sent only where there is no ETag.
 */
export function notModifiedFields(lines: readonly FieldLine[]): FieldLine[] {
  const hasTag = lines.some(([name]) => name.toLowerCase() === 'etag')
  return lines.filter(([spelling]) => {
    const name = spelling.toLowerCase()
    return !ofTheContent.has(name) && !(hasTag && name === 'last-modified')
  })
}

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

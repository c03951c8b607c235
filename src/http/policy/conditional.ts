import { fieldOf, type FieldLine, trimmed } from './fields.ts'
import { dateOf } from './http-date.ts'
import type { Request, Response } from './message.ts'

/**
 * How the conditions of a request are answered from a stored response: with the response (`'send'`), with a 304
 * (`'not-modified'`), or by the handler (`'forward'`).
 */
export type Precondition = 'send' | 'not-modified' | 'forward'

/**
 * Evaluates the conditions of a GET or HEAD against a stored response (RFC 9110 section 13.2.2, RFC 9111 section
 * 4.3.2). If-Match, If-Unmodified-Since and all other methods are forwarded: only the origin can evaluate them.
 * @param now the current time for two-digit years, in milliseconds since the epoch
 */
export function preconditionOf(
  { method, fields }: Request,
  stored: Pick<Response, 'status' | 'fields'>,
  now: number,
): Precondition {
  const isForTheHandler = fieldOf(fields, 'if-match') !== null || fieldOf(fields, 'if-unmodified-since') !== null
  if (isForTheHandler || (method !== 'GET' && method !== 'HEAD')) return 'forward'
  // RFC 9110 section 13.2.1: conditions count only if the answer without them would be a success.
  if (stored.status !== 200) return 'send'
  const tags = fieldOf(fields, 'if-none-match')
  const holds = tags === null ? isModified(fields, stored, now) : matchesNone(tags, stored)
  return holds ? 'send' : 'not-modified'
}

/**
 * If-None-Match (RFC 9110 section 13.1.2): `*` matches every response; otherwise it holds if no listed tag weakly
 * equals the tag of the response.
 */
function matchesNone(tags: string, stored: Pick<Response, 'fields'>): boolean {
  if (tags === '*') return false
  const tag = entityTagOf(fieldOf(stored.fields, 'etag'))
  return tag === null || !entityTagsOf(tags)?.some((other) => sameWeakly(tag, other))
}

/** If-Modified-Since (RFC 9110 section 13.1.3). RFC 9111 section 4.3.2: Date stands in for an absent Last-Modified. */
function isModified(fields: Request['fields'], stored: Pick<Response, 'fields'>, now: number): boolean {
  const since = dateOf(fieldOf(fields, 'if-modified-since'), now)
  if (since === null) return true
  const modified = fieldOf(stored.fields, 'last-modified') ?? fieldOf(stored.fields, 'date')
  const modifiedAt = dateOf(modified, now)
  return modifiedAt === null || modifiedAt > since
}

// Fields that describe a content, which a 304 does not send.
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
 * The lines of a 304 (RFC 9110 section 15.4.5). The client has the content and its metadata already, so only the fields
 * that caches use are sent; Last-Modified only if there is no ETag.
 */
export function notModifiedFields(lines: readonly FieldLine[]): FieldLine[] {
  const hasTag = lines.some(([name]) => name.toLowerCase() === 'etag')
  return lines.filter(([spelling]) => {
    const name = spelling.toLowerCase()
    return !ofTheContent.has(name) && !(hasTag && name === 'last-modified')
  })
}

/**
 * An entity tag (RFC 9110 section 8.8.3). An unquoted tag is `odd`: its opaque value is its spelling, and it is never
 * strong.
 */
export interface EntityTag {
  readonly opaque: string
  readonly strength: 'strong' | 'weak' | 'odd'
}

/**
 * Parses a list of tags, in order. A comma within quotes does not separate tags.
 * @returns `null` for an absent field
 */
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

/** Parses the tag of an ETag field; `null` for an absent or empty field. */
export function entityTagOf(field: string | null): EntityTag | null {
  return field === null || field === '' ? null : tagOf(field)
}

/** Strong comparison (RFC 9110 section 8.8.3.2): both tags are strong and equal. */
export function sameStrongly(one: EntityTag, other: EntityTag): boolean {
  return one.strength === 'strong' && other.strength === 'strong' && one.opaque === other.opaque
}

/**
 * Weak comparison (RFC 9110 section 8.8.3.2): the tags are equal, strong or weak; odd tags are compared by their
 * spelling.
 */
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

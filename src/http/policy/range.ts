import { entityTagOf, sameStrongly } from './conditional.ts'
import { fieldOf, trimmed, type Fields } from './fields.ts'
import { dateOf } from './http-date.ts'
import type { Request, Response } from './message.ts'

/** A range of bytes, from 0; `end` is inclusive. */
export interface Range {
  readonly start: number
  readonly end: number
}

/**
 * The part of a stored 200 that a GET asks for (RFC 9110 section 14.2). Conditions take precedence: call
 * `preconditionOf` first.
 * @param length the length of the stored content in bytes
 * @param now the current time for two-digit years, in milliseconds since the epoch
 * @returns `null` if the whole content is sent: for an invalid field, another unit, several ranges, or an If-Range that
 *   does not match; `'unsatisfiable'` if the answer is a 416
 */
export function rangeOf(
  { method, fields }: Request,
  stored: Pick<Response, 'status' | 'fields'>,
  length: number,
  now: number,
): Range | 'unsatisfiable' | null {
  const field = fieldOf(fields, 'range')
  if (field === null || method !== 'GET' || stored.status !== 200) return null
  // RFC 9110 section 14.1.1: units are case-insensitive. Fifteen digits are enough for every safe integer.
  const match = /^bytes=[ \t,]*(\d{0,15})-(\d{0,15})[ \t,]*$/i.exec(trimmed(field))
  if (!match || !isUnchanged(fieldOf(fields, 'if-range'), stored.fields, now)) return null
  return satisfied(match[1] as string, match[2] as string, length)
}

/** RFC 9110 section 14.1.2 */
function satisfied(first: string, last: string, length: number): Range | 'unsatisfiable' | null {
  if (first === '') {
    if (last === '') return null
    if (Number(last) === 0) return 'unsatisfiable'
    // Content-Range cannot name a byte of an empty content.
    return length === 0 ? null : { start: Math.max(0, length - Number(last)), end: length - 1 }
  }
  if (last !== '' && Number(last) < Number(first)) return null
  if (Number(first) >= length) return 'unsatisfiable'
  return { start: Number(first), end: last === '' ? length - 1 : Math.min(Number(last), length - 1) }
}

/**
 * Whether If-Range matches the stored response (RFC 9110 section 13.1.5): by a strong ETag, or by a strong
 * Last-Modified, which is one at least a second older than the Date (section 8.8.2.2).
 */
function isUnchanged(ifRange: string | null, stored: Fields, now: number): boolean {
  if (ifRange === null) return true
  const wanted = entityTagOf(ifRange)
  const tag = entityTagOf(fieldOf(stored, 'etag'))
  if (wanted && wanted.strength !== 'odd') return tag !== null && sameStrongly(wanted, tag)
  const wantedDate = dateOf(ifRange, now)
  const modifiedAt = dateOf(fieldOf(stored, 'last-modified'), now)
  const madeAt = dateOf(fieldOf(stored, 'date'), now)
  return wantedDate !== null && wantedDate === modifiedAt && madeAt !== null && madeAt - modifiedAt >= 1_000
}

/** The Content-Range of a 206 or a 416 (RFC 9110 section 14.4). */
export function contentRange(range: Range | 'unsatisfiable', length: number): string {
  return range === 'unsatisfiable' ? `bytes */${length}` : `bytes ${range.start}-${range.end}/${length}`
}

import { entityTagOf, sameStrongly } from './conditional.ts'
import { fieldOf, trimmed, type Fields } from './fields.ts'
import { dateOf } from './http-date.ts'
import type { Request, Response } from './message.ts'

/** Bytes of a content, from 0, the last included. */
export interface Range {
  readonly start: number
  readonly end: number
}

/**
 * RFC 9110 section 14.2: the part of a stored 200 that a GET asks for; `null` where the whole is sent, as for a field that is
 * not valid, another unit, several ranges, or an If-Range that does not hold; `'unsatisfiable'` where the answer is a 416.
 * Conditions are looked at before.
 * @param length of the stored content, in bytes
 * @param now for dates with a year of two digits; milliseconds since the epoch
 */
export function rangeOf(
  { method, fields }: Request,
  stored: Pick<Response, 'status' | 'fields'>,
  length: number,
  now: number,
): Range | 'unsatisfiable' | null {
  const field = fieldOf(fields, 'range')
  if (field === null || method !== 'GET' || stored.status !== 200) return null
  // RFC 9110 section 14.1.1: a unit is of either case. No whole number of bytes has more digits than 15.
  const match = /^bytes=[ \t,]*(\d{0,15})-(\d{0,15})[ \t,]*$/i.exec(trimmed(field))
  if (!match || !isUnchanged(fieldOf(fields, 'if-range'), stored.fields, now)) return null
  return satisfied(match[1] as string, match[2] as string, length)
}

/** RFC 9110 section 14.1.2 */
function satisfied(first: string, last: string, length: number): Range | 'unsatisfiable' | null {
  if (first === '') {
    if (last === '') return null
    if (Number(last) === 0) return 'unsatisfiable'
    // There is no byte to be named in an answer.
    return length === 0 ? null : { start: Math.max(0, length - Number(last)), end: length - 1 }
  }
  if (last !== '' && Number(last) < Number(first)) return null
  if (Number(first) >= length) return 'unsatisfiable'
  return { start: Number(first), end: last === '' ? length - 1 : Math.min(Number(last), length - 1) }
}

/**
 * RFC 9110 section 13.1.5: what the client has a part of is the stored response: by a strong tag, or by a Last-Modified that is
 * strong, which it is if the response was made at least a second later (section 8.8.2.2).
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

/** RFC 9110 section 14.4: the Content-Range of a 206, or of a 416. */
export function contentRange(range: Range | 'unsatisfiable', length: number): string {
  return range === 'unsatisfiable' ? `bytes */${length}` : `bytes ${range.start}-${range.end}/${length}`
}

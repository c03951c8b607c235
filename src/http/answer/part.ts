import type { ServerResponse } from 'node:http'
import type { Head } from './capture.ts'
import { notModifiedFields, preconditionOf } from '../policy/conditional.ts'
import { fieldOf, fieldsOf, type FieldLine } from '../policy/fields.ts'
import type { Request } from '../policy/message.ts'
import { contentRange, rangeOf } from '../policy/range.ts'
import { applyHead } from '../message/response-arguments.ts'
import { sayReason } from './serve.ts'

/** What a client is sent of an answer that is for it alone, and that it has already or wants a part of. */
export interface Part {
  readonly status: 206 | 304 | 416
  /** What is said of it in place of what the handler has said of the whole. */
  readonly lines: readonly FieldLine[]
  /** The bytes of the body that are sent: from 0, the last excluded. */
  readonly from: number
  readonly to: number
}

/**
 * What a client is sent of an answer whose handler has not seen that it has it already, or wants a part of it (RFC 9110 sections
 * 13.2.1 and 14.2); `null` for all of it. Parts are made of what says that it has some, as without a cache.
 */
export function partFor(asked: Request, { status, lines }: Head, now: number): Part | null {
  const fields = fieldsOf(lines)
  const response = { status, fields }
  const withoutContent = notModifiedFields(lines)
  if (preconditionOf(asked, response, now) === 'not-modified')
    return { status: 304, lines: withoutContent, from: 0, to: 0 }
  const length = fieldOf(fields, 'content-length')
  if (length === null || fieldOf(fields, 'accept-ranges') !== 'bytes') return null
  const range = rangeOf(asked, response, Number(length), now)
  if (range === null) return null
  const said: FieldLine = ['Content-Range', contentRange(range, Number(length))]
  if (range === 'unsatisfiable')
    return { status: 416, lines: [...withoutContent, said, ['Content-Length', '0']], from: 0, to: 0 }
  const { start: from, end } = range
  const whole = lines.filter(([name]) => name.toLowerCase() !== 'content-length')
  return { status: 206, lines: [...whole, said, ['Content-Length', String(end + 1 - from)]], from, to: end + 1 }
}

/** Has a response say that it is a part. */
export function sayPart(response: ServerResponse, { status, lines }: Part): void {
  const names = new Set(lines.map(([name]) => name.toLowerCase()))
  for (const name of response.getHeaderNames()) if (!names.has(name)) response.removeHeader(name)
  applyHead(response, [status, lines])
  // What the handler has said in words was of another status.
  sayReason(response, '')
}

/** Cuts the part out of the whole, as that is written. */
export function cutting({ from, to }: Part): (chunk: Buffer) => Buffer {
  let at = 0
  return (chunk) => {
    const begin = at
    at += chunk.length
    return chunk.subarray(Math.max(0, from - begin), Math.max(0, to - begin))
  }
}

import type { ServerResponse } from 'node:http'
import type { Head } from './redirect.ts'
import { notModifiedFields, preconditionOf } from '../policy/conditional.ts'
import { fieldOf, fieldsOf, type FieldLine } from '../policy/fields.ts'
import type { Request } from '../policy/message.ts'
import { contentRange, rangeOf } from '../policy/range.ts'
import { applyHead } from '../message/response-arguments.ts'
import { sayReason } from './serve.ts'

/** The answer to a conditional or range request, made of an answer for this client alone. */
export interface AnswerPart {
  readonly status: 206 | 304 | 416
  /** The lines of the head, in place of those of the whole answer. */
  readonly lines: readonly FieldLine[]
  /** The part of the body in bytes, from 0; `to` is exclusive. */
  readonly from: number
  readonly to: number
}

/**
 * Evaluates the conditions and the range of a request, which were hidden from the handler, on the head of its answer
 * (RFC 9110 sections 13.2.1 and 14.2). A range is served only if the answer has `Accept-Ranges: bytes`, as it would be
 * without a cache.
 * @returns `null` for the whole answer
 */
export function partFor(asked: Request, { status, lines }: Head, now: number): AnswerPart | null {
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

/** Turns the head of a response into that of a part. */
export function sayPart(response: ServerResponse, { status, lines }: AnswerPart): void {
  const names = new Set(lines.map(([name]) => name.toLowerCase()))
  for (const name of response.getHeaderNames()) if (!names.has(name)) response.removeHeader(name)
  applyHead(response, [status, lines])
  // The reason phrase of the handler belongs to another status.
  sayReason(response, '')
}

/** Returns a function that reduces each chunk of the whole body to its share of the part. */
export function cutting({ from, to }: AnswerPart): (chunk: Buffer) => Buffer {
  let at = 0
  return (chunk) => {
    const begin = at
    at += chunk.length
    return chunk.subarray(Math.max(0, from - begin), Math.max(0, to - begin))
  }
}

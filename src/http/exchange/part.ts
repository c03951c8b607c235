import type { ServerResponse } from 'node:http'
import type { Head } from './redirect.ts'
import { notModifiedFields, preconditionOf } from '../policy/conditional.ts'
import { fieldOf, fieldsOf, type FieldLine } from '../policy/fields.ts'
import type { Request } from '../policy/message.ts'
import { contentRange, rangeOf } from '../policy/range.ts'
import { applyHead, sayReason } from '../message/response-arguments.ts'

/** The answer to a conditional or range request, made of a whole answer. */
export interface AnswerPart {
  readonly status: 206 | 304 | 416
  /** The lines of the head, in place of those of the whole answer. */
  readonly lines: readonly FieldLine[]
  /** The part of the body in bytes, from 0; `to` is exclusive. */
  readonly from: number
  readonly to: number
}

/**
 * Evaluates the conditions and the range of a request on a whole answer (RFC 9110 sections 13.2.1 and 14.2).
 * @param length of the body, in bytes; `null` if it has no parts
 * @returns `null` for the whole answer
 */
export function partOf(
  asked: Request,
  { status, lines }: Pick<Head, 'status' | 'lines'>,
  length: number | null,
  now: number,
): AnswerPart | null {
  const response = { status, fields: fieldsOf(lines) }
  if (preconditionOf(asked, response, now) === 'not-modified')
    return { status: 304, lines: notModifiedFields(lines), from: 0, to: 0 }
  const range = length === null ? null : rangeOf(asked, response, length, now)
  if (length === null || range === null) return null
  const said: FieldLine = ['Content-Range', contentRange(range, length)]
  if (range === 'unsatisfiable') return { status: 416, lines: [said, ['Content-Length', '0']], from: 0, to: 0 }
  const { start: from, end } = range
  const whole = lines.filter(([name]) => name.toLowerCase() !== 'content-length')
  return { status: 206, lines: [...whole, said, ['Content-Length', String(end + 1 - from)]], from, to: end + 1 }
}

/**
 * The part of an answer for this client alone: the conditions and the range were hidden from its handler. A range is
 * served only if the answer has `Accept-Ranges: bytes`, as it would be without a cache.
 * @param hasParts whether the client is sent the bytes of the handler, and not others that are made of them
 */
export function partOfPassed(asked: Request, head: Head, hasParts: boolean, now: number): AnswerPart | null {
  const fields = fieldsOf(head.lines)
  const isRanged = hasParts && fieldOf(fields, 'accept-ranges') === 'bytes'
  const length = isRanged ? fieldOf(fields, 'content-length') : null
  const part = partOf(asked, head, length === null ? null : Number(length), now)
  return part?.status === 416 ? { ...part, lines: [...notModifiedFields(head.lines), ...part.lines] } : part
}

/** Turns the head of a response into that of a part. */
export function sayPart(response: ServerResponse, { status, lines }: AnswerPart): void {
  const names = new Set(lines.map(([name]) => name.toLowerCase()))
  for (const name of response.getHeaderNames()) if (!names.has(name)) response.removeHeader(name)
  applyHead(response, [status, lines])
  // The reason phrase of the handler belongs to another status.
  sayReason(response, '')
}

/** Reduces the chunks of a whole body, in their order, to a part. */
export interface Cut {
  /** The share of the next chunk. */
  readonly of: (chunk: Buffer) => Buffer
  /** Whether the part is complete: the rest of the body is of no use. */
  readonly isOver: boolean
}

export function cutting({ from, to }: AnswerPart): Cut {
  let at = 0
  return {
    of(chunk) {
      const begin = at
      at += chunk.length
      return chunk.subarray(Math.max(0, from - begin), Math.max(0, to - begin))
    },
    get isOver() {
      return at >= to
    },
  }
}

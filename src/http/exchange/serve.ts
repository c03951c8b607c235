import type { IncomingMessage, ServerResponse } from 'node:http'
import { cacheStatusText, type CacheStatus } from '../message/cache-status.ts'
import { streamOf } from '../message/http2.ts'
import { BodyReader } from './body-reader.ts'
import type { Recording } from './recording.ts'
import { ageText } from '../policy/age.ts'
import { fieldOf, fieldsOf, type FieldLine, type Fields } from '../policy/fields.ts'
import { applyHead, sayReason } from '../message/response-arguments.ts'
import { partOf } from './part.ts'
import { ageNow, type StoredHead, type StoredResponse } from '../stored/stored-response.ts'

/** The parts of a stored response that every request needs; computed once. */
interface Parts {
  readonly fields: Fields
  /** All lines except Age and Cache-Status, as alternating names and values. */
  readonly whole: HeadLines
  /**
   * The body as a latin1 string, one character per byte, which Node.js sends in one write with the head; `null` for a
   * long body.
   */
  readonly text: string | null
}

/** Alternating names and values; a field with several lines stands once, with all values. */
type HeadLines = readonly (string | string[])[]

/** The longest body, in bytes, that is kept as text, too. Head and body as two buffers cost a second write. */
const longestText = 65_536

const known = new WeakMap<StoredResponse, Parts>()

/** The fields of a stored response. */
export function fieldsIn(stored: StoredResponse): Fields {
  return partsOf(stored).fields
}

/**
 * Answers a request with a stored response: the whole, a range, a 304, or the head alone.
 * @param age the age of the response now, in milliseconds
 */
export function serve(
  request: IncomingMessage,
  response: ServerResponse,
  stored: StoredResponse,
  { age, status }: { readonly age: number; readonly status: CacheStatus },
): void {
  const { fields, whole, text } = partsOf(stored)
  const ours = ['Age', ageText(age), 'Cache-Status', listed(fields, status)]
  removeLines(response, stored)
  if (wantsPart(request) && servePart(request, response, stored, ours)) return
  sayReason(response, stored.statusMessage)
  sayHead(response, stored.status, whole.concat(ours))
  if (request.method === 'HEAD' || isBodiless(stored.status)) response.end()
  // Earlier middleware that has replaced `end` may ignore the encoding.
  else if (text === null || Object.hasOwn(response, 'end')) response.end(stored.body)
  else response.end(text, 'latin1')
}

/** Answers a request with the answer to another one while it grows. */
export function follow(
  response: ServerResponse<IncomingMessage>,
  recording: Recording,
  { head, status }: { readonly head: StoredHead; readonly status: CacheStatus },
): void {
  const ours = ['Age', ageText(ageNow(head)), 'Cache-Status', cacheStatusText(status)]
  const lines = head.lines.filter(([name]) => !['age', 'cache-status'].includes(name.toLowerCase()))
  sayReason(response, head.statusMessage)
  removeLines(response, head)
  sayHead(response, head.status, [...headLines(lines), ...ours])
  const reader = new BodyReader(response)
  response.on('drain', () => {
    reader.isReady = true
    recording.goOn()
  })
  response.once('close', () => recording.leave(reader))
  recording.follow(reader)
}

/** Whether earlier middleware has replaced the method that sends the body. */
export function isReplaced(response: ServerResponse): boolean {
  return Object.hasOwn(response, 'write')
}

/** Whether a request may be answered by a 206, a 304 or a 416. */
export function wantsPart({ headers }: IncomingMessage): boolean {
  const { range, 'if-none-match': tags, 'if-modified-since': since } = headers
  return range !== undefined || tags !== undefined || since !== undefined
}

/**
 * Answers a request with a 206, a 304 or a 416 if it asks for one.
 * @returns whether it was answered
 */
function servePart(
  request: IncomingMessage,
  response: ServerResponse,
  stored: StoredResponse,
  ours: readonly string[],
): boolean {
  const asked = { method: request.method ?? 'GET', fields: request.headers }
  const whole = { status: stored.status, lines: withoutOurs(stored.lines) }
  // Earlier middleware may send other bytes, such as compressed ones, of which this would not be the range.
  const length = isReplaced(response) ? null : stored.body.length
  const part = partOf(asked, whole, length, Date.now())
  if (part === null) return false
  sayHead(response, part.status, [...headLines(part.lines), ...ours])
  if (part.from === part.to) response.end()
  else response.end(stored.body.subarray(part.from, part.to))
  return true
}

/**
 * Sends a head.
 * @param lines alternating names and values
 */
export function sayHead(response: ServerResponse, status: number, lines: HeadLines): void {
  if (!Object.hasOwn(response, 'writeHead') && streamOf(response) === null) {
    return void response.writeHead(status, lines as (string | string[])[])
  }
  // `writeHead` of HTTP/2 accepts no list of lines, and one by which earlier middleware has replaced it may not either.
  applyHead(response, [status, lines])
  response.writeHead(status)
}

/**
 * The lines as alternating names and values. Several lines of a field become one: with a line that earlier middleware
 * has set, `writeHead` of Node.js sets one after the other, and keeps the last.
 */
export function headLines(lines: readonly FieldLine[]): HeadLines {
  const fields = new Map<string, [name: string, value: string | string[]]>()
  for (const [spelling, value] of lines) {
    const name = spelling.toLowerCase()
    const field = fields.get(name)
    if (field === undefined) fields.set(name, [spelling, value])
    else field[1] = [field[1], value].flat()
  }
  return [...fields.values()].flat(1)
}

/** Removes the lines of earlier middleware that the handler has removed. */
export function removeLines(response: ServerResponse, { removed }: Pick<StoredHead, 'removed'>): void {
  for (const name of removed ?? []) response.removeHeader(name)
}

function partsOf(stored: StoredResponse): Parts {
  const before = known.get(stored)
  if (before !== undefined) return before
  const flat = headLines(withoutOurs(stored.lines))
  const framing = isBodiless(stored.status) ? [] : ['Content-Length', String(stored.body.length)]
  const text = stored.body.length <= longestText ? stored.body.toString('latin1') : null
  const parts = { fields: fieldsOf(stored.lines), whole: [...flat, ...framing], text }
  known.set(stored, parts)
  return parts
}

/** The lines except those that are computed for each request. */
function withoutOurs(lines: readonly FieldLine[]): FieldLine[] {
  return lines.filter(([name]) => !['age', 'content-length', 'cache-status'].includes(name.toLowerCase()))
}

/** RFC 9211 section 2: the cache nearest to the client comes last. */
function listed(fields: Fields, status: CacheStatus): string {
  const before = fieldOf(fields, 'cache-status')
  const own = cacheStatusText(status)
  return before === null ? own : `${before}, ${own}`
}

function isBodiless(status: number): boolean {
  return status === 204 || status === 304
}

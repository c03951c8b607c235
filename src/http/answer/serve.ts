import type { IncomingMessage, ServerResponse } from 'node:http'
import { cacheStatusText, type CacheStatus } from '../message/cache-status.ts'
import { streamOf } from '../message/http2.ts'
import { ageText } from '../policy/age.ts'
import { notModifiedFields, preconditionOf } from '../policy/conditional.ts'
import { fieldOf, fieldsOf, type FieldLine, type Fields } from '../policy/fields.ts'
import { contentRange, rangeOf } from '../policy/range.ts'
import { applyHead } from '../message/response-arguments.ts'
import type { StoredResponse } from '../stored/stored-response.ts'

/** What of a stored response is looked at for each request; made once. */
interface Parts {
  readonly fields: Fields
  /** All lines but for Age and Content-Length, as `writeHead` takes them. */
  readonly flat: readonly string[]
  /** The same with that of the whole body. */
  readonly whole: readonly string[]
  /** The body as text of as many characters as it has bytes, which node sends together with the head; `null` for a long one. */
  readonly text: string | null
}

/** Two buffers cost two writes, or one of several; bytes as text are written with the head in one. */
const longestText = 65_536

const known = new WeakMap<StoredResponse, Parts>()

/** The fields of a stored response. */
export function fieldsIn(stored: StoredResponse): Fields {
  return partsOf(stored).fields
}

/**
 * Answers a request with a stored response: all of it, the part that is asked for, that it has not changed, or its head.
 * @param age of the response now, in milliseconds
 */
export function serve(
  request: IncomingMessage,
  response: ServerResponse,
  stored: StoredResponse,
  { age, status }: { readonly age: number; readonly status: CacheStatus },
): void {
  const { fields, whole, text } = partsOf(stored)
  const ours = ['Age', ageText(age), 'Cache-Status', listed(fields, status)]
  if (wantsPart(request) && servePart(request, response, stored, ours)) return
  sayReason(response, stored.statusMessage)
  sayHead(response, stored.status, whole.concat(ours))
  if (request.method === 'HEAD' || isBodiless(stored.status)) response.end()
  // What stands before and has replaced it may not heed the encoding.
  else if (text === null || Object.hasOwn(response, 'end')) response.end(stored.body)
  else response.end(text, 'latin1')
}

/** Whether a client may be sent something else than the whole. */
export function wantsPart({ headers }: IncomingMessage): boolean {
  const { range, 'if-none-match': tags, 'if-modified-since': since } = headers
  return range !== undefined || tags !== undefined || since !== undefined
}

/** Answers a request that need not be sent the whole; returns whether it did. */
function servePart(
  request: IncomingMessage,
  response: ServerResponse,
  stored: StoredResponse,
  ours: readonly string[],
): boolean {
  const { fields, flat } = partsOf(stored)
  const asked = { method: request.method ?? 'GET', fields: request.headers }
  const now = Date.now()
  if (preconditionOf(asked, { status: stored.status, fields }, now) === 'not-modified') {
    sayHead(response, 304, flattened(notModifiedFields(withoutOurs(stored.lines)), ours))
    response.end()
    return true
  }
  const { length } = stored.body
  const range = rangeOf(asked, { status: stored.status, fields }, length, now)
  if (range === 'unsatisfiable') {
    sayHead(response, 416, ['Content-Range', contentRange(range, length), 'Content-Length', '0', ...ours])
    response.end()
    return true
  }
  if (range !== null) {
    const { start, end } = range
    const partial = ['Content-Range', contentRange(range, length), 'Content-Length', String(end - start + 1)]
    sayHead(response, 206, [...flat, ...partial, ...ours])
    response.end(stored.body.subarray(start, end + 1))
    return true
  }
  return false
}

/** RFC 9113 section 8.3.2: in HTTP/2 there is none. */
export function sayReason(response: ServerResponse, reason: string | undefined): void {
  if (reason !== undefined && streamOf(response) === null) response.statusMessage = reason
}

/** Says what stands before the body. @param lines names and values in turn */
export function sayHead(response: ServerResponse, status: number, lines: string[]): void {
  if (!Object.hasOwn(response, 'writeHead') && streamOf(response) === null) {
    return void response.writeHead(status, lines)
  }
  // What stands before has replaced it by one that may know less of its arguments, as that of HTTP/2 does.
  applyHead(response, [status, lines])
  response.writeHead(status)
}

/** The lines of a response as `writeHead` takes them, for headers. */
function flattened(lines: readonly FieldLine[], ours: readonly string[]): string[] {
  return [...lines.flat(), ...ours]
}

function partsOf(stored: StoredResponse): Parts {
  const before = known.get(stored)
  if (before !== undefined) return before
  const flat = withoutOurs(stored.lines).flat()
  const framing = isBodiless(stored.status) ? [] : ['Content-Length', String(stored.body.length)]
  const text = stored.body.length <= longestText ? stored.body.toString('latin1') : null
  const parts = { fields: fieldsOf(stored.lines), flat, whole: [...flat, ...framing], text }
  known.set(stored, parts)
  return parts
}

/** Without what is said anew each time. */
function withoutOurs(lines: readonly FieldLine[]): FieldLine[] {
  return lines.filter(([name]) => !['age', 'content-length', 'cache-status'].includes(name.toLowerCase()))
}

/** RFC 9211, section 2: what is nearest to the client comes last. */
function listed(fields: Fields, status: CacheStatus): string {
  const before = fieldOf(fields, 'cache-status')
  const own = cacheStatusText(status)
  return before === null ? own : `${before}, ${own}`
}

function isBodiless(status: number): boolean {
  return status === 204 || status === 304
}

import type { ServerResponse } from 'node:http'
import { isUint8Array } from 'node:util/types'
import { streamOf } from './http2.ts'
import type { FieldLine } from '../policy/fields.ts'

/** Whether `write` and `end` of a response accept a value as a chunk of the body. They throw for any other value. */
export function isChunk(value: unknown): boolean {
  return typeof value === 'string' || isUint8Array(value)
}

/**
 * Reads the arguments of `write` and `end` of a response.
 * @param isKept whether the chunk is returned, copied into bytes that the handler cannot change later
 */
export function argumentsOf(
  args: readonly unknown[],
  isKept: boolean,
): { chunk: Buffer | null; done: (() => void) | null } {
  const done = args.find((each) => typeof each === 'function') as (() => void) | undefined
  return { chunk: isKept ? chunkOf(args) : null, done: done ?? null }
}

function chunkOf([chunk, encoding]: readonly unknown[]): Buffer | null {
  if (typeof chunk === 'string')
    return Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8')
  return isUint8Array(chunk) ? Buffer.from(chunk) : null
}

/**
 * Applies the arguments of `writeHead` to a response without sending its head.
 * @throws TypeError for a flat list with a name and no value
 */
export function applyHead(response: ServerResponse, args: readonly unknown[]): void {
  const [status, ...rest] = args
  const [message, fields] = typeof rest[0] === 'string' ? rest : [undefined, rest[0] ?? rest[1]]
  if (typeof status === 'number') response.statusCode = status
  if (typeof message === 'string') response.statusMessage = message
  if (fields === undefined || fields === null) return
  if (!Array.isArray(fields)) {
    for (const [name, value] of Object.entries(fields)) if (value !== undefined) response.setHeader(name, value)
    return
  }
  const lines = Array.isArray(fields[0]) ? (fields as [string, string | string[]][]) : pairs(fields)
  const begun = new Set<string>()
  for (const [name, value] of lines) {
    // The first line of a name replaces the field: removing it first fails for a Date with HTTP/2.
    if (begun.has(name.toLowerCase())) response.appendHeader(name, value)
    else response.setHeader(name, value)
    begun.add(name.toLowerCase())
  }
}

/** Sets the reason phrase; HTTP/2 has none (RFC 9113 section 8.3.2). */
export function sayReason(response: ServerResponse, reason: string | undefined): void {
  if (reason !== undefined && streamOf(response) === null) response.statusMessage = reason
}

/** The field lines of a response so far, as they will be sent. */
export function linesOf(response: ServerResponse): FieldLine[] {
  return namesOf(response).flatMap((name) => {
    const value = response.getHeader(name)
    return (Array.isArray(value) ? value : [value]).map((each): FieldLine => [name, String(each)])
  })
}

/** The names of the fields as they were spelled; HTTP/2 does not keep the spelling. */
function namesOf(response: ServerResponse & { getRawHeaderNames?: () => string[] }): string[] {
  // After the head was sent, HTTP/2 lists `:status` among them.
  return response.getRawHeaderNames?.() ?? response.getHeaderNames().filter((name) => !name.startsWith(':'))
}

/** Groups alternating names and values into pairs. */
function pairs(flat: readonly unknown[]): [string, string | string[]][] {
  if (flat.length % 2 !== 0) throw new TypeError('Expected header names and values in turn, got a name without a value')
  return Array.from({ length: flat.length / 2 }, (_, index) => {
    const value = flat[2 * index + 1]
    return [String(flat[2 * index]), Array.isArray(value) ? value.map(String) : String(value)]
  })
}

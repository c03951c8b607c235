/*
 * Room: policy. The rules of HTTP caching for a shared cache (RFC 9111, RFC 5861, RFC 9213) as pure functions: no
 * clock, no I/O, no state. Milliseconds and field values go in, decisions come out.
 *
 * Reading order: message.ts (the requests and responses that the rules see), fields.ts, directives.ts,
 * structured-dictionary.ts, targeted.ts and http-date.ts (how fields are parsed), storable.ts (may a response be
 * stored), age.ts, lifetime.ts and stale.ts (for how long), reuse.ts (may it answer a request), vary.ts and accepted.ts
 * (which variant answers), conditional.ts and range.ts (304, 206 and 416), stored-fields.ts and freshen.ts (which
 * fields are stored, and how a 304 updates them), invalidation.ts (which responses a POST voids).
 */
import type { Fields } from './fields.ts'
import { cacheControlOf, type CacheControl } from './targeted.ts'

/** A request: its method and fields. */
export interface Request {
  readonly method: string
  readonly fields: Fields
}

/** A response: its status, its fields, and the cache directives that apply to this cache. */
export interface Response {
  readonly status: number
  readonly fields: Fields
  readonly control: CacheControl
}

/** Makes a response and reads its cache directives. */
export function responseOf(status: number, fields: Fields): Response {
  return { status, fields, control: cacheControlOf(fields) }
}

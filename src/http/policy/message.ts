import type { Fields } from './fields.ts'
import { cacheControlOf, type CacheControl } from './targeted.ts'

/** A request as the rules see it. */
export interface Request {
  readonly method: string
  readonly fields: Fields
}

/** A response as the rules see it. */
export interface Response {
  readonly status: number
  readonly fields: Fields
  readonly control: CacheControl
}

/** A response with what it tells this cache. @param targets as for `cacheControlOf` */
export function responseOf(status: number, fields: Fields, targets?: readonly string[]): Response {
  return { status, fields, control: cacheControlOf(fields, targets) }
}

import type { IncomingMessage } from 'node:http'
import type { QueryRule } from './request-key.ts'

/** What the options say of the query. */
export interface QueryPlan {
  readonly ignoreQuery?: (request: IncomingMessage) => true | readonly string[] | undefined
  readonly allowQuery?: (request: IncomingMessage) => readonly string[] | undefined
}

/** Which parameters are part of the key; `null` for all. */
export function queryRule(
  ignore: true | readonly string[] | undefined,
  allow: readonly string[] | undefined,
): QueryRule | null {
  if (allow !== undefined) return { keeps: (name) => allow.includes(name) }
  if (ignore === undefined) return null
  return { keeps: (name) => ignore !== true && !ignore.includes(name) }
}

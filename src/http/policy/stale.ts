import { secondsOf, type Directives } from './directives.ts'
import type { Response } from './message.ts'

/** The permissions to serve a stored response without a validation. */
export interface StaleRules {
  /** Every use needs a successful validation. */
  readonly noCache: boolean
  /** The response must not be served stale. */
  readonly mustRevalidate: boolean
  /**
   * stale-while-revalidate: how long the response may be stale while it is revalidated in the background, in
   * milliseconds.
   */
  readonly whileRevalidate: number
  /**
   * stale-if-error: how long the response may be stale in place of an error, in milliseconds; `null` if the response
   * does not say.
   */
  readonly ifError: number | null
}

/**
 * The permissions of a response in a shared cache (RFC 9111 section 4.2.4, RFC 5861). A directive that forbids stale
 * responses (must-revalidate, proxy-revalidate, s-maxage, no-cache) overrides a directive that allows them. An invalid
 * time is 0.
 */
export function staleRules({ control: { directives } }: Response): StaleRules {
  // RFC 9111 section 5.2.2.4: a cache may treat the qualified form of no-cache, with field names, as the unqualified
  // form.
  const noCache = directives.has('no-cache')
  // RFC 9111 section 5.2.2.10: s-maxage implies proxy-revalidate.
  const forbids = ['must-revalidate', 'proxy-revalidate', 's-maxage']
  if (noCache || forbids.some((name) => directives.has(name))) {
    return { noCache, mustRevalidate: true, whileRevalidate: 0, ifError: 0 }
  }
  return {
    noCache,
    mustRevalidate: false,
    whileRevalidate: millisecondsOf(directives, 'stale-while-revalidate') ?? 0,
    ifError: millisecondsOf(directives, 'stale-if-error'),
  }
}

/** The time of a directive in milliseconds; `null` for an absent directive, 0 for an invalid time. */
export function millisecondsOf(directives: Directives, name: string): number | null {
  const seconds = secondsOf(directives, name)
  return seconds === 'invalid' ? 0 : seconds && seconds * 1_000
}

import { secondsOf, type Directives } from './directives.ts'
import type { Response } from './message.ts'

/** What may be done with a response without asking for it again. */
export interface StaleRules {
  /** It is never served unless it has been validated. */
  readonly noCache: boolean
  /** It is never served stale. */
  readonly mustRevalidate: boolean
  /** Milliseconds that it may be stale while it is validated in the background. */
  readonly whileRevalidate: number
  /** Milliseconds that it may be stale instead of an error; `null` where it does not say. */
  readonly ifError: number | null
}

/**
 * RFC 9111 section 4.2.4 and RFC 5861: what forbids to serve a stale response in a shared cache (must-revalidate,
 * proxy-revalidate, s-maxage, no-cache) stands above what allows it. A time that is not valid is 0.
 */
export function staleRules({ control: { directives } }: Response): StaleRules {
  // RFC 9111 section 5.2.2.4: no-cache that names fields may be taken for one that does not.
  const noCache = directives.has('no-cache')
  // RFC 9111 section 5.2.2.10: s-maxage includes what proxy-revalidate says.
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

/** The milliseconds a directive tells, `null` where it is absent, 0 where it is not valid. */
export function millisecondsOf(directives: Directives, name: string): number | null {
  const seconds = secondsOf(directives, name)
  return seconds === 'invalid' ? 0 : seconds && seconds * 1_000
}

import type { IncomingMessage } from 'node:http'
import type { Forwarded } from './cache-status.ts'

/** What a handler is told of the cache in front of it, as `req.cache`. */
export interface CacheInfo {
  /** Why it has to answer, as in `Cache-Status` (RFC 9211, section 2.2). */
  readonly forwarded: Forwarded
  /** Why it answers this client alone, in the word that `Cache-Status` has for it; `null` where others may be given the answer. */
  readonly detail: string | null
  /** Whether its client has been answered already, with what was stale, so that it answers for the cache alone. */
  readonly background: boolean
}

// Of the two module systems, each has its own classes.
const ours: unique symbol = Symbol.for('herdless.cache-info') as never

/** Tells the handler that runs next, unless the app has a property of that name itself. */
export function tellHandler(request: IncomingMessage & { cache?: unknown }, info: CacheInfo): void {
  if ('cache' in request && !isCacheInfo(request.cache)) return
  request.cache = Object.defineProperty({ ...info }, ours, { value: true })
}

/** Whether a value is what a cache has told, and not what the app has. */
export function isCacheInfo(value: unknown): boolean {
  return typeof value === 'object' && value !== null && ours in value
}

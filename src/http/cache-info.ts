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

/** Tells the handler that runs next. */
export function tellHandler(request: IncomingMessage & { cache?: CacheInfo }, info: CacheInfo): void {
  request.cache = info
}

import type { IncomingMessage, ServerResponse } from 'node:http'
import { cacheStatusText, type Forwarded } from './cache-status.ts'

/** How the cache in front of a handler treats a request: the value of `req.cache`. */
export interface CacheInfo {
  /** The reason why the handler runs, as in `Cache-Status` (RFC 9211 section 2.2). */
  readonly forwarded: Forwarded
  /**
   * The reason why the answer is for this client alone, as the `detail` of `Cache-Status`; `null` if it may be shared.
   */
  readonly detail: string | null
  /** Whether the client was already served a stale response and the handler runs for the cache alone. */
  readonly background: boolean
}

// A registered symbol is the same in both module systems; each has its own copy of this file.
const ours: unique symbol = Symbol.for('herdless.cache-info') as never

/** Sets `req.cache` for the handler that runs next, unless the app has a property of that name. */
export function tellHandler(request: IncomingMessage & { cache?: unknown }, info: CacheInfo): void {
  if ('cache' in request && !isCacheInfo(request.cache)) return
  request.cache = Object.defineProperty({ ...info }, ours, { value: true })
}

/** Says why the handler answers a request without the cache: to the client in `Cache-Status`, to the handler in `req.cache`. */
export function tellPassed(
  request: IncomingMessage,
  response: ServerResponse,
  why: { readonly forwarded: Forwarded; readonly detail: string },
): void {
  response.setHeader('Cache-Status', cacheStatusText({ forwarded: why.forwarded, detail: why.detail }))
  tellHandler(request, { ...why, background: false })
}

/** Whether a value was set by `tellHandler`, and not by the app. */
export function isCacheInfo(value: unknown): boolean {
  return typeof value === 'object' && value !== null && ours in value
}

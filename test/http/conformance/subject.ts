import type { RequestHandler } from 'express'
import { cacheResponses } from '../../../src/http/express.ts'
import { createCache, memoryStore } from '../../../src/index.ts'

/**
 * The middleware that the suite is run on, as it stands before an origin of which nothing is known but what it says: the
 * standard's own statuses and guesses, and what the handler declares.
 */
export function subject(): RequestHandler {
  const cache = createCache({ store: memoryStore(), ttl: '1m' })
  return cacheResponses(cache, {
    ttl: 'heuristic',
    statuses: 'standard',
    honorRequestDirectives: true,
    undeclared: 'ignore',
    authorization: 'share',
    cookies: 'show',
  })
}

/** Caches nothing. */
export const nothing: RequestHandler = (_req, _res, next) => next()

import type { RequestHandler } from 'express'
import { cacheResponses, type CacheResponsesOptions } from '../../../src/express/index.ts'
import { createCache, memoryStore, type Cache } from '../../../src/index.ts'
import type { Frame } from '../support/frames.ts'
import type { MakeServer } from './forwarding-app.ts'

const options: CacheResponsesOptions = {
  ttl: 'heuristic',
  statuses: 'standard',
  honorRequestDirectives: true,
  undeclared: 'ignore',
  authorization: 'share',
  cookies: 'show',
}

/**
 * The middleware that the suite is run on, as it stands before an origin of which nothing is known but what it says: the
 * standard's own statuses and guesses, and what the handler declares.
 */
export function subject(): RequestHandler {
  return cacheResponses(aCache(), options)
}

/** The same of another framework. */
export function subjectOf(frame: Frame): MakeServer {
  return (app) => frame(app, aCache(), options)
}

function aCache(): Cache {
  return createCache({ store: memoryStore(), ttl: '1m' })
}

/** Caches nothing. */
export const nothing: RequestHandler = (_req, _res, next) => next()

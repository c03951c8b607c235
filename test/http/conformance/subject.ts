import type { RequestHandler } from 'express'

/** The middleware that the suite is run on: nothing yet. */
export function subject(): RequestHandler {
  return nothing
}

/** Caches nothing. */
export const nothing: RequestHandler = (_req, _res, next) => next()

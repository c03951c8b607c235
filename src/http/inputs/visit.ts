import type { IncomingMessage } from 'node:http'

// A registered symbol is the same in both module systems; each has its own copy of this file.
const ours: unique symbol = Symbol.for('herdless.responses') as never

/** A run of the handler that a cache has begun for a request. */
export interface RunningHandler {
  /** Resolves when the storing of the answer is over, with or without a result. */
  readonly settled: Promise<void>
  /**
   * Leaves the storing of the answer to a cache behind this one.
   * @returns `'cache'` if the cache behind may answer the request; `'handler'` if it must run the handler
   */
  giveWay(): 'cache' | 'handler'
}

/** The visit of a request to a cache of responses. */
export interface Visit {
  readonly cache: object
  /** The visit to the cache before this one. */
  readonly previous: Visit | undefined
  readonly depth: number
  /** The run of the handler that fills this cache. */
  run: RunningHandler | null
}

/** Records the visit of a request to a cache; `null` if the request was there before. */
export function visited(request: IncomingMessage & { [ours]?: Visit }, cache: object): Visit | null {
  const previous = request[ours]
  for (let each = previous; each !== undefined; each = each.previous) if (each.cache === cache) return null
  return (request[ours] = { cache, previous, depth: previous === undefined ? 0 : previous.depth + 1, run: null })
}

/** The run that fills the nearest cache before this one; `null` if there is none. */
export function runBefore(visit: Visit): RunningHandler | null {
  for (let each = visit.previous; each !== undefined; each = each.previous) if (each.run !== null) return each.run
  return null
}

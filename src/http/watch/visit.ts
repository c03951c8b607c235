import type { IncomingMessage } from 'node:http'

// Of the two module systems, each has its own classes.
const ours: unique symbol = Symbol.for('herdless.responses') as never

/** A run of the handler that a cache has begun for a request. */
export interface RunningHandler {
  /** Resolves when it is over what was to be kept of the answer. */
  readonly settled: Promise<void>
  /** Leaves the answer to a cache behind it; returns by whom it is given. */
  leave(): 'cache' | 'handler'
}

/** That a request has come to a cache of responses. */
export interface Visit {
  readonly cache: object
  /** That it has come to another before. */
  readonly previous: Visit | undefined
  readonly depth: number
  /** What fills this cache with the answer. */
  fill: RunningHandler | null
}

/** Notes that a request has come to a cache; `null` if it has come there before. */
export function visited(request: IncomingMessage & { [ours]?: Visit }, cache: object): Visit | null {
  const previous = request[ours]
  for (let each = previous; each !== undefined; each = each.previous) if (each.cache === cache) return null
  return (request[ours] = { cache, previous, depth: previous === undefined ? 0 : previous.depth + 1, fill: null })
}

/** What fills the nearest cache before this one, if any does. */
export function runBefore(visit: Visit): RunningHandler | null {
  for (let each = visit.previous; each !== undefined; each = each.previous) if (each.fill !== null) return each.fill
  return null
}

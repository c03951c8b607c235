/** A route, a router or a middleware in the list of an Express app or router. */
interface Layer {
  readonly route?: Route
  readonly handle?: { readonly stack?: readonly Layer[] }
}

interface Route {
  readonly path: unknown
  readonly stack: readonly unknown[]
}

/** An app of Express 4 (`_router`) or 5 (`router`). */
interface App {
  readonly _router?: { readonly stack?: readonly Layer[] }
  readonly router?: { readonly stack?: readonly Layer[] }
}

/** The ranks of the routes that were seen. */
const ranks = new WeakMap<object, number>()

/**
 * How many routes with the same path precede the route of a request in its app; 0 for the first one. Of two routes with
 * one path, earlier middleware chooses: by `next('route')`, for example.
 */
export function rankOfRoute(app: unknown, route: unknown): number {
  if (typeof route !== 'object' || route === null) return 0
  let rank = ranks.get(route)
  if (rank === undefined) {
    const { path } = route as Route
    const all = [...routesOf(stackOf(app), new Set())].filter((each) => String(each.path) === String(path))
    rank = Math.max(0, all.indexOf(route as Route))
    ranks.set(route, rank)
  }
  return rank
}

function stackOf(app: unknown): readonly Layer[] {
  if (typeof app !== 'function') return []
  // The getter `router` of Express 4 throws.
  const router = 'lazyrouter' in app ? (app as App)._router : (app as App).router
  return router?.stack ?? []
}

function* routesOf(stack: readonly Layer[], seen: Set<object>): Generator<Route> {
  if (seen.has(stack)) return
  seen.add(stack)
  for (const { route, handle } of stack) {
    if (route !== undefined) yield route
    if (Array.isArray(handle?.stack)) yield* routesOf(handle.stack, seen)
  }
}

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
  /** The path at which the app is mounted in another one, or `''`. */
  readonly path?: () => unknown
}

/** The texts of the routes, and of the middlewares outside of one, that were seen. */
const texts = new WeakMap<object, string | null>()

/** The middlewares of this library. */
const ours = new WeakSet<object>()

/** Marks a middleware as one of this library, so that `routeText` counts it. */
export function markMiddleware(middleware: object): void {
  ours.add(middleware)
}

/**
 * Describes the place of a cache in its app, because earlier middleware may choose among several places for one
 * address: by `next('route')` or `next('router')`, for example. The text is the same in every process with the same app.
 *
 * - In a route: the path of the route as the app has it, and the number of earlier routes with the same path.
 * - Outside of a route: the number of earlier middlewares of this library outside of a route; `null` for the first.
 */
export function routeText(app: unknown, route: unknown, middleware: object): string | null {
  const isRouted = typeof route === 'object' && route !== null
  const place = isRouted ? route : middleware
  let text = texts.get(place)
  if (text === undefined) {
    text = isRouted ? textOfRoute(app, route as Route) : textOutside(app, middleware)
    texts.set(place, text)
  }
  return text
}

function textOfRoute(app: unknown, route: Route): string {
  const path = String(route.path)
  const same = [...layersOf(stackOf(app))].flatMap((layer) => {
    return layer.route !== undefined && String(layer.route.path) === path ? [layer.route] : []
  })
  const mounted = typeof app === 'function' ? (app as App).path?.() : undefined
  return `route ${JSON.stringify([mounted ?? '', path, Math.max(0, same.indexOf(route))])}`
}

function textOutside(app: unknown, middleware: object): string | null {
  const all = [...layersOf(stackOf(app))].flatMap(({ handle }) => {
    return handle !== undefined && ours.has(handle) ? [handle as object] : []
  })
  const rank = all.indexOf(middleware)
  return rank < 1 ? null : `middleware ${rank}`
}

function stackOf(app: unknown): readonly Layer[] {
  if (typeof app !== 'function') return []
  // The getter `router` of Express 4 throws.
  const router = 'lazyrouter' in app ? (app as App)._router : (app as App).router
  return router?.stack ?? []
}

/** The layers of an app and of the routers in it, in their order. */
function* layersOf(stack: readonly Layer[], seen = new Set<object>()): Generator<Layer> {
  if (seen.has(stack)) return
  seen.add(stack)
  for (const layer of stack) {
    yield layer
    if (Array.isArray(layer.handle?.stack)) yield* layersOf(layer.handle.stack, seen)
  }
}

/** A route, a router or a middleware in the list of an Express app or router. */
interface Layer {
  readonly route?: Route
  readonly handle?: { readonly stack?: readonly Layer[]; readonly name?: string }
  /** Express 5 (`router` 2): whether it matches every path; and what it matches of one. */
  readonly slash?: boolean
  readonly matchers?: readonly ((path: string) => { readonly path: string } | false)[]
  /** Express 4. */
  readonly regexp?: RegExp & { readonly fast_slash?: boolean }
}

interface Route {
  readonly path: unknown
  readonly stack: readonly unknown[]
}

/** An app of Express 4 (`_router`) or 5 (`router`). */
interface App {
  readonly _router?: { readonly stack?: readonly Layer[] }
  readonly router?: { readonly stack?: readonly Layer[] }
  /** The path at which the app is mounted in its parent, perhaps a pattern or several. */
  readonly mountpath?: unknown
  readonly parent?: App
  /** That path behind those of the parents, or `''`. */
  readonly path?: () => unknown
}

/** What is read of a request. */
interface Routed {
  readonly app?: unknown
  readonly route?: unknown
  readonly url?: string | undefined
  readonly baseUrl?: string | undefined
}

/** The place of a cache in an app, as far as it is the same for all requests. */
interface Place {
  readonly text: string | null
  /** How often its middleware stands outside of a route. */
  readonly times: number
  /** Whether the app is mounted beside others. */
  readonly hasSiblings: boolean
}

/** By app, the places of its routes, and of the middlewares outside of one, that were seen. */
const places = new WeakMap<object, WeakMap<object, Place>>()

/** Stands for the app of a request that has none. */
const noApp = {}

/** Whether a path of Express may be another one than it says. */
const pattern = /[^\w/.~-]/

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
 * - Outside of a route: the number of earlier middlewares of this library outside of a route; `null` for the first. A
 *   middleware that stands there several times: the path at which it was mounted.
 */
export function routeText(request: Routed, middleware: object): string | null {
  const { text, times } = placeOf(request, middleware)
  return times > 1 ? `middleware at ${request.baseUrl ?? ''}` : text
}

/**
 * Whether no other place with the same text is on the way of a request: one middleware in two routers that are mounted at
 * one path, or two apps that are.
 */
export function isPlaceKnown(request: Routed, middleware: object): boolean {
  const { times, hasSiblings } = placeOf(request, middleware)
  if (times <= 1 && !hasSiblings) return true
  const { url = '/', baseUrl = '' } = request
  // As it is routed, and not as it was before an earlier middleware has changed it.
  const [path = ''] = `${baseUrl}${url}`.split('?', 1)
  const app = request.app as App
  const above = [...mountedAbove(app)]
  // Where such an app begins in a path is not known.
  if (above.slice(times > 1 ? 0 : 1).some(isAtPattern)) return false
  const here = [...reached(app, path, middleware)].filter(({ layer, begin }) => {
    return layer.handle === middleware && isSamePath(begin, baseUrl)
  })
  if (times > 1 && here.length !== 1) return false
  return above.every((each) => {
    const own = isAtPattern(each) ? null : beginOf(each)
    const apps = [...reached(each.parent as App, path)].filter(({ layer, begin }) => {
      return isMountedApp(layer) && (own === null || isSamePath(begin, own))
    })
    return apps.length === 1
  })
}

/** Whether two beginnings of a path that an app takes for its own are the same; letters are compared in lower case. */
function isSamePath(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}

function isAtPattern({ mountpath }: App): boolean {
  return typeof mountpath !== 'string' || pattern.test(mountpath)
}

function placeOf({ app, route }: Routed, middleware: object): Place {
  const isRouted = typeof route === 'object' && route !== null
  const key = isRouted ? route : middleware
  const kept = typeof app === 'function' ? app : noApp
  let ofApp = places.get(kept)
  if (ofApp === undefined) places.set(kept, (ofApp = new WeakMap()))
  let place = ofApp.get(key)
  if (place === undefined) {
    const hasSiblings = [...mountedAbove(app)].some(
      ({ parent }) => [...layersOf(stackOf(parent))].filter(isMountedApp).length > 1,
    )
    const outside = isRouted ? [] : middlewaresOf(app)
    const text = isRouted ? textOfRoute(app, route as Route) : textOutside(app, outside.indexOf(middleware))
    place = { text, times: outside.filter((each) => each === middleware).length, hasSiblings }
    ofApp.set(key, place)
  }
  return place
}

function textOfRoute(app: unknown, route: Route): string {
  const path = String(route.path)
  const same = [...layersOf(stackOf(app))].flatMap((layer) => {
    return layer.route !== undefined && String(layer.route.path) === path ? [layer.route] : []
  })
  return `route ${JSON.stringify([mountedAt(app), path, Math.max(0, same.indexOf(route))])}`
}

function textOutside(app: unknown, rank: number): string | null {
  const mounted = mountedAt(app)
  if (mounted !== '') return `middleware ${JSON.stringify([mounted, Math.max(0, rank)])}`
  return rank < 1 ? null : `middleware ${rank}`
}

/** The middlewares of this library in an app, outside of routes. */
function middlewaresOf(app: unknown): readonly object[] {
  return [...layersOf(stackOf(app))].flatMap(({ handle }) => (handle !== undefined && ours.has(handle) ? [handle] : []))
}

function mountedAt(app: unknown): unknown {
  return (typeof app === 'function' ? (app as App).path?.() : undefined) ?? ''
}

/** The beginning of a path that leads to an app. */
function beginOf(app: App): string {
  const paths = [...mountedAbove(app)].map(({ mountpath }) => String(mountpath).replace(/\/+$/, ''))
  return paths.toReversed().join('')
}

/** An app and its parents, as long as they are mounted in another one. */
function* mountedAbove(app: unknown): Generator<App> {
  for (
    let each = app as App | undefined;
    typeof each === 'function' && (each as App).parent;
    each = (each as App).parent
  ) {
    yield each
  }
}

function isMountedApp({ handle }: Layer): boolean {
  return handle?.name === 'mounted_app'
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

/** A layer that a path leads to, and the beginning of the path that leads there. */
interface Reached {
  readonly layer: Layer
  readonly begin: string
}

/**
 * The layers of an app and of the routers in it that a path leads to.
 * @param last a middleware behind which a list of layers is not looked at: no request comes there without it
 */
function* reached(app: App, path: string, last?: object): Generator<Reached> {
  yield* reachedIn(stackOf(app), { path, before: beginOf(app), last })
}

function* reachedIn(
  stack: readonly Layer[],
  { path, before, last }: { readonly path: string; readonly before: string; readonly last: object | undefined },
): Generator<Reached> {
  const rest = path.slice(before.length)
  for (const layer of stack) {
    const matched = matchedBy(layer, rest.startsWith('/') ? rest : `/${rest}`)
    if (matched === null) continue
    const begin = `${before}${matched}`.replace(/\/+$/, '')
    yield { layer, begin }
    if (layer.handle === last && last !== undefined) return
    if (layer.route === undefined && Array.isArray(layer.handle?.stack))
      yield* reachedIn(layer.handle.stack, { path, before: begin, last })
  }
}

/** The beginning of a path that a layer matches; `null` if it does not. */
function matchedBy({ slash, matchers, regexp }: Layer, path: string): string | null {
  if (slash === true || regexp?.fast_slash === true) return ''
  if (regexp !== undefined) return regexp.exec(path)?.[0] ?? null
  for (const match of matchers ?? []) {
    try {
      const found = match(path)
      if (found !== false) return found.path
    } catch {
      // A path that cannot be decoded, which Express refuses, too.
    }
  }
  return null
}

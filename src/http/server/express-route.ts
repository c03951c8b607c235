import {
  beginOf,
  isMountedApp,
  layersOf,
  mountedAbove,
  reached,
  stackOf,
  type App,
  type Route,
} from './express-layers.ts'

/** What is read of a request. */
interface Routed {
  readonly app?: unknown
  readonly route?: unknown
  readonly url?: string | undefined
  readonly baseUrl?: string | undefined
}

/** The place of a cache in an app, as far as it is the same for all requests. */
export interface CachePlace {
  readonly text: string | null
  /** How often its middleware stands outside of a route. */
  readonly times: number
  /** Whether the app is mounted beside others. */
  readonly hasSiblings: boolean
}

/** By app, the places of its routes, and of the middlewares outside of one, that were seen. */
const places = new WeakMap<object, WeakMap<object, CachePlace>>()

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
 * Describes a place in its app, because earlier middleware may choose among several places for one address: by
 * `next('route')` or `next('router')`, for example. The text is the same in every process with the same app.
 *
 * - In a route: the path of the route as the app has it, and the number of earlier routes with the same path.
 * - Outside of a route: the number of earlier middlewares of this library outside of a route; `null` for the first. A
 *   middleware that stands there several times: the path at which it was mounted.
 */
export function routeText({ text, times }: CachePlace, { baseUrl = '' }: Routed): string | null {
  return times > 1 ? `middleware at ${baseUrl}` : text
}

/**
 * Whether no other place with the same text is on the way of a request: one middleware in two routers that are mounted at
 * one path, or two apps that are.
 */
export function isPlaceKnown({ times, hasSiblings }: CachePlace, request: Routed, middleware: object): boolean {
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

/** The place of a middleware on the way of a request. */
export function placeOf({ app, route }: Routed, middleware: object): CachePlace {
  const isRouted = typeof route === 'object' && route !== null
  const key = isRouted ? route : middleware
  const kept = typeof app === 'function' ? app : noApp
  let ofApp = places.get(kept)
  if (ofApp === undefined) places.set(kept, (ofApp = new WeakMap()))
  let place = ofApp.get(key)
  if (place === undefined)
    ofApp.set(key, (place = isRouted ? placeInRoute(app, route as Route) : placeOutside(app, middleware)))
  return place
}

function placeInRoute(app: unknown, route: Route): CachePlace {
  return { text: textOfRoute(app, route), times: 0, hasSiblings: isBesideApps(app) }
}

function placeOutside(app: unknown, middleware: object): CachePlace {
  const all = middlewaresOf(app)
  const times = all.filter((each) => each === middleware).length
  return { text: textOutside(app, all.indexOf(middleware)), times, hasSiblings: isBesideApps(app) }
}

function isBesideApps(app: unknown): boolean {
  return [...mountedAbove(app)].some(({ parent }) => [...layersOf(stackOf(parent))].filter(isMountedApp).length > 1)
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

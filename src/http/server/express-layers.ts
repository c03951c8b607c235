/** A route, a router or a middleware in the list of an Express app or router. */
export interface Layer {
  readonly route?: Route
  readonly handle?: { readonly stack?: readonly Layer[]; readonly name?: string }
  /** Express 5 (`router` 2): whether it matches every path; and what it matches of one. */
  readonly slash?: boolean
  readonly matchers?: readonly ((path: string) => { readonly path: string } | false)[]
  /** Express 4. */
  readonly regexp?: RegExp & { readonly fast_slash?: boolean }
}

export interface Route {
  readonly path: unknown
  readonly stack: readonly unknown[]
}

/** An app of Express 4 (`_router`) or 5 (`router`). */
export interface App {
  readonly _router?: { readonly stack?: readonly Layer[] }
  readonly router?: { readonly stack?: readonly Layer[] }
  /** The path at which the app is mounted in its parent, perhaps a pattern or several. */
  readonly mountpath?: unknown
  readonly parent?: App
  /** That path behind those of the parents, or `''`. */
  readonly path?: () => unknown
}

/** The beginning of a path that leads to an app. */
export function beginOf(app: App): string {
  const paths = [...mountedAbove(app)].map(({ mountpath }) => String(mountpath).replace(/\/+$/, ''))
  return paths.toReversed().join('')
}

/** An app and its parents, as long as they are mounted in another one. */
export function* mountedAbove(app: unknown): Generator<App> {
  let each = typeof app === 'function' ? (app as App) : undefined
  while (each?.parent !== undefined) {
    yield each
    each = each.parent
  }
}

export function isMountedApp({ handle }: Layer): boolean {
  return handle?.name === 'mounted_app'
}

export function stackOf(app: unknown): readonly Layer[] {
  if (typeof app !== 'function') return []
  // The getter `router` of Express 4 throws.
  const router = 'lazyrouter' in app ? (app as App)._router : (app as App).router
  return router?.stack ?? []
}

/** The layers of an app and of the routers in it, in their order. */
export function* layersOf(stack: readonly Layer[], seen: Set<object> = new Set()): Generator<Layer> {
  if (seen.has(stack)) return
  seen.add(stack)
  for (const layer of stack) {
    yield layer
    if (Array.isArray(layer.handle?.stack)) yield* layersOf(layer.handle.stack, seen)
  }
}

/** A layer that a path leads to, and the beginning of the path that leads there. */
export interface Reached {
  readonly layer: Layer
  readonly begin: string
}

/**
 * The layers of an app and of the routers in it that a path leads to.
 * @param last a middleware behind which a list of layers is not looked at: no request comes there without it
 */
export function* reached(app: App, path: string, last?: object): Generator<Reached> {
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

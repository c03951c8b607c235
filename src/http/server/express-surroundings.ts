import type { IncomingMessage, ServerResponse } from 'node:http'
import { isHttp2 } from '../message/http2.ts'
import { changedParams, changedQuery, textsAmong, unknown } from '../inputs/changed-values.ts'
import { own } from '../inputs/harmless.ts'
import { isPlaceKnown, placeOf, routeText, type CachePlace } from './express-route.ts'
import type { Computed, Part, Surroundings } from '../inputs/surroundings.ts'

interface ExpressRequest extends IncomingMessage {
  readonly app?: { get?: (setting: string) => unknown }
  readonly route?: unknown
  readonly params?: unknown
  readonly query?: unknown
  readonly hostname?: unknown
  readonly originalUrl?: string
  readonly baseUrl?: string
}

interface ExpressResponse extends ServerResponse {
  readonly locals?: unknown
}

/** Properties of an Express request that depend on the connection if a proxy is trusted. */
const ofProxies = ['ips', 'protocol', 'secure', 'host', 'hostname', 'subdomains']
const trusting: ReadonlyMap<string, boolean> = new Map(['ip', ...ofProxies].map((name) => [name, true]))
const indifferent: ReadonlyMap<string, boolean> = new Map([
  ['ip', true],
  ...ofProxies.map((name) => [name, false] as const),
])

/**
 * The surroundings of a request of Express, or of node:http alone.
 * @param middleware the middleware of the cache, whose place in the app is part of the key
 */
export function expressSurroundings(
  request: ExpressRequest,
  response: ExpressResponse,
  middleware: object,
): Surroundings {
  const { locals } = response
  const parts: Part[] = [
    { name: 'req', object: request, isOwn: own.expressRequest, kind: 'request' },
    { name: 'res', object: response, isOwn: own.expressResponse },
  ]
  if (typeof locals === 'object' && locals !== null)
    parts.push({ name: 'res.locals', object: locals, isOwn: own.nothing, kind: 'variables' })
  let found: CachePlace | undefined
  const place = (): CachePlace => (found ??= placeOf(request, middleware))
  return {
    parts,
    computed: () => computedOf(request),
    route: () => routeText(place(), request),
    changed: () => changedOf(request, response, isPlaceKnown(place(), request, middleware)),
    responseName: 'res',
    targets: [request],
    asker: request,
  }
}

/** The surroundings of a request that no middleware has seen. */
export function freshSurroundings(request: ExpressRequest): Surroundings {
  return {
    parts: [],
    others: () => [messagePart('req', request)],
    computed: () => computedOf(request),
    responseName: 'res',
    asker: request,
  }
}

/**
 * A request of node:http, as a part.
 * @param name the name that handlers have for it
 */
export function messagePart(name: string, request: IncomingMessage): Part {
  return { name, object: request, isOwn: own.message }
}

/**
 * A response of node:http, as a part.
 * @param name the name that handlers have for it
 */
export function responsePart(name: string, response: ServerResponse): Part {
  return { name, object: response, isOwn: own.response }
}

function changedOf(request: ExpressRequest, response: ServerResponse, isPlaced: boolean): readonly string[] {
  const { route, params, url, headers } = request
  const { statusCode } = response
  // HTTP/2 has none, and warns of a read.
  const message = isHttp2(request) ? '' : response.statusMessage
  // Express 5 makes the query anew for each read, unless somebody has defined it.
  const query = Object.hasOwn(request, 'query') ? changedQuery('query', request.query, url) : null
  // The host that a trusted proxy names may have chosen the handler.
  const host = headers['x-forwarded-host'] === undefined ? undefined : request.hostname
  return textsAmong(
    isPlaced ? null : `place ${unknown}`,
    changedParams('params', params, request.originalUrl ?? url, (route as { path?: unknown } | undefined)?.path),
    query,
    host === undefined || host === withoutPort(headers.host) ? null : `host ${JSON.stringify(host)}`,
    statusCode === 200 ? null : `status ${statusCode}`,
    message ? `statusMessage ${JSON.stringify(message)}` : null,
  )
}

function withoutPort(host = ''): string {
  return host.replace(/:\d+$/, '')
}

function computedOf(request: ExpressRequest): Computed | undefined {
  const { app } = request
  if (typeof app?.get !== 'function') return undefined
  const trust = app.get('trust proxy')
  // Such a setting treats all connections alike, so of these properties only `ip` depends on the connection.
  const isSame = trust === undefined || typeof trust === 'boolean' || typeof trust === 'number'
  return { name: 'req', object: request, properties: isSame ? indifferent : trusting }
}

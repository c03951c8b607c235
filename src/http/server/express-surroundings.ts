import type { IncomingMessage, ServerResponse } from 'node:http'
import { own } from '../watch/harmless.ts'
import type { Outcomes, Part, Surroundings } from '../watch/surroundings.ts'

interface ExpressRequest extends IncomingMessage {
  readonly app?: { get?: (setting: string) => unknown }
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

/** The surroundings of a request of Express, or of node:http alone. */
export function expressSurroundings(request: ExpressRequest, response: ExpressResponse): Surroundings {
  const { locals } = response
  const parts: Part[] = [messagePart('req', request)]
  if (typeof locals === 'object' && locals !== null)
    parts.push({ name: 'res.locals', object: locals, isOwn: own.nothing })
  return { parts, others: () => [responsePart('res', response)], outcomes: () => outcomesOf(request), asker: request }
}

/** The surroundings of a request that no middleware has seen. */
export function freshSurroundings(request: ExpressRequest): Surroundings {
  return { parts: [], outcomes: () => outcomesOf(request), asker: request }
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

function outcomesOf(request: ExpressRequest): Outcomes | undefined {
  const { app } = request
  if (typeof app?.get !== 'function') return undefined
  const trust = app.get('trust proxy')
  // Such a setting treats all connections alike, so of these properties only `ip` depends on the connection.
  const isSame = trust === undefined || typeof trust === 'boolean' || typeof trust === 'number'
  return { name: 'req', object: request, properties: isSame ? indifferent : trusting }
}

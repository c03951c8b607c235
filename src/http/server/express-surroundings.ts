import type { IncomingMessage, ServerResponse } from 'node:http'
import { own } from '../watch/harmless.ts'
import type { Outcomes, Part, Surroundings } from '../watch/surroundings.ts'

interface ExpressRequest extends IncomingMessage {
  readonly app?: { get?: (setting: string) => unknown }
}

interface ExpressResponse extends ServerResponse {
  readonly locals?: unknown
}

/** What of a request of Express depends on whose connection it is, where a proxy is trusted. */
const ofProxies = ['ips', 'protocol', 'secure', 'host', 'hostname', 'subdomains']
const trusting: ReadonlyMap<string, boolean> = new Map(['ip', ...ofProxies].map((name) => [name, true]))
const indifferent: ReadonlyMap<string, boolean> = new Map([
  ['ip', true],
  ...ofProxies.map((name) => [name, false] as const),
])

/** What Express, or node:http alone, knows of a request. */
export function expressSurroundings(request: ExpressRequest, response: ExpressResponse): Surroundings {
  const { locals } = response
  const parts: Part[] = [messagePart('req', request)]
  if (typeof locals === 'object' && locals !== null)
    parts.push({ name: 'res.locals', object: locals, isOwn: own.nothing })
  return { parts, others: () => [responsePart('res', response)], outcomes: () => outcomesOf(request), asker: request }
}

/** The same for a request that no middleware has seen. */
export function freshSurroundings(request: ExpressRequest): Surroundings {
  return { parts: [], outcomes: () => outcomesOf(request), asker: request }
}

/** A request of node:http. @param name by which handlers know it */
export function messagePart(name: string, request: IncomingMessage): Part {
  return { name, object: request, isOwn: own.message, isLarge: true }
}

/** A response of node:http. @param name by which handlers know it */
export function responsePart(name: string, response: ServerResponse): Part {
  return { name, object: response, isOwn: own.response }
}

function outcomesOf(request: ExpressRequest): Outcomes | undefined {
  const { app } = request
  if (typeof app?.get !== 'function') return undefined
  const trust = app.get('trust proxy')
  // Such a setting is the same for all clients.
  const isSame = trust === undefined || typeof trust === 'boolean' || typeof trust === 'number'
  return { name: 'req', object: request, properties: isSame ? indifferent : trusting }
}

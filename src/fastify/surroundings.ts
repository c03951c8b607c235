import type { IncomingMessage, OutgoingHttpHeader, ServerResponse } from 'node:http'
import { messagePart, responsePart } from '../http/server/express-surroundings.ts'
import { own } from '../http/watch/harmless.ts'
import type { Outcomes, Part, Surroundings } from '../http/watch/surroundings.ts'

/** What is used of a request of Fastify 4 or 5. */
export interface HookRequest {
  readonly raw: IncomingMessage
  readonly routeOptions: unknown
  readonly server: {
    readonly initialConfig: object
    hasConstraintStrategy(name: string): boolean
  }
}

/** What is used of a reply of Fastify 4 or 5. */
export interface HookReply {
  readonly raw: ServerResponse
  getHeaders(): Record<string, OutgoingHttpHeader | undefined>
  removeHeader(name: string): unknown
}

/** What of a request of Fastify depends on whose connection it is, where a proxy is trusted. */
const ofProxies: ReadonlyMap<string, boolean> = new Map(
  ['ip', 'ips', 'protocol', 'host', 'hostname', 'port'].map((name) => [name, true]),
)

/** What Fastify knows of a request. */
export function fastifySurroundings(request: HookRequest, reply: HookReply): Surroundings {
  const parts = [
    { name: 'request', object: request, isOwn: own.fastifyRequest },
    messagePart('request.raw', request.raw),
  ]
  const others = (): Part[] => [
    { name: 'reply', object: reply, isOwn: own.fastifyReply },
    responsePart('reply.raw', reply.raw),
  ]
  return { parts, others, outcomes: () => outcomesOf(request), isSaving, asker: request }
}

/** A hook `onSend` of @fastify/session reads the session to save it, and what it makes of it is a cookie. */
const savesSession = /at (?:Object\.)?saveSession \(.*[/\\]node_modules[/\\].*session/

function isSaving(): boolean {
  return savesSession.test(new Error('Who reads this?').stack ?? '')
}

/** It has them only with the option `trustProxy`. */
function outcomesOf(request: HookRequest): Outcomes | undefined {
  return 'ips' in request ? { name: 'request', object: request, properties: ofProxies } : undefined
}

/** A constraint that tells routes apart by something of their requests. */
interface Constraint {
  readonly deriveConstraint: (request: unknown, context?: unknown, done?: unknown) => unknown
}

/** What Fastify tells of its options: the constraints of the app by their names. */
interface InitialConfig {
  readonly constraints?: Readonly<Record<string, Constraint>>
  readonly routerOptions?: { readonly constraints?: Readonly<Record<string, Constraint>> }
}

/** Reads of a request what routes of its app differ by: it has selected the handler, before the cache. */
export function readConstraints(request: HookRequest): void {
  // Where routes differ by `Accept-Version`, this reads it.
  void request.routeOptions
  const { raw, server } = request
  if (server.hasConstraintStrategy('host')) void raw.headers.host
  const { constraints, routerOptions } = server.initialConfig as InitialConfig
  for (const [name, constraint] of Object.entries(routerOptions?.constraints ?? constraints ?? {})) {
    if (!server.hasConstraintStrategy(name)) continue
    // One that answers later may read what it likes.
    if (constraint.deriveConstraint.length > 2) void raw.rawHeaders
    else constraint.deriveConstraint(raw)
  }
}

import type { IncomingMessage, OutgoingHttpHeader, ServerResponse } from 'node:http'
import { messagePart, responsePart } from '../http/server/express-surroundings.ts'
import { changedParams, changedQuery, textsAmong } from '../http/inputs/changed-values.ts'
import { own, serializerName } from '../http/inputs/harmless.ts'
import { Overrides } from '../http/message/overrides.ts'
import { watchLines } from '../http/inputs/watched-lines.ts'
import type { Computed, Part, Surroundings } from '../http/inputs/surroundings.ts'

/** The members of a request of Fastify 4 or 5 that the cache uses or that options usually read. */
export interface HookRequest {
  readonly raw: IncomingMessage
  readonly headers: IncomingMessage['headers']
  readonly hostname: string
  readonly ip: string
  readonly url: string
  readonly routeOptions: unknown
  readonly params: unknown
  readonly query: unknown
  readonly server: {
    readonly initialConfig: object
    hasConstraintStrategy(name: string): boolean
  }
}

/** The used members of a reply of Fastify 4 or 5. */
export interface HookReply {
  readonly raw: ServerResponse
  getHeaders(): Record<string, OutgoingHttpHeader | undefined>
  removeHeader(name: string): unknown
}

/** Properties of a Fastify request that depend on the connection if a proxy is trusted. */
const ofProxies: ReadonlyMap<string, boolean> = new Map(
  ['ip', 'ips', 'protocol', 'host', 'hostname', 'port'].map((name) => [name, true]),
)

/**
 * The surroundings of a request of Fastify.
 * @param said the names of the fields that earlier hooks have set on the reply
 */
export function fastifySurroundings(request: HookRequest, reply: HookReply, said: readonly string[]): Surroundings {
  const parts = [
    { name: 'request', object: request, isOwn: own.fastifyRequest },
    { name: 'reply', object: reply, isOwn: own.fastifyReply },
    messagePart('request.raw', request.raw),
  ]
  const others = (): Part[] => [responsePart('reply.raw', reply.raw)]
  const lend = (onRead: (name: string) => void): void =>
    watchLines(new Overrides(reply), said, { onRead: (name) => onRead(`:reply.${name}`) })
  const changed = (): readonly string[] =>
    textsAmong(
      changedParams('params', request.params, request.raw.url),
      changedQuery('query', request.query, request.raw.url),
      hasSerializer(reply) ? 'serializer' : null,
      reply.raw.statusCode === 200 ? null : `status ${reply.raw.statusCode}`,
    )
  return {
    parts,
    others,
    computed: () => computedOf(request),
    changed,
    lend,
    isSaving,
    targets: [request],
    asker: request,
  }
}

/** By the class of replies of an app, the symbol under which they keep their serializer. */
const serializers = new WeakMap<object, symbol | null>()

/** Whether an earlier hook has chosen a serializer for its client, by `reply.serializer()`. */
function hasSerializer(reply: object): boolean {
  const kind = Object.getPrototypeOf(reply) as object
  let symbol = serializers.get(kind)
  if (symbol === undefined) {
    symbol = Object.getOwnPropertySymbols(reply).find((each) => each.description === serializerName) ?? null
    serializers.set(kind, symbol)
  }
  return symbol !== null && typeof Reflect.get(reply, symbol) === 'function'
}

/**
 * The stack frame of the `onSend` hook of @fastify/session, which reads the session to save it. The read affects the
 * answer only through a cookie, which the cache sees.
 */
const savesSession = /at (?:Object\.)?saveSession \(.*[/\\]node_modules[/\\].*session/

function isSaving(): boolean {
  return savesSession.test(new Error('Who reads this?').stack ?? '')
}

/** The properties exist only with the option `trustProxy`. */
function computedOf(request: HookRequest): Computed | undefined {
  return 'ips' in request ? { name: 'request', object: request, properties: ofProxies } : undefined
}

/** A constraint by which routes are selected. */
interface Constraint {
  readonly deriveConstraint: (request: unknown, context?: unknown, done?: unknown) => unknown
}

/** The constraints of an app by name, in either place where Fastify reports them. */
interface InitialConfig {
  readonly constraints?: Readonly<Record<string, Constraint>>
  readonly routerOptions?: { readonly constraints?: Readonly<Record<string, Constraint>> }
}

/**
 * Reads the request fields by which the routes of the app differ, because they have selected the handler before the
 * cache.
 */
export function readConstraints(request: HookRequest): void {
  // The getter reads `Accept-Version` if routes differ by it.
  void request.routeOptions
  const { raw, server } = request
  if (server.hasConstraintStrategy('host')) void raw.headers.host
  const { constraints, routerOptions } = server.initialConfig as InitialConfig
  for (const [name, constraint] of Object.entries(routerOptions?.constraints ?? constraints ?? {})) {
    if (!server.hasConstraintStrategy(name)) continue
    // An asynchronous constraint may read any field at any time, so all fields count as read.
    if (constraint.deriveConstraint.length > 2) void raw.rawHeaders.length
    else constraint.deriveConstraint(raw)
  }
}

import { IncomingMessage, OutgoingMessage, ServerResponse } from 'node:http'
import { EventEmitter } from 'node:events'
import { Socket } from 'node:net'
import { Stream } from 'node:stream'

/** Whether a framework sets a property of this name on every object of a kind. A symbol counts by its description. */
export type IsOwn = (name: string) => boolean

/**
 * Properties of well-known middleware that tell no clients apart: request ids, loggers, timers, marks of parsers, and
 * stores of the whole process.
 */
export const harmless: ReadonlySet<string> = setOf(
  // pino-http, Fastify, express-request-id
  'id log allLogs',
  // pino-http, morgan, response-time
  'startTime _startAt _startTime',
  // on-finished, body-parser, connect-timeout
  '__onFinished _body timedout clearTimedout',
  // cookie-parser, express-session
  'secret sessionStore',
  // OpenTelemetry's instrumentation of Express
  '__ot_middlewares',
  // @koa/router: all of them derive from the path
  'router params matched captures _matchedRoute _matchedRouteName',
)

/** The properties of a request and of a response of node:http itself. */
const ofRequest = setOf(
  ownNames(touched(new IncomingMessage(new Socket()))),
  '_eventsCount _host timeoutCb on',
  // The same with HTTP/2.
  'state stream trailers rawTrailers aborted',
  // Properties of this cache; each is watched separately.
  'headers headersDistinct herdless.responses herdless.outcomes',
)
const ofResponse = setOf(
  ownNames(new ServerResponse(new IncomingMessage(new Socket()))),
  ...[ServerResponse, OutgoingMessage, Stream, EventEmitter].map(({ prototype }) => ownNames(prototype as object)),
  'kUniqueHeaders _maxRequestsPerSocket statusCode statusMessage timeout',
  // The same with HTTP/2.
  'state headers trailers stream writable herdless.destroyed',
)

// A replaced method of node:http and the `flush` of compression only send bytes that are captured already.
const ofExpressResponse = setOf([...ofResponse].join(' '), 'locals flush')
const ofExpressRequest = setOf(
  [...ofRequest].join(' '),
  // Set on a request that is handled without its client.
  'destroyed closed readable',
  'res next baseUrl originalUrl _parsedUrl _parsedOriginalUrl route params query router.tracing.matchedRoute',
)
const ofKoa = {
  context: setOf('app req res request response originalUrl state respond context#cookies'),
  request: setOf('app req res ctx response originalUrl memoizedURL _querycache _accept'),
  // Without `body`: a body that earlier middleware has set may be the answer.
  response: setOf('app req res ctx request header _explicitStatus _explicitNullBody'),
}
const ofFastify = { request: setOf('id params raw query log body'), reply: setOf('raw request log') }
const ofHono = {
  context: setOf(
    'env finalized error render setLayout getLayout setRenderer header status set get newResponse',
    'body text json html redirect notFound',
  ),
  request: setOf('raw routeIndex path bodyCache'),
  env: setOf('incoming outgoing server'),
}

/** The objects that frameworks set properties on. */
type Owned =
  | 'message'
  | 'response'
  | 'nothing'
  | `koa${'Context' | 'Request' | 'Response'}`
  | `fastify${'Request' | 'Reply'}`
  | `hono${'Context' | 'Request' | 'Env'}`

/** The properties that each framework sets on its objects. */
export const own: Readonly<Record<Owned, IsOwn>> = {
  message: (name) => ofExpressRequest.has(name),
  response: (name) => ofExpressResponse.has(name),
  nothing: () => false,
  koaContext: (name) => ofKoa.context.has(name),
  koaRequest: (name) => ofKoa.request.has(name),
  koaResponse: (name) => ofKoa.response.has(name),
  fastifyRequest: (name) => ofFastify.request.has(name) || name.startsWith('fastify.'),
  fastifyReply: (name) => ofFastify.reply.has(name) || name.startsWith('fastify.'),
  honoContext: (name) => ofHono.context.has(name),
  honoRequest: (name) => ofHono.request.has(name),
  honoEnv: (name) => ofHono.env.has(name),
}

/** The name of a property; for a symbol its description. */
export function nameOf(key: PropertyKey): string {
  return typeof key === 'symbol' ? (key.description ?? '') : String(key)
}

/** Reads the lazy properties, which Node.js defines on first use. */
function touched(message: IncomingMessage): IncomingMessage {
  void [message.headers, message.headersDistinct, message.trailers, message.trailersDistinct]
  return message
}

function ownNames(object: object): string {
  return Reflect.ownKeys(object).map(nameOf).join(' ')
}

function setOf(...names: readonly string[]): ReadonlySet<string> {
  return new Set(names.join(' ').split(' '))
}

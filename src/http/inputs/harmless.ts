import { IncomingMessage, OutgoingMessage, ServerResponse } from 'node:http'
import { EventEmitter } from 'node:events'
import { Socket } from 'node:net'
import { Stream } from 'node:stream'

/** Whether a framework or a well-known middleware sets a property of this name on every object of a kind. */
export type IsOwn = (key: PropertyKey) => boolean

/*
 * Properties of well-known middleware that tell no clients apart: request ids, loggers, timers, marks of parsers, and
 * stores of the whole process. Only on the objects that they are set on: `res.locals.id` belongs to the application.
 */
const harmlessOnMessage = [
  // pino-http, express-request-id, morgan, response-time
  'id log allLogs startTime _startAt _startTime',
  // on-finished, body-parser, connect-timeout
  '__onFinished _body timedout clearTimedout',
  // cookie-parser, express-session
  'secret sessionStore',
  // OpenTelemetry's instrumentation of Express
  '__ot_middlewares',
]
// @koa/router: all of them derive from the path, and `params` is compared with it
const harmlessOnKoa = 'id log router params matched captures routerPath _matchedRoute _matchedRouteName'

/** The properties of a request and of a response of node:http itself. */
const ofRequest = [
  ...ownNames(touched(new IncomingMessage(new Socket()))),
  ...named('_eventsCount _host timeoutCb on headers headersDistinct'),
  // The same with HTTP/2.
  ...symbols('state stream headers rawHeaders trailers rawTrailers aborted'),
  // A property of this cache.
  ...symbols('herdless.responses'),
]
const ofResponse = [
  ...ownNames(new ServerResponse(new IncomingMessage(new Socket()))),
  ...[ServerResponse, OutgoingMessage, Stream, EventEmitter].flatMap(({ prototype }) => ownNames(prototype as object)),
  ...named('_maxRequestsPerSocket statusCode statusMessage timeout writable'),
  // The same with HTTP/2.
  ...symbols('kUniqueHeaders state headers trailers stream'),
]

// A replaced method of node:http and the `flush` of compression only send bytes that are captured already.
const ofAnyResponse = [...ofResponse, ...named('flush', ...harmlessOnMessage), ...symbols('startTime')]
const ofAnyRequest = [
  ...ofRequest,
  // Set on a request that is handled without its client.
  ...named('destroyed closed readable', ...harmlessOnMessage),
  // parseurl, which Koa uses, too
  ...named('originalUrl _parsedUrl _parsedOriginalUrl'),
  ...symbols('startTime'),
]
const ofExpressRequest = [
  ...ofAnyRequest,
  // `params` and `query` are compared with the address.
  ...named('res next baseUrl route params query router.tracing.matchedRoute'),
  ...symbols('router.tracing.matchedRoute'),
]

/** The objects that frameworks set properties on. */
type Owned =
  | 'message'
  | 'response'
  | `express${'Request' | 'Response'}`
  | 'nothing'
  | `koa${'Context' | 'Request' | 'Response'}`
  | `fastify${'Request' | 'Reply' | 'Raw'}`
  | `hono${'Context' | 'Request' | 'Env'}`

/** The properties that each framework sets on its objects. */
export const own: Readonly<Record<Owned, IsOwn>> = {
  message: among(ofAnyRequest),
  response: among(ofAnyResponse),
  expressRequest: among(ofExpressRequest),
  expressResponse: among([...ofAnyResponse, 'locals']),
  nothing: () => false,
  koaContext: among([
    ...named('app req res request response originalUrl state respond', harmlessOnKoa),
    ...symbols('context#cookies'),
  ]),
  koaRequest: among(named('app req res ctx response originalUrl memoizedURL _querycache _accept', harmlessOnKoa)),
  // Without `body`: a body that earlier middleware has set may be the answer.
  koaResponse: among(named('app req res ctx request header _explicitStatus _explicitNullBody')),
  fastifyRequest: orOfFastify(among(named('id params raw query log'))),
  fastifyReply: orOfFastify(among(named('raw request log'))),
  // @fastify/middie sets them for middleware, from the request of Fastify.
  fastifyRaw: among([...ofAnyRequest, ...named('hostname protocol ip ips query body')]),
  honoContext: among(
    named(
      'env finalized error render setLayout getLayout setRenderer header status set get newResponse',
      'body text json html redirect notFound',
    ),
  ),
  honoRequest: among(named('raw routeIndex path bodyCache')),
  honoEnv: among(named('incoming outgoing server')),
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

function ownNames(object: object): string[] {
  return Reflect.ownKeys(object).map(keyText)
}

/** Names in strings, separated by blanks. */
function named(...lists: readonly string[]): string[] {
  return lists.join(' ').split(' ')
}

/** Symbols by their descriptions: those of Node.js cannot be had themselves. */
function symbols(list: string): string[] {
  return list.split(' ').map((description) => `@${description}`)
}

/** The text of a key, different for a name and for a symbol. */
function keyText(key: PropertyKey): string {
  return typeof key === 'symbol' ? `@${key.description ?? ''}` : String(key)
}

function among(texts: readonly string[]): IsOwn {
  const all = new Set(texts)
  return (key) => all.has(keyText(key))
}

/** The symbol that `reply.serializer()` of Fastify sets, by which an earlier hook may choose a format for its client. */
export const serializerName = 'fastify.reply.serializer'

function orOfFastify(isOwn: IsOwn): IsOwn {
  return (key) => {
    const text = keyText(key)
    return isOwn(key) || (text.startsWith('@fastify.') && text !== `@${serializerName}`)
  }
}

import type { IncomingMessage } from 'node:http'
import type { Lead } from '../core/cache/begin.ts'
import type { Cache } from '../core/cache/cache.ts'
import type { Duration } from '../core/time/duration.ts'
import { own } from '../http/inputs/harmless.ts'
import { EarlierProperties } from '../http/inputs/earlier-properties.ts'
import { recordReads } from '../http/inputs/recorded-reads.ts'
import type { Part } from '../http/inputs/surroundings.ts'
import { lifeOf } from './cache-manager.ts'

/** The inputs of a request that the interceptor watches. */
type Inputs = Pick<IncomingMessage, 'headers' | 'socket'>

/** A request of Express or Fastify, as far as the interceptor uses it. */
interface NestRequest extends Inputs {
  readonly method: string
  readonly url: string
  readonly originalUrl?: string
  /** The request of node:http, in Fastify; middleware sets its properties there. */
  readonly raw?: Inputs
}

/** A response of Express or a reply of Fastify, as far as the interceptor uses it. */
interface NestResponse {
  readonly statusCode: number
  /** Variables of the request, in Express. */
  readonly locals?: object
  /** Whether the answer has been sent: the one in Express, the other in Fastify. */
  readonly headersSent?: boolean
  readonly sent?: boolean
  header(name: string, value: string): unknown
  getHeaders(): object
}

/** The execution context of Nest, as far as the interceptor uses it. */
export interface Context {
  getType(): string
  getHandler(): object
  getClass(): object
  // oxlint-disable-next-line typescript/no-explicit-any -- Nest leaves these types to its caller.
  switchToHttp(): { getRequest(): any; getResponse(): any }
}

/** The handler behind an interceptor, as far as the interceptor uses it. */
export interface Handling {
  handle(): {
    subscribe(observer: { next(value: unknown): void; error(thrown: unknown): void; complete(): void }): unknown
  }
}

/** The names of the metadata that decorators set on handlers. The first two are those of @nestjs/cache-manager. */
export const metadata = {
  key: 'cache_module:cache_key',
  ttl: 'cache_module:cache_ttl',
  user: 'herdless:cache_for',
} as const

/** The metadata of Nest on handlers of server-sent events, and on handlers and controllers of a version. */
const [serverSent, version] = ['__sse__', '__version__']

/** The requests that an interceptor answers. Of two on one handler the outer one does: the inner one would wait for it. */
const underWay = new WeakSet<object>()

/** Makes the key of the answers to a request of its execution context; without one they are not stored. */
export type KeyOfContext = (context: Context) => string | undefined | Promise<string | undefined>

/** Returns the result of a handler, cached or by a run of it, in a list of one, of which Nest makes an observable. */
export async function answer(
  cache: Cache,
  context: Context,
  next: Handling,
  trackBy: KeyOfContext = keyOf,
): Promise<unknown> {
  if (context.getType() !== 'http' || Reflect.getMetadata(serverSent, context.getHandler())) return next.handle()
  const [request, response] = [context.switchToHttp().getRequest(), context.switchToHttp().getResponse()] as [
    NestRequest,
    NestResponse,
  ]
  const message = request.raw ?? request
  if (request.method !== 'GET' || underWay.has(message)) return next.handle()
  const tell = (what: string): unknown => response.header('Cache-Status', `herdless; ${what}`)
  const { result: key, reads: declared } = await recordReads(message, () => ownKeyOf(context, trackBy))
  if (typeof key !== 'string') {
    tell(`fwd=bypass; detail="${key.personal}"`)
    return next.handle()
  }
  const ttl = (await said(context, 'ttl', context)) as Duration | undefined
  underWay.add(message)
  const begun = await cache.begin(key, lifeOf(ttl))
  if (response.headersSent === true || response.sent === true) {
    // An outer interceptor was out of patience.
    if (begun.state === 'lead') begun.skip(1)
    return [undefined]
  }
  if (begun.state !== 'lead') {
    tell(begun.state === 'loaded' ? 'fwd=uri-miss; collapsed' : begun.state === 'stale' ? 'hit; detail=stale' : 'hit')
    return [begun.value]
  }
  tell('fwd=uri-miss')
  const isUndeclared = (name: string): boolean => !declared.has(name) && !isFor(context)
  const onUndeclared = (name: string): unknown => tell(`fwd=uri-miss; detail="undeclared:${name}"`)
  return [await led(begun, [message, response], next, { isUndeclared, onUndeclared })]
}

/** The reads of a handler that keep its answer from being stored. */
interface Undeclared {
  readonly isUndeclared: (name: string) => boolean
  readonly onUndeclared: (name: string) => void
}

/** Runs the handler, and stores its result if the answer consists of nothing else, and depends on nothing but its key. */
async function led(
  lead: Lead<unknown>,
  [message, response]: readonly [Inputs, NestResponse],
  next: Handling,
  { isUndeclared, onUndeclared }: Undeclared,
): Promise<unknown> {
  const headOf = (): string => JSON.stringify([response.statusCode, response.getHeaders(), cookiesOf(response)])
  const head = headOf()
  try {
    const { result, reads } = await recordReads(message, () => resultOf(next))
    const undeclared = [...reads].find(isUndeclared)
    // A stream is for one client.
    if (result === undefined || isStream(result) || headOf() !== head) lead.skip()
    else if (undeclared === undefined) await lead.fill(result)
    else {
      lead.skip()
      onUndeclared(undeclared)
    }
    return result
  } catch (error) {
    // An exception of Nest is an answer to this request.
    if (typeof (error as { getStatus?: unknown } | undefined)?.getStatus === 'function') lead.skip()
    else await lead.fail(error)
    throw error
  }
}

/** The cookies that @fastify/cookie has yet to make a field of. */
function cookiesOf(reply: object): unknown[] {
  const symbol = Object.getOwnPropertySymbols(reply).find((each) => each.description === 'fastify.reply.setCookies')
  const cookies: unknown = symbol && Reflect.get(reply, symbol)
  return cookies instanceof Map ? [...cookies] : []
}

/** Resolves with the last value of the observable of a handler. */
function resultOf(next: Handling): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let last: unknown
    next.handle().subscribe({ next: (each) => (last = each), error: reject, complete: () => resolve(last) })
  })
}

/** Whether a handler, or its controller, says for whom its answers are. */
function isFor(context: Context): boolean {
  return ofBoth(context, metadata.user).some((user) => user !== undefined)
}

/** The key that `CacheKey` says, or that is made of the host, the url and the version of the handler. */
export async function keyOf(context: Context): Promise<string | undefined> {
  if (Reflect.getMetadata(metadata.key, context.getHandler()) !== undefined) {
    return (await said(context, 'key', context)) as string | undefined
  }
  const { headers, originalUrl, url } = context.switchToHttp().getRequest() as NestRequest
  // A field of the request may have chosen the version, and so the handler.
  const [ofHandler, ofClass] = ofBoth(context, version)
  const chosen = (ofHandler ?? ofClass) as string | string[] | symbol | undefined
  return JSON.stringify([headers.host, originalUrl ?? url, ...(chosen === undefined ? [] : [String(chosen)])])
}

/** Makes the key of a request; without one, `personal` names what may make its answer that of one client. */
async function ownKeyOf(context: Context, trackBy: KeyOfContext): Promise<string | { personal: string }> {
  const request = context.switchToHttp().getRequest() as NestRequest
  const key = await trackBy(context)
  if (typeof key !== 'string') return { personal: 'CacheKey' }
  if (isFor(context)) {
    const user = await said(context, 'user', request)
    return user === undefined || user === null ? { personal: 'CacheFor' } : `${key} for ${JSON.stringify(user)}`
  }
  const { locals = {} } = context.switchToHttp().getResponse() as NestResponse
  const [property] = new EarlierProperties([]).names([...partsOf(request), { ...variables, object: locals }])
  const field = ['authorization', 'cookie'].find((name) => request.headers[name] !== undefined)
  const personal = property ?? field
  return personal === undefined ? key : { personal }
}

const variables = { name: 'response.locals', isOwn: own.nothing, kind: 'variables' } as const

/** The objects on which guards and middleware may have set properties. */
function partsOf(request: NestRequest): Part[] {
  const { raw } = request
  const part = { name: 'request', object: request, kind: 'request' } as const
  if (raw === undefined) return [{ ...part, isOwn: own.expressRequest }]
  return [
    { ...part, isOwn: own.fastifyRequest },
    { name: 'request.raw', object: raw, isOwn: own.fastifyRaw, kind: 'request' },
  ]
}

/** The metadata of a name on a handler, and on its controller. */
function ofBoth(context: Context, name: string): unknown[] {
  return [context.getHandler(), context.getClass()].map((on): unknown => Reflect.getMetadata(name, on))
}

/** The value that a decorator gives for a handler, or for its controller. */
async function said(context: Context, name: keyof typeof metadata, given: object): Promise<unknown> {
  const [ofHandler, ofClass] = ofBoth(context, metadata[name])
  const value = ofHandler ?? (name === 'key' ? undefined : ofClass)
  return typeof value === 'function' ? (value as (given: object) => unknown)(given) : value
}

function isStream(value: unknown): boolean {
  const { getStream, pipe } = Object(value) as { getStream?: unknown; pipe?: unknown }
  return typeof getStream === 'function' || typeof pipe === 'function'
}

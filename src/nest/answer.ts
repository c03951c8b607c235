import type { Lead } from '../core/cache/begin.ts'
import type { Cache } from '../core/cache/cache.ts'
import { own } from '../http/inputs/harmless.ts'
import { EarlierProperties } from '../http/inputs/earlier-properties.ts'

/** What is used of a request of Express or Fastify. */
interface NestRequest {
  readonly method: string
  readonly url: string
  readonly originalUrl?: string
  readonly headers: Readonly<Record<string, unknown>>
}

/** What is used of a response of Express or a reply of Fastify. */
interface NestResponse {
  readonly statusCode: number
  header(name: string, value: string): unknown
  getHeaders(): object
}

/** What is used of the execution context of Nest. */
export interface Context {
  getType(): string
  getHandler(): object
  getClass(): object
  // oxlint-disable-next-line typescript/no-explicit-any -- Nest leaves these types to its caller.
  switchToHttp(): { getRequest(): any; getResponse(): any }
}

/** What is used of the handler behind an interceptor. */
export interface Handling {
  handle(): {
    subscribe(observer: { next(value: unknown): void; error(thrown: unknown): void; complete(): void }): unknown
  }
}

/** The names of what decorators note on handlers. The first two are those of @nestjs/cache-manager. */
export const metadata = {
  key: 'cache_module:cache_key',
  ttl: 'cache_module:cache_ttl',
  who: 'herdless:cache_for',
} as const

const sent = '__sse__'

/** What a handler returns, from the cache or by the handler; in a list of one, of which Nest makes an observable. */
export async function answer(cache: Cache, context: Context, next: Handling): Promise<unknown> {
  if (context.getType() !== 'http' || Reflect.getMetadata(sent, context.getHandler())) return next.handle()
  const [request, response] = [context.switchToHttp().getRequest(), context.switchToHttp().getResponse()] as [
    NestRequest,
    NestResponse,
  ]
  if (request.method !== 'GET') return next.handle()
  const tell = (what: string): unknown => response.header('Cache-Status', `herdless; ${what}`)
  const key = await keyOf(context, request)
  if (typeof key !== 'string') {
    tell(`fwd=bypass; detail="${key.personal}"`)
    return next.handle()
  }
  const ttl = (await said(context, 'ttl', context)) as number | undefined
  const begun = await cache.begin(key, ttl === undefined ? {} : { ttl })
  if (begun.state !== 'lead') {
    tell(begun.state === 'loaded' ? 'fwd=uri-miss; collapsed' : begun.state === 'stale' ? 'hit; fwd=stale' : 'hit')
    return [begun.value]
  }
  tell('fwd=uri-miss')
  return [await led(begun, response, next)]
}

/** What the handler returns; stored, if that is all that makes its answer. */
async function led(lead: Lead<unknown>, response: NestResponse, next: Handling): Promise<unknown> {
  const headOf = (): string => JSON.stringify([response.statusCode, response.getHeaders()])
  const head = headOf()
  try {
    const value = await new Promise((resolve, reject) => {
      let last: unknown
      next.handle().subscribe({ next: (each) => (last = each), error: reject, complete: () => resolve(last) })
    })
    // A stream is for one client.
    if (value === undefined || isStream(value) || headOf() !== head) lead.skip()
    else await lead.fill(value)
    return value
  } catch (error) {
    // An exception of Nest is an answer to this request.
    if (typeof (error as { getStatus?: unknown } | undefined)?.getStatus === 'function') lead.skip()
    else await lead.fail(error)
    throw error
  }
}

/** The key of a request; or, if its answer may be for one client alone, by what. */
async function keyOf(context: Context, request: NestRequest): Promise<string | { personal: string }> {
  const named = await said(context, 'key', context)
  const { host } = request.headers
  const key = typeof named === 'string' ? named : JSON.stringify([host, request.originalUrl ?? request.url])
  if (
    Reflect.getMetadata(metadata.who, context.getHandler()) ??
    Reflect.getMetadata(metadata.who, context.getClass())
  ) {
    const who = await said(context, 'who', request)
    return who === undefined || who === null ? { personal: 'CacheFor' } : `${key} for ${JSON.stringify(who)}`
  }
  const isOwn = 'raw' in request ? own.fastifyRequest : own.expressRequest
  const [put] = new EarlierProperties([]).names([{ name: 'request', object: request, isOwn, kind: 'request' }])
  const field = ['authorization', 'cookie'].find((name) => request.headers[name] !== undefined)
  const personal = put ?? field
  return personal === undefined ? key : { personal }
}

/** What a decorator says of a handler, or of its controller. */
async function said(context: Context, name: keyof typeof metadata, given: object): Promise<unknown> {
  const [ofHandler, ofClass] = [context.getHandler(), context.getClass()].map((on) =>
    Reflect.getMetadata(metadata[name], on),
  )
  const value = ofHandler ?? (name === 'key' ? undefined : ofClass)
  return typeof value === 'function' ? (value as (given: object) => unknown)(given) : value
}

function isStream(value: unknown): boolean {
  const { getStream, pipe } = Object(value) as { getStream?: unknown; pipe?: unknown }
  return typeof getStream === 'function' || typeof pipe === 'function'
}

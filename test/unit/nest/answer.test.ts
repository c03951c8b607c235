import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createCache } from '../../../src/create-cache.ts'
import { answer, metadata, type Context, type Handling } from '../../../src/nest/answer.ts'
import type { Cache } from '../../../src/index.ts'
import { until } from '../../../tools/until.mjs'

/** What decorators have noted on a handler, as reflect-metadata keeps it. */
const noted = new WeakMap<object, Record<string, unknown>>()
Object.assign(Reflect, { getMetadata: (key: string, on: object) => noted.get(on)?.[key] })
afterAll(() => void Reflect.deleteProperty(Reflect, 'getMetadata'))

let cache: Cache
beforeEach(() => void (cache = createCache({ ttl: '1m' })))
afterEach(() => cache.close())

interface Asked {
  readonly request?: object
  readonly response?: FakeResponse
  /** Interceptors on the handler. */
  readonly interceptors?: number
  readonly notes?: Record<string, unknown>
  readonly onHandle?: (response: FakeResponse, request: AskedRequest) => unknown
}

interface AskedRequest {
  readonly headers: Record<string, string | undefined>
  readonly socket: { readonly remoteAddress?: string }
  readonly rawHeaders: readonly string[]
  readonly headersDistinct: Record<string, readonly string[] | undefined>
}

const cookies = Symbol('fastify.reply.setCookies')
const raw = { headers: { host: 'shop' }, socket: {}, rawHeaders: [], headersDistinct: {} }

class FakeResponse {
  [cookies]: Map<string, string> | null = null
  statusCode = 200
  headersSent = false
  locals = {}
  readonly fields: Record<string, string> = {}
  header(name: string, value: string): void {
    this.fields[name] = value
  }
  getHeaders(): object {
    return this.fields
  }
}

type Handled = ReturnType<Handling['handle']>

/** What Nest makes of an asynchronous handler, or of an interceptor. */
function handling(run: () => unknown): Handling {
  return {
    handle: () => ({
      subscribe: (observer) => {
        const given = Promise.resolve().then(run)
        void given
          .then((each) => observer.next(each))
          .then(
            () => observer.complete(),
            (error: unknown) => observer.error(error),
          )
      },
    }),
  }
}

function resultOf(given: unknown): Promise<unknown> {
  return new Promise((resolve, reject) => {
    if (Array.isArray(given)) resolve(given[0])
    else (given as Handled).subscribe({ next: resolve, error: reject, complete: () => {} })
  })
}

/** What a request is answered with, and the field that says whether the cache had it. */
async function ask({
  request = {},
  response = new FakeResponse(),
  interceptors = 1,
  notes = {},
  onHandle,
}: Asked = {}): Promise<[unknown, string | undefined]> {
  const usual = { method: 'GET', url: '/a', ...raw }
  // A request of Fastify has its members from its prototype.
  const asked: typeof usual = 'raw' in request ? Object.assign(Object.create(usual), request) : { ...usual, ...request }
  const handler = (): void => {}
  noted.set(handler, notes)
  const context: Context = {
    getType: () => 'http',
    getHandler: () => handler,
    getClass: () => Object,
    switchToHttp: () => ({ getRequest: () => asked, getResponse: () => response }),
  }
  const value = onHandle ?? (() => 'own')
  let next = handling(() => value(response, asked))
  for (let inner = 1; inner < interceptors; inner++) {
    const behind = next
    next = handling(async () => await resultOf(await answer(cache, context, behind)))
  }
  const given = await answer(cache, context, next)
  const passed = Array.isArray(given) ? given[0] : 'passed on'
  return [passed, response.fields['Cache-Status']]
}

describe('an answer', () => {
  test('is stored by url and host, and served to others', async () => {
    expect(await ask({ onHandle: () => 'first' })).toEqual(['first', 'herdless; fwd=uri-miss'])
    expect(await ask()).toEqual(['first', 'herdless; hit'])
    expect(await ask({ request: { url: '/b' } })).toEqual(['own', 'herdless; fwd=uri-miss'])
    expect(await ask({ request: { headers: { host: 'other' } } })).toEqual(['own', 'herdless; fwd=uri-miss'])
  })

  test.for([
    ['what a guard has put on the request', { user: { id: 1 } }, 'request.user'],
    ['a cookie', { headers: { cookie: 'a=b' } }, 'cookie'],
    ['credentials', { headers: { authorization: 'Bearer a' } }, 'authorization'],
    [
      'what a middleware has put on the request behind that of Fastify',
      { raw: { ...raw, user: { id: 1 } } },
      'request.raw.user',
    ],
  ] as const)('is neither stored nor served for a request with %s', async ([, request, detail]) => {
    await ask({ onHandle: () => 'for all' })
    expect(await ask({ request })).toEqual(['passed on', `herdless; fwd=bypass; detail="${detail}"`])
  })

  test('is neither stored nor served for a response with variables of a middleware', async () => {
    await ask({ onHandle: () => 'for all' })
    const response = Object.assign(new FakeResponse(), { locals: { user: { id: 1 } } })
    expect(await ask({ response })).toEqual(['passed on', 'herdless; fwd=bypass; detail="response.locals.user"'])
  })

  test('is stored beside what the middleware engine of Fastify sets on each request', async () => {
    const ofMiddie = {
      hostname: 'shop',
      protocol: 'http',
      ip: '::1',
      ips: ['::1'],
      query: {},
      log: console,
      id: 'req-1',
    }
    const request = (): object => ({ raw: { ...raw, ...ofMiddie, originalUrl: '/a' } })
    await ask({ request: request() })
    expect((await ask({ request: request() }))[1]).toBe('herdless; hit')
  })

  test('is stored for each version of the handler apart', async () => {
    expect((await ask({ notes: { __version__: '1' }, onHandle: () => 'first' }))[0]).toBe('first')
    expect((await ask({ notes: { __version__: ['2', '3'] }, onHandle: () => 'second' }))[0]).toBe('second')
    expect((await ask({ notes: { __version__: Symbol('neutral') } }))[0]).toBe('own')
    expect(await ask({ notes: { __version__: '1' } })).toEqual(['first', 'herdless; hit'])
  })

  test('is stored once by two interceptors on one handler', async () => {
    expect(await ask({ interceptors: 2 })).toEqual(['own', 'herdless; fwd=uri-miss'])
    expect(await ask({ interceptors: 2 })).toEqual(['own', 'herdless; hit'])
    expect(cache.stats()).toMatchObject({ loads: 1, failures: 0 })
  })

  test('is stored for each user apart if the handler says whose it is, and for nobody if it does not know', async () => {
    const notes = { [metadata.user]: (request: { user?: { id: number } }) => request.user?.id }
    for (const id of [1, 2]) {
      expect((await ask({ notes, request: { user: { id } }, onHandle: () => `for ${id}` }))[0]).toBe(`for ${id}`)
    }
    expect((await ask({ notes, request: { user: { id: 1 } } }))[0]).toBe('for 1')
    expect((await ask({ notes }))[1]).toBe('herdless; fwd=bypass; detail="CacheFor"')
  })

  test.for([
    ['is nothing', () => undefined],
    ['is a stream', () => ({ getStream: () => null })],
    ['has a field of its own', (response: FakeResponse): void => response.header('Set-Cookie', 'a=b')],
    ['has another status', (response: FakeResponse): number => (response.statusCode = 202)],
    [
      'has a cookie of @fastify/cookie',
      (response: FakeResponse): unknown => (response[cookies] = new Map([['a', 'b']])),
    ],
  ] as const)('is not stored if it %s', async ([, onHandle]) => {
    await ask({ onHandle })
    expect(await ask()).toEqual(['own', 'herdless; fwd=uri-miss'])
  })

  test.for<[string, (request: AskedRequest) => unknown]>([
    ['reads a request field', ({ headers }) => headers['accept-language']],
    ['lists the request fields', ({ headers }) => Object.keys(headers)],
    ['reads the address of its client', ({ socket }) => socket.remoteAddress],
    ['reads the fields as they came', ({ rawHeaders }) => rawHeaders.length],
    ['reads the fields in lists', ({ headersDistinct }) => headersDistinct['accept-language']],
  ])('is not stored if its handler %s, unless the handler says for whom it is', async ([, onHandle]) => {
    const request = {
      headers: { host: 'shop', 'accept-language': 'de' },
      socket: { remoteAddress: '::1' },
      rawHeaders: ['Host', 'shop', 'Accept-Language', 'de'],
      headersDistinct: { host: ['shop'], 'accept-language': ['de'] },
    }
    const read = {
      request,
      onHandle: (_response: FakeResponse, asked: AskedRequest): unknown => {
        onHandle(asked)
        return 'for one'
      },
    }
    expect((await ask(read))[1]).toMatch(/^herdless; fwd=uri-miss; detail="undeclared:/)
    expect(await ask({ request })).toEqual(['own', 'herdless; fwd=uri-miss'])
    expect(request.headers['accept-language']).toBe('de')
    const notes = { [metadata.user]: () => 'all' }
    await ask({ ...read, notes })
    expect(await ask({ notes })).toEqual(['for one', 'herdless; hit'])
  })

  test('is stored if its handler reads a field that the function of its key has read', async () => {
    const request = { headers: { host: 'shop', 'accept-language': 'de' } }
    const key = (context: Context): string => {
      const asked = context.switchToHttp().getRequest() as AskedRequest
      return `page in ${asked.headers['accept-language']}`
    }
    const notes = { [metadata.key]: key }
    const onHandle = (_response: FakeResponse, { headers }: AskedRequest): unknown => headers['accept-language']
    await ask({ request, notes, onHandle })
    expect(await ask({ request, notes })).toEqual(['de', 'herdless; hit'])
  })

  test('is not stored if it is an exception of Nest; another error is that of those who wait', async () => {
    const exception = Object.assign(new Error('none'), { getStatus: () => 404 })
    await expect(ask({ onHandle: () => Promise.reject(exception) })).rejects.toBe(exception)
    expect((await ask({ request: { url: '/b' } }))[0]).toBe('own')
    const failing = { request: { url: '/c' }, onHandle: () => Promise.reject(new Error('broken')) }
    await expect(ask(failing)).rejects.toThrow('broken')
    await expect(ask({ request: { url: '/c' } })).rejects.toThrow('broken')
  })

  test('leaves no lead behind if an outer interceptor has answered before it was its turn', async () => {
    const key = JSON.stringify(['shop', '/a'])
    const leader = await cache.begin(key)
    if (leader.state !== 'lead') throw new Error('It is cached already')
    const response = new FakeResponse()
    const asked = ask({ response })
    await until('it waits', async () => (await cache.explain(key)).here.callers > 0)
    response.headersSent = true
    await cache.invalidate(key)
    expect(await asked).toEqual([undefined, undefined])
    expect((await cache.explain(key)).load).toBeNull()
  })

  test('is left alone if the method is not GET, or events are sent', async () => {
    expect((await ask({ request: { method: 'POST' } }))[0]).toBe('passed on')
    expect((await ask({ notes: { __sse__: true } }))[0]).toBe('passed on')
  })

  test('is stored under the name and for the ttl that the handler says', async () => {
    await ask({ notes: { [metadata.key]: async () => 'named', [metadata.ttl]: 5_000 } })
    expect(await cache.peek('named')).toMatchObject({ state: 'fresh', value: 'own' })
    expect(((await cache.peek('named')) as { ttl: number }).ttl).toBeLessThanOrEqual(5_000)
  })

  test('is not stored if the function of its key says undefined', async () => {
    const none = { notes: { [metadata.key]: () => undefined } }
    expect(await ask(none)).toEqual(['passed on', 'herdless; fwd=bypass; detail="CacheKey"'])
  })

  test('is stored for ever with a ttl of 0, as by cache-manager', async () => {
    await ask({ notes: { [metadata.key]: 'named', [metadata.ttl]: 0 } })
    expect(((await cache.peek('named')) as { ttl: number }).ttl).toBeGreaterThan(365 * 86_400_000)
  })
})

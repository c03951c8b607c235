import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createCache } from '../../../src/create-cache.ts'
import { answer, metadata, type Context, type Handling } from '../../../src/nest/answer.ts'
import type { Cache } from '../../../src/index.ts'

/** What decorators have noted on a handler, as reflect-metadata keeps it. */
const noted = new WeakMap<object, Record<string, unknown>>()
Object.assign(Reflect, { getMetadata: (key: string, on: object) => noted.get(on)?.[key] })
afterAll(() => void Reflect.deleteProperty(Reflect, 'getMetadata'))

let cache: Cache
beforeEach(() => void (cache = createCache({ ttl: '1m' })))
afterEach(() => cache.close())

interface Asked {
  readonly request?: object
  readonly notes?: Record<string, unknown>
  readonly onHandle?: (response: FakeResponse, request: AskedRequest) => unknown
}

interface AskedRequest {
  readonly headers: Record<string, string | undefined>
  readonly socket: { readonly remoteAddress?: string }
}

class FakeResponse {
  statusCode = 200
  readonly fields: Record<string, string> = {}
  header(name: string, value: string): void {
    this.fields[name] = value
  }
  getHeaders(): object {
    return this.fields
  }
}

/** What a request is answered with, and the field that says whether the cache had it. */
async function ask({ request = {}, notes = {}, onHandle }: Asked = {}): Promise<[unknown, string | undefined]> {
  const response = new FakeResponse()
  const asked = { method: 'GET', url: '/a', headers: { host: 'shop' }, socket: {}, ...request }
  const handler = (): void => {}
  noted.set(handler, notes)
  const context: Context = {
    getType: () => 'http',
    getHandler: () => handler,
    getClass: () => Object,
    switchToHttp: () => ({ getRequest: () => asked, getResponse: () => response }),
  }
  const value = onHandle ?? (() => 'own')
  const next: Handling = {
    handle: () => ({
      subscribe: (observer) => {
        const given = Promise.resolve(response).then((it) => value(it, asked))
        void given
          .then((each) => observer.next(each))
          .then(
            () => observer.complete(),
            (error: unknown) => observer.error(error),
          )
      },
    }),
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
  ] as const)('is neither stored nor served for a request with %s', async ([, request, detail]) => {
    await ask({ onHandle: () => 'for all' })
    expect(await ask({ request })).toEqual(['passed on', `herdless; fwd=bypass; detail="${detail}"`])
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
  ] as const)('is not stored if it %s', async ([, onHandle]) => {
    await ask({ onHandle })
    expect(await ask()).toEqual(['own', 'herdless; fwd=uri-miss'])
  })

  test.for<[string, (request: AskedRequest) => unknown]>([
    ['reads a request field', ({ headers }) => headers['accept-language']],
    ['lists the request fields', ({ headers }) => Object.keys(headers)],
    ['reads the address of its client', ({ socket }) => socket.remoteAddress],
  ])('is not stored if its handler %s, unless the handler says for whom it is', async ([, onHandle]) => {
    const request = { headers: { host: 'shop', 'accept-language': 'de' }, socket: { remoteAddress: '::1' } }
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

import { describe, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { createCache, type Cache } from '../../src/index.ts'
import {
  cacheResponses,
  type CacheResponsesOptions,
  type FetchAsker,
  type GivenObjects,
} from '../../src/fetch/index.ts'
import { behavesAsAnApp, failed, longText, slow, stale, type MakeApp, type Story } from './support/app-contract.ts'
import { fetchServer } from './support/fetch-server.ts'
import { Gate } from './support/site.ts'

type Options = CacheResponsesOptions<Request, FetchAsker>
type Routes = Record<string, (request: Request, run: number) => Response | Promise<Response>>

const text = (body: string, init: ResponseInit = {}): Response => new Response(body, init)
const aged = (value: string): ResponseInit => ({ headers: { 'cache-control': value } })

function streamed(pieces: AsyncIterable<string> | Iterable<string>, init: ResponseInit = {}): Response {
  const body = (ReadableStream as unknown as { from(pieces: unknown): ReadableStream }).from(pieces)
  return new Response(body.pipeThrough(new TextEncoderStream()), init)
}

function routesOf(story: Story): Routes {
  return {
    '/object': (_, run) => Response.json({ run }),
    '/text': (_, run) => text(`run ${run}`),
    '/bytes': () => new Response(Uint8Array.from({ length: 256 }, (_, each) => each)),
    '/stream': (_, run) => streamed(['run', ` ${run}`]),
    '/nothing': () => new Response(null, { status: 204, ...aged('max-age=60') }),
    '/tagged': (_, run) => text(`run ${run}`, { headers: { etag: '"of the handler"' } }),
    '/long': () => text(longText),
    '/error': (_, run) => failed(run),
    '/fields': ({ headers }) => Response.json(Object.fromEntries(headers)),
    '/language': ({ headers }) => text(headers.get('Accept-Language') ?? ''),
    '/agent': ({ headers }) => text(headers.get('user-agent') ?? ''),
    '/accepts': ({ headers }) =>
      text(headers.get('accept')?.includes('text/html') === true ? 'text/html' : 'application/json'),
    '/cookies': ({ headers }) => text(headers.get('cookie') ?? 'none'),
    '/cookie': (_, run) => text('page', { headers: { 'set-cookie': `visitor=${run}` } }),
    '/back': () => text('page', { headers: { 'x-back': 'x-before' } }),
    '/slow': (_, run) => streamed(slow(story, run)),
    '/held': async ({ url }, run) => {
      await story.gate.opened
      return url.includes('error') ? failed(run) : text(`run ${run}`)
    },
    '/stale': async (_, run) => {
      if (run === 2) await story.gate.opened
      return text(`run ${run}`, aged(run === 1 ? stale : 'max-age=60'))
    },
    '/breaks': (_, run) => (run === 2 ? failed(run) : text(`run ${run}`, aged(run === 1 ? stale : 'max-age=60'))),
    '/object-stale': (_, run) => Response.json({ run }, aged(stale)),
    '/stream-stale': (_, run) => streamed(['run', ` ${run}`], aged(stale)),
    '/own': (_, run) => text(`run ${run}`),
  }
}

/** An app in the manner of handlers that are functions: what stands before the cache calls what stands behind it. */
const makeApp: MakeApp = async (cache, story, options) => {
  const cached = cacheResponses(cache, options as unknown as Options)
  const own = cacheResponses(cache, { ttl: '1m' })
  const routes = routesOf(story)
  const sorry = async (answer: () => Response | Promise<Response>): Promise<Response> => {
    try {
      return await answer()
    } catch (error) {
      story.errors.push((error as Error).message)
      return text(`sorry: ${(error as Error).message}`, { status: 500 })
    }
  }
  const route = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url)
    if (request.method === 'POST') return new Response(null, { status: 204 })
    const handler = async (): Promise<Response> => {
      const answer = routes[pathname] ?? (() => text('', { status: 404 }))
      const response = await sorry(() => answer(request, story.ran(pathname)))
      response.headers.set('x-after', '1')
      return response
    }
    return pathname === '/own' ? await own(request, handler) : await handler()
  }
  return fetchServer(async (request) => {
    const { pathname } = new URL(request.url)
    const who = request.headers.get('x-who')
    const isGzip = pathname === '/long' && request.headers.get('accept-encoding') === 'gzip'
    const response = await sorry(async () => await cached(request, route))
    story.logged.push(`${response.status} ${pathname}`)
    const headers = new Headers(who === null ? {} : { 'x-before': who })
    if (who !== null) for (const name of ['who', 'again']) headers.append('set-cookie', `${name}=${who}`)
    for (const [name, value] of response.headers) headers.append(name, value)
    for (const name of [headers.get('x-back'), isGzip && 'content-length']) if (name) headers.delete(name)
    if (isGzip) headers.set('content-encoding', 'gzip')
    const body = isGzip ? response.body?.pipeThrough(new CompressionStream('gzip') as never) : response.body
    return new Response(body, { status: response.status, headers })
  })
}

describe('fetch', () => {
  behavesAsAnApp(makeApp)
})

/** A cache of a process, and what it answers to requests that are made here. */
function opened(options: Options = {}): {
  cache: Cache
  ask: (handler: Handler, asked?: RequestInit & { path?: string; given?: GivenObjects }) => Promise<Answer>
} {
  const cache = createCache({ ttl: '1m' })
  const cached = cacheResponses(cache, options)
  const ask = async (
    handler: Handler,
    { path = '/', given = {}, ...init }: RequestInit & { path?: string; given?: GivenObjects } = {},
  ) => {
    const request = new Request(`http://site${path}`, init)
    const response = await cached(request, handler, given)
    return { status: response.status, text: await response.text(), cache: response.headers.get('cache-status') ?? '' }
  }
  return { cache, ask }
}

type Handler = (request: Request) => Response | Promise<Response>

/** A request with a property of earlier code. */
interface NamedRequest extends Request {
  readonly user: { readonly name: string }
}

/** A request of a runtime that parses cookies by itself. */
class WithCookies extends Request {
  readonly #cookies: ReadonlyMap<string, string>

  constructor(who: string) {
    super('http://site/', { headers: { cookie: `who=${who}` } })
    this.#cookies = new Map([['who', who]])
  }

  get cookies(): ReadonlyMap<string, string> {
    return this.#cookies
  }
}

interface Answer {
  readonly status: number
  readonly text: string
  readonly cache: string
}

describe('what a handler reads of a request', () => {
  const everything = 'herdless; fwd=uri-miss; detail=undeclared:*'

  class Sub extends Request {}

  test.for<[string, Handler]>([
    ['a clone', (request) => text(request.clone().headers.get('x-a') ?? '')],
    ['a copy', (request) => text(new Request(request).headers.get('x-a') ?? '')],
    ['a copy of another class', (request) => text(new Sub(request).headers.get('x-a') ?? '')],
    ['a copy at another address', (request) => text(new Request('http://other/', request).headers.get('x-a') ?? '')],
    ['a copy of its fields', (request) => text(new Headers(request.headers).get('x-a') ?? '')],
    ['a list of its fields', ({ headers }) => text(Object.fromEntries(headers)['x-a'] ?? '')],
    [
      'each field',
      ({ headers }) => {
        let found = ''
        headers.forEach((value, name) => void (found += name === 'x-a' ? value : ''))
        return text(found)
      },
    ],
  ])('%s is a read of all fields, and the answer is stored for nobody', async ([, handler]) => {
    const { ask } = opened()
    expect(await ask(handler, { headers: { 'x-a': '1' } })).toEqual({ status: 200, text: '1', cache: everything })
    expect((await ask(handler, { headers: { 'x-a': '2' } })).text).toBe('2')
  })

  test('is what the fields show that somebody has taken before', async () => {
    const cached = cacheResponses(createCache({ ttl: '1m' }), { cookies: 'hide' })
    for (const a of ['1', '2']) {
      const request = new Request('http://site/', { headers: { 'x-a': a, cookie: `a=${a}` } })
      const { headers } = request
      const response = await cached(request, () => text(`${headers.get('x-a')} ${headers.get('cookie')}`))
      expect(await response.text()).toBe(`${a} null`)
    }
  })

  test.for<[string, (request: Request) => unknown]>([
    ['its URL', ({ url }) => url],
    ['its method', ({ method }) => method],
    ['its body', ({ body, bodyUsed }) => [body, bodyUsed]],
    ['its signal', ({ signal }) => signal.aborted],
    ['how it was made', ({ mode, redirect, cache: kind, credentials }) => [mode, redirect, kind, credentials]],
    ['its text', (request) => request.text()],
  ])('%s makes no variant', async ([, read]) => {
    const { ask } = opened()
    const handler: Handler = async (request) => (await read(request), text('page'))
    expect((await ask(handler, { headers: { 'x-a': '1' } })).cache).toBe('herdless; fwd=uri-miss; stored')
    expect((await ask(handler, { headers: { 'x-a': '2' } })).cache).toContain('hit')
  })

  test('shows no parameter that is ignored', async () => {
    const { ask } = opened({ ignoreQuery: ['utm'] })
    const handler: Handler = ({ url }) => text(url)
    expect((await ask(handler, { path: '/?utm=1&a=2' })).text).toBe('http://site/?a=2')
    expect((await ask(handler, { path: '/?a=2&utm=3' })).cache).toContain('hit')
  })

  test('of what earlier code has put together for it is an input, too', async () => {
    const { ask } = opened()
    for (const name of ['Ada', 'Bob']) {
      const locals = { user: { name } }
      const answer = await ask(() => text(locals.user.name), { given: { locals } })
      expect(answer.text).toBe(name)
      expect(answer.cache).toMatch(/detail=(undeclared:locals.user|pass)/)
    }
  })

  test('of that may be declared', async () => {
    const { ask } = opened({ user: ({ given }) => (given['locals'] as { user: string }).user })
    for (const user of ['Ada', 'Bob', 'Ada']) {
      const locals = { user }
      expect((await ask(() => text(locals.user), { given: { locals } })).text).toBe(user)
    }
    const locals = { user: 'Bob' }
    expect((await ask(() => text('other'), { given: { locals } })).cache).toContain('hit')
  })

  test('of the request itself is an input, too, where earlier code has set a property of it', async () => {
    const cached = cacheResponses(createCache({ ttl: '1m' }))
    const page: Handler = (request) => text((request as NamedRequest).user.name)
    for (const name of ['Ada', 'Bob']) {
      const request = Object.assign(new Request('http://site/'), { user: { name } })
      const response = await cached(request, page)
      expect(await response.text()).toBe(name)
      expect(response.headers.get('cache-status')).toMatch(/detail=(undeclared:request.user|pass)/)
    }
  })

  test('of what a runtime adds to its requests is a read of all fields', async () => {
    const cached = cacheResponses(createCache({ ttl: '1m' }), { cookies: 'hide' })
    const page: Handler = (request) => text((request as WithCookies).cookies.get('who') ?? 'none')
    for (const who of ['Ada', 'Bob']) {
      const response = await cached(new WithCookies(who), page)
      expect(await response.text()).toBe(who)
      expect(response.headers.get('cache-status')).toMatch(/detail=(undeclared:\*|pass)/)
    }
  })

  test('of what a runtime adds to its requests harms nobody who reads something else', async () => {
    const cached = cacheResponses(createCache({ ttl: '1m' }), { cookies: 'hide' })
    const read = async (who: string): Promise<string | null> => {
      return (await cached(new WithCookies(who), () => text('page'))).headers.get('cache-status')
    }
    expect(await read('Ada')).toContain('stored')
    expect(await read('Bob')).toContain('hit')
  })

  test('is another host than that of the key: it is compared', async () => {
    const { ask } = opened()
    const headers = { host: 'front' }
    const handler: Handler = ({ url }) => text(new URL(url).host)
    const cached = cacheResponses(createCache({ ttl: '1m' }))
    for (const host of ['one', 'two']) {
      const response = await cached(new Request(`http://${host}/`, { headers }), handler)
      expect(await response.text()).toBe(host)
    }
    expect((await ask(handler)).text).toBe('site')
  })
})

describe('an error of a handler', () => {
  test('is that of its own client, and a 500 for those who have waited for it', async () => {
    const { cache, ask } = opened()
    let fail!: (error: Error) => void
    const failing = (): Promise<Response> => new Promise((_, reject) => (fail = reject))
    let missed = 0
    cache.on('miss', () => void missed++)
    const first = ask(failing)
    const second = ask(failing)
    await until('both have missed', () => missed === 2)
    fail(new Error('no'))
    await expect(first).rejects.toThrow('no')
    expect(await second).toEqual({ status: 500, text: '', cache: 'herdless; fwd=uri-miss; collapsed' })
  })

  test('is replaced by a stale response, where that is allowed', async () => {
    const { cache, ask } = opened()
    let filled = 0
    cache.on('fill', () => void filled++)
    expect((await ask(() => text('page', aged('max-age=0, stale-if-error=60')))).text).toBe('page')
    await until('it is stored', () => filled === 1)
    const answer = await ask(() => failed(1))
    expect(answer).toMatchObject({ status: 200, text: 'page', cache: expect.stringContaining('detail=error') })
  })

  test('is told behind a stale response by an event', async () => {
    const { cache, ask } = opened()
    const failures: unknown[] = []
    let filled = 0
    cache.on('failure', ({ error }) => void failures.push((error as Error).cause))
    cache.on('fill', () => void filled++)
    await ask(() => text('page', aged(stale)))
    await until('it is stored', () => filled === 1)
    await until('it was told', async () => {
      await ask(() => failed(2)).catch(() => undefined)
      return failures.length > 0
    })
    expect(failures[0]).toMatchObject({ message: 'no 2' })
  })

  test('in the middle of a body is one of the body', async () => {
    const { ask } = opened()
    const body = async function* (): AsyncGenerator<string> {
      yield 'begun'
      throw new Error('broken')
    }
    await expect(ask(() => streamed(body()))).rejects.toThrow('broken')
    expect((await ask(() => text('page'))).text).toBe('page')
  })
})

describe('what is answered as it is', () => {
  test('is no answer at all, as of a handler that has upgraded the connection', async () => {
    const cached = cacheResponses(createCache({ ttl: '1m' }))
    for (const headers of [{ upgrade: 'websocket' }, {}])
      expect(await cached(new Request('http://site/', { headers }), () => undefined as never)).toBe(undefined)
  })

  test('is an answer whose fields cannot be changed', async () => {
    const { ask } = opened()
    expect(await ask(() => Response.redirect('http://site/other', 302), { headers: { cookie: 'a=1' } })).toEqual({
      status: 302,
      text: '',
      cache: 'herdless; fwd=bypass; detail=cookie',
    })
  })
})

describe('an answer of another library', () => {
  /** Such as those of node-fetch: what it looks like is that of a `Response`. */
  const foreign = (body: string): Response => {
    const { status, headers, body: stream } = new Response(body)
    return { status, headers, body: stream } as Response
  }

  test('is stored, and given to all who have waited for it', async () => {
    const { cache, ask } = opened()
    let missed = 0
    let runs = 0
    cache.on('miss', () => void missed++)
    const gate = new Gate()
    const handler: Handler = async () => {
      runs++
      await gate.opened
      return foreign('page')
    }
    const all = Array.from({ length: 5 }, () => ask(handler))
    await until('all have missed', () => missed === 5)
    gate.open()
    for (const answer of await Promise.all(all)) expect([answer.status, answer.text]).toEqual([200, 'page'])
    expect((await ask(handler)).cache).toContain('hit')
    expect(runs).toBe(1)
  })
})

describe('a client that goes away', () => {
  test('ends the body of a handler that nobody else needs, and is told by the signal', async () => {
    const cached = cacheResponses(createCache({ ttl: '1m' }))
    const gone = new AbortController()
    let isCancelled = false
    let signal: AbortSignal | undefined
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode('run')),
      cancel: () => void (isCancelled = true),
    })
    const response = await cached(new Request('http://site/', { signal: gone.signal }), (request) => {
      signal = request.signal
      return new Response(body)
    })
    gone.abort()
    await until('the handler is told', () => isCancelled && signal?.aborted === true)
    await expect(response.text()).rejects.toThrow('incomplete')
  })

  test('before there is an answer leaves it to those who wait', async () => {
    const cached = cacheResponses(createCache({ ttl: '1m' }))
    const gone = new AbortController()
    let answer!: (response: Response) => void
    let isAborted = true
    const handler = async ({ signal }: Request): Promise<Response> => {
      const response = await new Promise<Response>((resolve) => (answer = resolve))
      isAborted = signal.aborted
      return response
    }
    const first = cached(new Request('http://site/', { signal: gone.signal }), handler)
    const second = cached(new Request('http://site/'), handler)
    await until('it runs', () => answer !== undefined)
    gone.abort()
    await new Promise((resolve) => setImmediate(resolve))
    answer(text('page'))
    expect(await (await second).text()).toBe('page')
    expect(isAborted).toBe(false)
    await expect(first).rejects.toThrow('incomplete')
  })

  test('while it reads a body leaves the rest to those who follow', async () => {
    const cached = cacheResponses(createCache({ ttl: '1m' }))
    let controller!: ReadableStreamDefaultController<Uint8Array>
    const write = (piece: string): void => controller.enqueue(new TextEncoder().encode(piece))
    const handler = async (): Promise<Response> =>
      new Response(new ReadableStream({ start: (each) => void (controller = each) }))
    const first = await cached(new Request('http://site/'), handler)
    const second = await cached(new Request('http://site/'), handler)
    expect(second.headers.get('cache-status')).toContain('collapsed')
    await first.body?.cancel()
    write('run')
    write(' 1')
    controller.close()
    expect(await second.text()).toBe('run 1')
  })
})

test('a client that does not read, and follows the answer of another, is cut off before all of it is kept for it', async () => {
  const cached = cacheResponses(createCache({ ttl: '1m' }))
  const mebibyte = 1_048_576
  let pulled = 0
  const gate = new Gate()
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    await gate.opened
    if (++pulled > 40) controller.close()
    else controller.enqueue(new Uint8Array(mebibyte))
  }
  const handler = (): Response => new Response(new ReadableStream({ pull }, { highWaterMark: 0 }))
  const first = await cached(new Request('http://site/'), handler)
  const second = await cached(new Request('http://site/'), handler)
  expect(second.headers.get('cache-status')).toContain('collapsed')
  gate.open()
  expect((await first.arrayBuffer()).byteLength).toBe(40 * mebibyte)
  // By its length, for a failure would print it.
  await expect(second.arrayBuffer().then((body) => body.byteLength)).rejects.toThrow('incomplete')
})

test('a body past `maxBody` is passed through, and a slow client slows its handler down', async () => {
  const cached = cacheResponses(createCache({ ttl: '1m' }), { maxBody: 1_000 })
  let pulled = 0
  const body = (): ReadableStream =>
    new ReadableStream({
      pull: (controller) => {
        if (++pulled > 1_000) controller.close()
        else controller.enqueue(new Uint8Array(10_000))
      },
    })
  const response = await cached(new Request('http://site/'), () => new Response(body()))
  const reader = response.body?.getReader()
  let length = 0
  await reader?.read().then(({ value }) => void (length += value?.length ?? 0))
  await new Promise((resolve) => setImmediate(resolve))
  expect(pulled).toBeLessThan(30)
  for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) length += read.value.length
  expect(length).toBe(10_000_000)
})

test('too many waiters are put off', async () => {
  const { ask } = opened({ maxWaiters: 1 })
  let answer!: (response: Response) => void
  const first = ask(() => new Promise((resolve) => (answer = resolve)))
  expect(await ask(() => text('other'))).toEqual({
    status: 503,
    text: '',
    cache: 'herdless; fwd=uri-miss; detail=overloaded',
  })
  await until('it runs', () => answer !== undefined)
  answer(text('page'))
  expect((await first).text).toBe('page')
})

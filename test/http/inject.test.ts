import { setImmediate as turn } from 'node:timers/promises'
import { fastify, type FastifyInstance } from 'fastify'
import { Hono } from 'hono'
import { cors } from 'hono/cors'
import { testClient } from 'hono/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { cacheResponses as ofFastify } from '../../src/fastify/index.ts'
import { cacheResponses as ofHono } from '../../src/hono/index.ts'
import { createCache } from '../../src/index.ts'

/** An app that does not listen, whose pages count their runs. */
async function opened(): Promise<FastifyInstance> {
  const cache = createCache({ ttl: '1m' })
  onTestFinished(() => cache.close())
  const app = fastify()
  let runs = 0
  app.addHook('onRequest', ofFastify(cache))
  app.get('/page', async () => `run ${++runs}`)
  app.get('/object', async () => ({ run: ++runs }))
  app.get('/written', (_request, reply) => {
    reply.hijack()
    reply.raw.write('run ')
    reply.raw.end(String(++runs))
  })
  app.get('/distinct', async ({ raw }) => `${typeof raw.headersDistinct}`)
  app.get('/agent', async ({ headers }) => `run ${++runs} for ${headers['user-agent']}`)
  app.get('/address', async ({ socket }) => `run ${++runs} for ${socket.remoteAddress}`)
  app.post('/page', async () => 'changed')
  await app.ready()
  return app
}

describe('a request that is injected into Fastify', () => {
  test.each(['/page', '/object', '/written'])(
    'of %s is answered, by the handler and then from what is stored',
    async (path) => {
      const app = await opened()
      const [first, second] = [await app.inject(path), await app.inject(path)]
      expect(first).toMatchObject({ statusCode: 200, headers: { 'cache-status': 'herdless; fwd=uri-miss; stored' } })
      expect(second.headers['cache-status']).toMatch(/^herdless; hit/)
      expect(first.payload).toMatch(/^(run 1|\{"run":1\})$/)
      expect(second.payload).toBe(first.payload)
    },
  )

  test('is answered once by the handler for many at once', async () => {
    const app = await opened()
    const all = await Promise.all(Array.from({ length: 10 }, () => app.inject('/page')))
    expect(new Set(all.map(({ payload }) => payload))).toEqual(new Set(['run 1']))
  })

  test('finds what it does without a cache: no fields of its own', async () => {
    const app = await opened()
    expect((await app.inject('/distinct')).payload).toBe('undefined')
  })

  test('has an answer of its own where the handler reads a field or an address', async () => {
    const app = await opened()
    for (const path of ['/agent', '/address']) {
      const [ada, bob] = [
        await app.inject({ url: path, headers: { 'user-agent': 'ada' }, remoteAddress: '10.0.0.1' }),
        await app.inject({ url: path, headers: { 'user-agent': 'bob' }, remoteAddress: '10.0.0.2' }),
      ]
      expect(ada.payload).not.toBe(bob.payload)
    }
  })

  test('that changes something voids what is stored', async () => {
    const app = await opened()
    await app.inject('/page')
    expect((await app.inject({ method: 'POST', url: '/page' })).payload).toBe('changed')
    expect((await app.inject('/page')).payload).toBe('run 2')
  })
})

/** A cache, and the wait until it has stored so many responses. */
function watchedCache() {
  const cache = createCache({ ttl: '1m' })
  let fills = 0
  cache.on('fill', () => void fills++)
  return { cache, filled: (count: number) => until(`${count} are stored`, () => fills === count) }
}

describe('Hono, without a server', () => {
  function appOf() {
    let runs = 0
    return new Hono<{ Bindings: { address?: string } }>()
      .use(async (c, next) => {
        c.header('X-Before', c.req.header('X-Who') ?? 'nobody')
        await next()
        c.header('X-Outer', String(c.res.status))
      })
      .use(ofHono(createCache({ ttl: '1m' })))
      .use(async (c, next) => {
        await next()
        c.header('X-After', '1')
      })
      .get('/page', (c) => c.text(`run ${++runs}`))
      .get('/raw', () => Response.json({ run: ++runs }))
      .get('/language', (c) => c.text(`run ${++runs} for ${c.req.header('Accept-Language')}`))
      .get('/env', (c) => c.text(`run ${++runs} for ${c.env.address}`))
      .get('/error', () => {
        throw new Error('sorry')
      })
      .post('/page', (c) => c.text('changed'))
      .onError((error, c) => c.text(error.message, 500))
  }
  const stored = 'herdless; fwd=uri-miss; stored'

  test.each<[string, (app: ReturnType<typeof appOf>, path: string) => Response | Promise<Response>]>([
    ['app.request', (app, path) => app.request(path)],
    ['app.request with an environment', (app, path) => app.request(path, {}, { NAME: 'value' })],
    ['app.fetch', (app, path) => app.fetch(new Request(`http://site${path}`))],
  ])('%s is answered by the handler, and then from what is stored', async (_way, ask) => {
    const app = appOf()
    for (const [path, text] of [
      ['/page', 'run 1'],
      ['/raw', '{"run":2}'],
    ] as const) {
      const [first, second] = [await ask(app, path), await ask(app, path)]
      for (const answer of [first, second]) expect([answer.status, await answer.text()]).toEqual([200, text])
      expect(first.headers.get('cache-status')).toBe(stored)
      expect(second.headers.get('cache-status')).toMatch(/^herdless; (hit|fwd=uri-miss; collapsed)/)
    }
    const failed = await ask(app, '/error')
    expect([failed.status, await failed.text()]).toEqual([500, 'sorry'])
    expect((await ask(app, '/nowhere')).status).toBe(404)
  })

  test('testClient is answered by the handler', async () => {
    const answer = await testClient(appOf()).page.$get()
    expect([await answer.text(), answer.headers.get('cache-status')]).toEqual(['run 1', stored])
  })

  test('each has the header lines of what stands before, and what stands behind is stored', async () => {
    const app = appOf()
    for (const who of ['Ada', 'Bob']) {
      const { headers } = await app.request('/page', { headers: { 'X-Who': who } })
      expect(['x-before', 'x-outer', 'x-after'].map((name) => headers.get(name))).toEqual([who, '200', '1'])
    }
  })

  test('each has the lines of hono/cors that are for its own origin', async () => {
    const { cache, filled } = watchedCache()
    const app = new Hono()
      .use(cors({ origin: (origin) => origin, credentials: true }))
      .use(ofHono(cache))
      .get('/', (c) => c.text('page'))
      .post('/', (c) => c.text('changed'))
    const ask = async (origin: string, { headers = {}, ...asked }: RequestInit = {}) => {
      const answer = await app.request('/', { ...asked, headers: { ...(headers as object), Origin: origin } })
      await answer.text()
      const shown = ['access-control-allow-origin', 'access-control-allow-credentials', 'vary']
      expect(shown.map((name) => answer.headers.get(name))).toEqual([origin, 'true', 'Origin'])
      return answer.headers.get('cache-status')
    }
    expect(await ask('http://ada')).toBe(stored)
    expect(await ask('http://bob', { headers: { cookie: 'a=1' } })).toContain('detail=cookie')
    await filled(1)
    for (const origin of ['http://bob', 'http://ada']) expect(await ask(origin)).toMatch(/^herdless; hit/)
    expect(await ask('http://bob', { method: 'POST' })).toBe(null)
  })

  test('each has the lines that earlier middleware has set on `c.res`, and no other', async () => {
    const app = new Hono()
      .use(async (c, next) => {
        const who = c.req.header('X-Who')
        if (who !== undefined) c.res.headers.set(`X-${who}`, who)
        c.header('X-Before', who ?? 'nobody')
        await next()
      })
      .use(ofHono(createCache({ ttl: '1m' })))
      .get('/', (c) => c.text('page'))
    for (const who of ['Ada', 'Bob']) {
      for (const headers of [{ 'X-Who': who }, { 'X-Who': who, Cookie: 'a=1' }]) {
        const { headers: said } = await app.request('/', { headers })
        const shown = ['x-ada', 'x-bob', 'x-before'].map((name) => said.get(name))
        expect(shown).toEqual([who === 'Ada' ? who : null, who === 'Bob' ? who : null, who])
      }
    }
  })

  test('what a refresh stores has no line that was set for the client before it', async () => {
    const { cache, filled } = watchedCache()
    let runs = 0
    const app = new Hono()
      .use(async (c, next) => {
        const who = c.req.header('X-Who')
        if (who !== undefined) {
          c.res.headers.set('X-Late', who)
          c.header('X-Before', who)
        }
        await next()
      })
      .use(ofHono(cache))
      .get('/', (c) => {
        c.header('Cache-Control', 'max-age=0, stale-while-revalidate=60')
        return c.text(`run ${++runs}`)
      })
    const ask = async (headers: Record<string, string> = {}) => {
      const answer = await app.request('/', { headers })
      return [await answer.text(), answer.headers.get('x-before'), answer.headers.get('x-late')]
    }
    expect(await ask({ 'X-Who': 'Ada' })).toEqual(['run 1', 'Ada', 'Ada'])
    await filled(1)
    expect(await ask({ 'X-Who': 'Bob' })).toEqual(['run 1', 'Bob', 'Bob'])
    await filled(2)
    expect(await ask()).toEqual(['run 2', null, null])
  })

  test('what is stale is refreshed once earlier middleware has done with the answer', async () => {
    const { cache, filled } = watchedCache()
    let runs = 0
    const app = new Hono()
      .use(async (c, next) => {
        await next()
        // In these turns a refresh that does not wait would run its handler.
        for (let turns = 0; turns < 20; turns++) await turn()
        c.header('X-Runs', `${runs}`)
      })
      .use(ofHono(cache))
      .get('/', (c) => c.text(`run ${++runs}`, 200, { 'Cache-Control': 'max-age=0, stale-while-revalidate=60' }))
    await (await app.request('/')).text()
    await filled(1)
    const answer = await app.request('/')
    expect([await answer.text(), answer.headers.get('x-runs')]).toEqual(['run 1', '1'])
    await filled(2)
  })

  test('what earlier middleware has set on the request is an input', async () => {
    const app = new Hono()
      .use(async (c, next) => {
        Object.assign(c.req.raw, { user: c.req.header('X-Who') })
        await next()
      })
      .use(ofHono(createCache({ ttl: '1m' })))
      .get('/', (c) => c.text((c.req.raw as Request & { user?: string }).user ?? 'nobody'))
    for (const who of ['Ada', 'Bob']) {
      const answer = await app.request('/', { headers: { 'X-Who': who } })
      expect(await answer.text()).toBe(who)
      expect(answer.headers.get('cache-status')).toMatch(/detail=(undeclared:c.req.raw.user|pass)/)
    }
  })

  test.for<[string, RequestInit, number]>([
    ['says that it has it', { headers: { 'If-None-Match': '"one"' } }, 304],
    ['cancels what it is sent', {}, 200],
  ])('what is stale is refreshed behind a client that %s', async ([, asked, status]) => {
    const { cache, filled } = watchedCache()
    const app = new Hono().use(ofHono(cache)).get('/', (c) => {
      return c.text('page', 200, { ETag: '"one"', 'Cache-Control': 'max-age=0, stale-while-revalidate=60' })
    })
    await (await app.request('/')).text()
    await filled(1)
    const answer = await app.request('/', asked)
    expect(answer.status).toBe(status)
    await answer.body?.cancel()
    await filled(2)
  })

  test('a field that the handler reads makes a variant, and so does the method HEAD no answer of its own', async () => {
    const app = appOf()
    for (const [language, text] of [
      ['de', 'run 1 for de'],
      ['en', 'run 2 for en'],
      ['de', 'run 1 for de'],
    ] as const)
      expect(await (await app.request('/language', { headers: { 'Accept-Language': language } })).text()).toBe(text)
    await app.request('/page')
    const head = await app.request('/page', { method: 'HEAD' })
    expect([head.headers.get('cache-status'), await head.text()]).toEqual([expect.stringMatching(/hit|head/), ''])
  })

  test('the bindings are inputs: with a server in them, a handler can look at the connection', async () => {
    const app = appOf()
    for (const address of ['10.0.0.1', '10.0.0.2']) {
      const answer = await app.request('/env', {}, { address })
      expect(await answer.text()).toContain(address)
      expect(answer.headers.get('cache-status')).toMatch(/detail=(undeclared:c.env|pass)/)
    }
  })

  test('an unsafe method is not spoken of, and voids what is stored', async () => {
    const app = appOf()
    await app.request('/page')
    const answer = await app.request('/page', { method: 'POST' })
    expect([await answer.text(), answer.headers.get('cache-status')]).toEqual(['changed', null])
    expect(await (await app.request('/page')).text()).toBe('run 2')
  })
})

import { randomUUID } from 'node:crypto'
import { fastify, type FastifyInstance } from 'fastify'
import { Hono } from 'hono'
import { testClient } from 'hono/testing'
import { describe, expect, test } from 'vitest'
import { cacheResponses as ofFastify } from '../../src/fastify/index.ts'
import { cacheResponses as ofHono } from '../../src/hono/index.ts'
import { createCache, memoryStore, type Cache } from '../../src/index.ts'

function cacheOfOne(): Cache {
  return createCache({ namespace: randomUUID(), store: memoryStore(), ttl: '1m' })
}

/** An app that does not listen, whose pages count their runs. */
async function opened(): Promise<{ app: FastifyInstance } & AsyncDisposable> {
  const cache = cacheOfOne()
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
  return { app, [Symbol.asyncDispose]: () => cache.close() }
}

describe('a request that is injected into Fastify', () => {
  test.each(['/page', '/object', '/written'])(
    'of %s is answered, by the handler and then from what is stored',
    async (path) => {
      await using site = await opened()
      const { app } = site
      const [first, second] = [await app.inject(path), await app.inject(path)]
      expect(first).toMatchObject({ statusCode: 200, headers: { 'cache-status': 'herdless; fwd=uri-miss; stored' } })
      expect(second.headers['cache-status']).toMatch(/^herdless; hit/)
      expect(first.payload).toMatch(/^(run 1|\{"run":1\})$/)
      expect(second.payload).toBe(first.payload)
    },
  )

  test('is answered once by the handler for many at once', async () => {
    await using site = await opened()
    const { app } = site
    const all = await Promise.all(Array.from({ length: 10 }, () => app.inject('/page')))
    expect(new Set(all.map(({ payload }) => payload))).toEqual(new Set(['run 1']))
  })

  test('finds what it does without a cache: no fields of its own', async () => {
    await using site = await opened()
    const { app } = site
    expect((await app.inject('/distinct')).payload).toBe('undefined')
  })

  test('has an answer of its own where the handler reads a field or an address', async () => {
    await using site = await opened()
    const { app } = site
    for (const path of ['/agent', '/address']) {
      const [ada, bob] = [
        await app.inject({ url: path, headers: { 'user-agent': 'ada' }, remoteAddress: '10.0.0.1' }),
        await app.inject({ url: path, headers: { 'user-agent': 'bob' }, remoteAddress: '10.0.0.2' }),
      ]
      expect(ada.payload).not.toBe(bob.payload)
    }
  })

  test('that changes something voids what is stored', async () => {
    await using site = await opened()
    const { app } = site
    await app.inject('/page')
    expect((await app.inject({ method: 'POST', url: '/page' })).payload).toBe('changed')
    expect((await app.inject('/page')).payload).toBe('run 2')
  })
})

describe('Hono, without a server', () => {
  function appOf() {
    let runs = 0
    return new Hono()
      .use(ofHono(cacheOfOne()))
      .get('/page', (c) => c.text(`run ${++runs}`))
      .get('/raw', () => Response.json({ run: ++runs }))
      .get('/error', () => {
        throw new Error('sorry')
      })
      .post('/page', (c) => c.text('changed'))
      .onError((error, c) => c.text(error.message, 500))
  }
  const passed = 'herdless; fwd=bypass; detail=no-server'

  test.each<[string, (app: ReturnType<typeof appOf>, path: string) => Response | Promise<Response>]>([
    ['app.request', (app, path) => app.request(path)],
    ['app.request with an environment', (app, path) => app.request(path, {}, { NAME: 'value' })],
    ['app.fetch', (app, path) => app.fetch(new Request(`http://site${path}`))],
  ])('%s is answered by the handler, each time, and is told why', async (_way, ask) => {
    const app = appOf()
    for (const [path, text] of [
      ['/page', 'run 1'],
      ['/page', 'run 2'],
      ['/raw', '{"run":3}'],
    ] as const) {
      const answer = await ask(app, path)
      expect([answer.status, await answer.text(), answer.headers.get('cache-status')]).toEqual([200, text, passed])
    }
    const failed = await ask(app, '/error')
    expect([failed.status, await failed.text(), failed.headers.get('cache-status')]).toEqual([500, 'sorry', passed])
    expect((await ask(app, '/nowhere')).status).toBe(404)
  })

  test('testClient is answered by the handler', async () => {
    const answer = await testClient(appOf()).page.$get()
    expect([await answer.text(), answer.headers.get('cache-status')]).toEqual(['run 1', passed])
  })

  test('an unsafe method is not spoken of', async () => {
    const answer = await appOf().request('/page', { method: 'POST' })
    expect([await answer.text(), answer.headers.get('cache-status')]).toEqual(['changed', null])
  })
})

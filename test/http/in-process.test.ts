import { randomUUID } from 'node:crypto'
import { Hono } from 'hono'
import { testClient } from 'hono/testing'
import { describe, expect, test } from 'vitest'
import { cacheResponses as ofHono } from '../../src/hono/index.ts'
import { createCache, memoryStore, type Cache } from '../../src/index.ts'

function cacheOfOne(): Cache {
  return createCache({ namespace: randomUUID(), store: memoryStore(), ttl: '1m' })
}

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

// It listens at another port for each request.

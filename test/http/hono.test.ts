import { Agent, type Server } from 'node:http'
import { createAdaptorServer, type HttpBindings } from '@hono/node-server'
import { Hono, type Context } from 'hono'
import { accepts } from 'hono/accepts'
import { compress } from 'hono/compress'
import { getCookie, setCookie } from 'hono/cookie'
import { stream } from 'hono/streaming'
import { describe, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { cacheResponses } from '../../src/hono/index.ts'
import { behavesAsAnApp, failed, longText, slow, stale, type MakeApp, type Story } from './support/app-contract.ts'
import { siteOn } from './support/site.ts'

/** What is answered at a path. */
type Routes = Record<string, (c: Context, run: number) => Response | Promise<Response>>

function routesOf(story: Story): Routes {
  const streamed = (c: Context, run: number): Response =>
    stream(c, async (written) => {
      await written.write('run')
      await written.write(` ${run}`)
    })
  return {
    '/object': (c, run) => c.json({ run }),
    '/text': (c, run) => c.text(`run ${run}`),
    '/bytes': (c) => c.body(Uint8Array.from({ length: 256 }, (_, each) => each)),
    '/stream': streamed,
    '/nothing': (c) => c.body(null, 204, { 'Cache-Control': 'max-age=60' }),
    '/tagged': (c, run) => c.text(`run ${run}`, 200, { ETag: '"of the handler"' }),
    '/long': (c) => c.text(longText),
    '/error': (_c, run) => failed(run),
    '/fields': (c) => c.json(c.req.header()),
    '/language': (c) => c.text(c.req.header('Accept-Language') ?? ''),
    '/agent': (c) => c.text(c.req.raw.headers.get('User-Agent') ?? ''),
    '/accepts': (c) =>
      c.text(
        accepts(c, {
          header: 'Accept',
          supports: ['application/json', 'text/html'],
          default: 'application/json',
        }),
      ),
    '/cookies': (c) =>
      c.text(
        Object.entries(getCookie(c))
          .map(([name, value]) => `${name}=${value}`)
          .join() || 'none',
      ),
    '/cookie': (c, run) => {
      setCookie(c, 'visitor', `${run}`)
      return c.html('<p>page</p>')
    },
    '/back': (c) => {
      c.header('X-Before', undefined)
      return c.text('page')
    },
    '/slow': (c, run) =>
      stream(c, async (written) => {
        for await (const piece of slow(story, run)) await written.write(piece)
      }),
    '/held': async (c, run) => {
      await story.gate.opened
      return c.req.query('error') === undefined ? c.text(`run ${run}`) : failed(run)
    },
    '/stale': async (c, run) => {
      if (run === 2) await story.gate.opened
      c.header('Cache-Control', run === 1 ? stale : 'max-age=60')
      return c.text(`run ${run}`)
    },
    '/breaks': (c, run) => {
      c.header('Cache-Control', run === 1 ? stale : 'max-age=60')
      return run === 2 ? failed(run) : c.text(`run ${run}`)
    },
    '/object-stale': (c, run) => c.json({ run }, 200, { 'Cache-Control': stale }),
    '/stream-stale': (c, run) => (c.header('Cache-Control', stale), streamed(c, run)),
    '/own': (c, run) => c.text(`run ${run}`),
  }
}

const makeApp: MakeApp = async (cache, story, options) => {
  const app = new Hono<{ Bindings: HttpBindings }>()
  app.use(async (c, next) => {
    // What the server makes of the fields is kept for the handler.
    const who = c.req.header('X-Who')
    c.req.header('Accept-Language')
    c.req.header()
    if (who !== undefined) {
      c.header('X-Before', who)
      c.header('Set-Cookie', `who=${who}`)
      c.header('Set-Cookie', `again=${who}`, { append: true })
    }
    await next()
    story.logged.push(`${c.res.status} ${c.req.path}`)
  })
  app.onError((error, c) => {
    story.errors.push(error.message)
    return c.text(`sorry: ${error.message}`, 500)
  })
  app.use('/long', compress({ encoding: 'gzip' }))
  app.use(async (c, next) => {
    await next()
    c.header('X-After', '1')
  })
  app.use(cacheResponses(cache, options))
  app.use('/own', cacheResponses(cache, { ttl: '1m' }))
  for (const [path, answer] of Object.entries(routesOf(story))) app.get(path, (c) => answer(c, story.ran(path)))
  app.post('/text', (c) => c.body(null, 204))
  return createAdaptorServer({ fetch: app.fetch }) as Server
}

describe('Hono', () => {
  behavesAsAnApp(makeApp)

  async function siteOfHandler(
    handler: (c: Context) => Response | Promise<Response>,
    before?: (c: Context) => unknown,
  ) {
    return await siteOn(async (cache) => {
      const app = new Hono<{ Bindings: HttpBindings }>()
      app.use(async (c, next) => {
        await before?.(c)
        await next()
      })
      app.use(cacheResponses(cache, { ttl: '1m', cookies: 'hide' }))
      app.all('*', handler)
      return createAdaptorServer({ fetch: app.fetch }) as Server
    })
  }

  test.for<[string, (request: Request) => Request]>([
    ['itself', (request) => request],
    ['as a clone', (request) => request.clone()],
    ['as a copy', (request) => new Request(request)],
    ['as a copy at another address', (request) => new Request('http://other/', request)],
  ])('the request, %s, shows what the handler may see, whatever was asked before', async ([, made]) => {
    const shown: unknown[] = []
    const handler = (c: Context): Response => {
      const request = made(c.req.raw)
      shown.push([request.method, request.headers.get('cookie'), request.headers.get('range')])
      shown.push([request.headers.get('x-a'), request.headers.has('x-b'), [...request.headers.keys()].includes('host')])
      return c.text('page')
    }
    const before = (c: Context): unknown => [c.req.raw.headers.get('cookie'), c.req.raw.clone(), c.req.raw.signal]
    for (const each of [undefined, before]) {
      await using site = await siteOfHandler(handler, each)
      await site.get('/', { cookie: 'a=1', range: 'bytes=0-1', 'x-a': '1' })
      expect(shown.splice(0)).toEqual([
        ['GET', null, null],
        ['1', false, true],
      ])
    }
  })

  test('what a middleware puts in place of the request hides the same', async () => {
    const replaced = (c: Context): unknown => (c.req.raw = new Request(c.req.raw, { headers: c.req.raw.headers }))
    await using site = await siteOfHandler((c) => c.text(c.req.header('cookie') ?? 'none'), replaced)
    expect((await site.get('/', { cookie: 'a=1' })).text).toBe('none')
  })

  test('fields can be set, and what is set is there', async () => {
    await using site = await siteOfHandler((c) => {
      c.req.raw.headers.set('X-A', '2')
      return c.text(`${c.req.header('x-a')} ${c.req.header('x-b')}`)
    })
    expect((await site.get('/', { 'x-a': '1', 'x-b': '1' })).text).toBe('2 1')
  })

  test('a body is read as ever, whoever else reads it', async () => {
    const texts: string[] = []
    const before = async (c: Context): Promise<unknown> => texts.push(await c.req.raw.clone().text())
    await using site = await siteOfHandler(async (c) => c.text(await c.req.raw.text()), before)
    expect((await site.ask('/', { method: 'POST', body: 'a=1' })).text).toBe('a=1')
    expect(texts).toEqual(['a=1'])
  })

  test('where nobody looks at what has been sent, it is not sent once more', async () => {
    await using site = await siteOn(async (cache) => {
      const app = new Hono<{ Bindings: HttpBindings }>()
      app.get('/', cacheResponses(cache, { ttl: '1m' }), (c) => c.text('page'))
      return createAdaptorServer({ fetch: app.fetch }) as Server
    })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (let round = 0; round < 3; round++) {
      expect((await site.get('/', {}, { agent })).text).toBe('page')
      await site.filled(1)
    }
    agent.destroy()
  })

  test('a client that goes away ends what is done for it alone', async () => {
    const signals: AbortSignal[] = []
    await using site = await siteOfHandler((c) => {
      signals.push(c.req.raw.signal)
      return c.body(new ReadableStream())
    })
    await using raw = await site.raw()
    raw.send('GET / HTTP/1.1\r\nHost: site\r\n\r\n')
    await until('it is run', () => signals.length === 1)
    raw.drop()
    await expect.poll(() => signals[0]?.aborted).toBe(true)
  })

  test('what is answered from the cache can be changed by nobody, and harms nobody who tries', async () => {
    await using site = await siteOn(async (cache) => {
      const app = new Hono<{ Bindings: HttpBindings }>()
      app.use(async (c, next) => {
        c.res.headers.set('X-Before', '1')
        await next()
        c.res.headers.set('X-Late', '1')
        c.header('X-Later', '1')
        c.res = new Response(c.res.body, c.res)
      })
      app.use(cacheResponses(cache, { ttl: '1m' }))
      app.get('/', (c) => c.text('page'))
      return createAdaptorServer({ fetch: app.fetch }) as Server
    })
    for (let round = 0; round < 3; round++) {
      const { status, text, headers } = await site.get()
      expect([status, text, headers['x-before'], headers['x-late']]).toEqual([200, 'page', '1', '1'])
      expect(headers['x-hono-already-sent']).toBe(undefined)
      await site.filled(1)
    }
    expect((await site.get('/', {}, { method: 'HEAD' })).status).toBe(200)
  })
})

import { createServer } from 'node:http'
import { Readable } from 'node:stream'
import Koa, { type Context } from 'koa'
import compress from 'koa-compress'
import { describe, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { cacheResponses } from '../../src/koa/index.ts'
import { behavesAsAnApp, failed, longText, slow, stale, type MakeApp, type Story } from './support/app-contract.ts'
import { siteOn } from './support/site.ts'

/** What is answered at a path. */
type Routes = Record<string, (ctx: Context, run: number) => unknown>

function routesOf(story: Story): Routes {
  const stream = (run: number): Readable => Readable.from(['run', ` ${run}`])
  return {
    '/object': (ctx, run) => (ctx.body = { run }),
    '/text': (ctx, run) => (ctx.body = `run ${run}`),
    '/bytes': (ctx) => (ctx.body = Buffer.from(Array.from({ length: 256 }, (_, each) => each))),
    '/stream': (ctx, run) => (ctx.body = stream(run)),
    '/nothing': (ctx) => (ctx.set('Cache-Control', 'max-age=60'), (ctx.body = null)),
    '/tagged': (ctx, run) => ((ctx.etag = 'of the handler'), (ctx.body = `run ${run}`)),
    '/long': (ctx) => (ctx.body = longText),
    '/error': (_ctx, run) => failed(run),
    '/fields': (ctx) => (ctx.body = ctx.headers),
    '/language': (ctx) => (ctx.body = ctx.get('Accept-Language')),
    '/agent': (ctx) => (ctx.body = ctx.headers['user-agent']),
    '/accepts': (ctx) => (ctx.body = ctx.accepts('application/json', 'text/html')),
    '/cookies': (ctx) => (ctx.body = ['a', 'b'].flatMap((name) => named(name, ctx.cookies.get(name))).join() || 'none'),
    '/cookie': (ctx, run) => (ctx.cookies.set('visitor', `${run}`), (ctx.body = 'page')),
    '/back': (ctx) => (ctx.remove('X-Before'), (ctx.body = 'page')),
    '/slow': (ctx, run) => (ctx.body = Readable.from(slow(story, run))),
    '/held': async (ctx, run) => {
      await story.gate.opened
      ctx.body = ctx.search === '?error' ? failed(run) : `run ${run}`
    },
    '/stale': async (ctx, run) => {
      if (run === 2) await story.gate.opened
      ctx.set('Cache-Control', run === 1 ? stale : 'max-age=60')
      ctx.body = `run ${run}`
    },
    '/breaks': (ctx, run) => {
      ctx.set('Cache-Control', run === 1 ? stale : 'max-age=60')
      ctx.body = run === 2 ? failed(run) : `run ${run}`
    },
    '/object-stale': (ctx, run) => (ctx.set('Cache-Control', stale), (ctx.body = { run })),
    '/stream-stale': (ctx, run) => (ctx.set('Cache-Control', stale), (ctx.body = stream(run))),
    '/own': (ctx, run) => (ctx.body = `run ${run}`),
  }
}

function named(name: string, value: string | undefined): string[] {
  return value === undefined ? [] : [`${name}=${value}`]
}

const makeApp: MakeApp = async (cache, story, options) => {
  const app = new Koa()
  const routes = routesOf(story)
  app.use(async (ctx, next) => {
    ctx.res.once('finish', () => story.logged.push(`${ctx.status} ${ctx.path}`))
    const who = ctx.get('X-Who')
    if (who !== '') ctx.set({ 'X-Before': who, 'Set-Cookie': [`who=${who}`, `again=${who}`] })
    // What Koa makes of the field is kept for the handler.
    ctx.accepts()
    await next()
  })
  app.use(async (ctx, next) => {
    try {
      await next()
    } catch (error) {
      story.errors.push((error as Error).message)
      ctx.status = 500
      ctx.body = `sorry: ${(error as Error).message}`
    }
  })
  const compressed = compress({ br: false })
  app.use((ctx, next) => (ctx.path === '/long' ? compressed(ctx, next) : next()))
  app.use(async (ctx, next) => {
    await next()
    ctx.set('X-After', '1')
  })
  app.use(cacheResponses(cache, options))
  const own = cacheResponses(cache, { ttl: '1m' })
  app.use((ctx, next) => (ctx.path === '/own' ? own(ctx, next) : next()))
  app.use((ctx) => {
    if (ctx.method === 'POST') ctx.status = 204
    else return routes[ctx.path]?.(ctx, story.ran(ctx.path))
  })
  return createServer(app.callback())
}

describe('Koa', () => {
  behavesAsAnApp(makeApp)

  test('what is run behind an answer and says nothing is a 404, as ever', async () => {
    let runs = 0
    await using site = await siteOn(async (cache) => {
      const app = new Koa()
      app.use(cacheResponses(cache))
      app.use((ctx) => {
        ctx.set({ 'Cache-Control': runs === 0 ? stale : 'max-age=60', 'X-Run': `${++runs}` })
        // The refresh must not begin with the status of the stale answer.
        if (runs === 1) ctx.body = 'found'
      })
      return createServer(app.callback())
    })
    expect((await site.get()).status).toBe(200)
    await site.filled(1)
    await site.get()
    const fresh = await until('there is a new one', async () => {
      const reply = await site.get()
      return reply.headers['x-run'] === '2' && reply
    })
    expect([fresh.status, fresh.text]).toEqual([404, 'Not Found'])
  })

  test('an app that is mounted has the addresses that its clients ask for', async () => {
    const tagged: string[] = []
    await using site = await siteOn(async (cache) => {
      const app = new Koa()
      app.use(async (ctx, next) => {
        // As koa-mount does it.
        const { path } = ctx
        ctx.path = path.replace(/^\/(one|two)/, '')
        await next()
        ctx.path = path
      })
      app.use(cacheResponses(cache, { ttl: '1m', tags: ({ originalUrl }) => (tagged.push(originalUrl), []) }))
      app.use((ctx) => (ctx.body = ctx.originalUrl))
      return createServer(app.callback())
    })
    for (const path of ['/one/page', '/two/page', '/one/page']) expect((await site.get(path)).text).toBe(path)
    expect(new Set(tagged)).toEqual(new Set(['/one/page', '/two/page']))
  })

  test('nothing is written twice, and no error is told, when it is answered from the cache', async () => {
    const errors: unknown[] = []
    await using site = await siteOn(async (cache) => {
      const app = new Koa()
      app.on('error', (error) => errors.push(error))
      app.use(async (ctx, next) => {
        await next()
        ctx.set('X-Late', '1')
        ctx.body ??= 'what is said after all'
      })
      app.use(cacheResponses(cache, { ttl: '1m' }))
      app.use((ctx) => (ctx.body = 'page'))
      return createServer(app.callback())
    })
    for (let round = 0; round < 3; round++) {
      expect((await site.get()).text).toBe('page')
      await site.filled(1)
    }
    expect(errors).toEqual([])
  })
})

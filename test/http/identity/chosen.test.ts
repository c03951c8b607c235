import { createServer, type Server } from 'node:http'
import middie from '@fastify/middie'
import { createAdaptorServer } from '@hono/node-server'
import express, { type Express, type RequestHandler } from 'express'
import { fastify } from 'fastify'
import { Hono, type Context } from 'hono'
import { validator } from 'hono/validator'
import { expect, test } from 'vitest'
import { cacheResponses as ofExpress } from '../../../src/express/index.ts'
import { cacheResponses as ofFastify } from '../../../src/fastify/index.ts'
import { cacheResponses as ofHono } from '../../../src/hono/index.ts'
import { inExpress } from '../support/identity-frames.ts'
import { Hidden, tellsApart, type MakeApp } from '../support/identity.ts'
import { siteOn, siteWith } from '../support/site.ts'
import { appsOf, nothing, visitors, whoIn } from './given-apps.ts'

/*
 * What earlier middleware has chosen for a visitor, and does not show as a property: the handler, the format, a scope of
 * variables, the parameters.
 */

/** A handler is chosen for one of them. */
const { bob: _, ...adaAndNobody } = visitors

/** Lets known visitors pass. */
function guard(way: 'route' | 'router'): RequestHandler {
  return (req, _res, next) => (whoIn(req) === undefined ? next(way as 'route') : next())
}

type Mount = (app: Express, about: { cached: () => RequestHandler; page: (name?: string) => RequestHandler }) => void

/** An app of Express that has a handler for `ada` and one for everybody else. */
function twoHandlers(mount: Mount): MakeApp {
  return async (cache, options, pageFor) => {
    const app = express()
    const cached = (): RequestHandler => ofExpress(cache, options)
    const page =
      (name?: string): RequestHandler =>
      async (_req, res) =>
        void res.send(await pageFor(name))
    app.get('/same', cached(), page('all'))
    mount(app, { cached, page })
    return createServer(app)
  }
}

/** Two routers or apps, of which the first lets only `ada` pass: each with the name that its page is for. */
function two<Place extends express.Router>(make: () => Place): readonly (readonly [place: Place, name?: string])[] {
  const [guarded, open] = [make(), make()]
  guarded.use(guard('router'))
  return [[guarded, 'ada'], [open]]
}

const routers: Record<string, Mount> = {
  'leaves the router, with a cache on its route': (app, { cached, page }) => {
    const router = express.Router()
    router.use(guard('router'))
    router.get('/', cached(), page('ada'))
    app.use('/who', router, cached(), page())
  },
  'leaves the router, with a cache in it': (app, { cached, page }) => {
    const router = express.Router()
    router.use(guard('router'), cached())
    router.get('/', page('ada'))
    app.use('/who', router, cached(), page())
  },
  'leaves the router for another one, with the same cache in both': (app, { cached, page }) => {
    const one = cached()
    for (const [router, name] of two(express.Router)) app.use('/who', router.use(one).get('/', page(name)))
  },
  'leaves the router for one with the same cache at a pattern': (app, { cached, page }) => {
    const one = cached()
    const routers = two(() => express.Router({ mergeParams: true }))
    for (const [router, name] of routers) app.use('/:any', router.use(one).get('/', page(name)))
  },
  'leaves the app for another one, with a cache on its route': (app, { cached, page }) => {
    for (const [inner, name] of two(express)) app.use(inner.get('/who', cached(), page(name)))
  },
  'leaves the app for another one, with a cache in it': (app, { cached, page }) => {
    for (const [inner, name] of two(express)) app.use('/who', inner.use(cached()).get('/', page(name)))
  },
  'leaves the app for another one, with the same cache in both': (app, { cached, page }) => {
    const one = cached()
    for (const [inner, name] of two(express)) {
      app.use(name === undefined ? '/:any' : ['/who', '/other'], inner.use(one).get('/', page(name)))
    }
  },
  'leaves the app for another one at the same pattern': (app, { cached, page }) => {
    for (const [inner, name] of two(express)) app.use('/:any', inner.get('/', cached(), page(name)))
  },
  'leaves the router for another one in an app at a pattern': (app, { cached, page }) => {
    const [one, inner] = [cached(), express()]
    for (const [router, name] of two(express.Router)) inner.use(router.use(one).get('/', page(name)))
    app.use('/:any', inner)
  },
  'leaves the app in an app for another one': (app, { cached, page }) => {
    const outer = express()
    for (const [inner, name] of two(express)) outer.use('/who', inner.get('/', cached(), page(name)))
    app.use(outer)
  },
  'leaves the route for one with a parameter': (app, { cached, page }) => {
    app.get('/who', guard('route'), cached(), page('ada'))
    app.get('/:any', cached(), page())
  },
  'leaves the route of an app for one of the app around it': (app, { cached, page }) => {
    const inner = express()
    inner.get('/', guard('route'), cached(), page('ada'))
    app.use('/who', inner)
    app.get('/who', cached(), page())
  },
}

tellsApart('a guard before the cache', {
  visitors: adaAndNobody,
  apps: Object.fromEntries(Object.entries(routers).map(([name, mount]) => [`Express: ${name}`, twoHandlers(mount)])),
})

const atTwoPlaces: Record<string, (app: Express, cached: () => RequestHandler, page: RequestHandler) => unknown> = {
  'caches of two apps, one of which has the rest': (app, cached, page) => {
    for (const path of ['/api', '/']) app.use(path, express().use(cached(), page))
  },
  'a cache of two apps': (app, cached, page) => {
    const one = cached()
    for (const path of ['/api', '/shop']) app.use(path, express().use(one, page))
  },
  'caches of two apps in an app': (app, cached, page) => {
    const outer = express()
    for (const path of ['/api', '/shop']) outer.use(path, express().get('/x', cached(), page))
    app.use(outer)
  },
  'caches of the routes of two apps': (app, cached, page) => {
    for (const path of ['/api', '/shop']) app.use(path, express().get('/x', cached(), page))
  },
  'a cache of two routers': (app, cached, page) => {
    const one = cached()
    for (const path of ['/api', '/shop']) app.use(path, express.Router().use(one, page))
  },
  'a cache of an app and of a router in it': (app, cached, page) => {
    const one = cached()
    app.use(one, one, express.Router().use(one, page))
  },
  'a cache of two routers in an app in an app': (app, cached, page) => {
    const one = cached()
    const inner = express()
    for (const path of ['/api', '/shop']) inner.use(path, express.Router().use(one, page))
    app.use(inner)
  },
}

test.each(Object.entries(atTwoPlaces))('%s: at two paths, each stores its pages', async (_name, mount) => {
  await using site = await siteWith((app, cache) => {
    const page: RequestHandler = (req, res) => void res.send(`page at ${req.originalUrl}`)
    mount(app, () => ofExpress(cache, { ttl: '1m' }), page)
  })
  for (const expected of ['stored', 'hit']) {
    for (const path of ['/api/x', '/shop/x']) {
      const { text, cache } = await site.get(path)
      expect([text, cache]).toEqual([`page at ${path}`, expect.stringContaining(expected)])
      await site.stored()
    }
  }
})

test('apps at one path are told from one at another path, which has the same cache and was asked before', async () => {
  await using site = await siteWith((app, cache) => {
    const one = ofExpress(cache, { ttl: '1m' })
    app.use('/other', one, (_req, res) => void res.send('other'))
    for (const name of ['ada', 'all']) {
      const inner = express()
      if (name === 'ada') inner.use(guard('router'))
      app.use(
        '/who',
        inner.use(one, (_req, res) => void res.send(`for ${name}`)),
      )
    }
  })
  expect((await site.get('/other')).cache).toContain('stored')
  expect((await site.get('/who', { 'x-who': 'ada' })).text).toBe('for ada')
  await site.stored()
  expect((await site.get('/who')).text).toBe('for all')
})

test('one cache in two routers at one path stores nothing, and says why', async () => {
  await using site = await siteWith((app, cache) => {
    const one = ofExpress(cache, { ttl: '1m' })
    for (const name of ['ada', 'all']) {
      const router = express.Router()
      if (name === 'ada') router.use(guard('router'))
      router.use(one)
      app.use(router.get('/', (_req, res) => void res.send(`for ${name}`)))
    }
  })
  for (const [who, text] of [
    ['ada', 'for ada'],
    [undefined, 'for all'],
  ] as const) {
    const reply = await site.get('/', who === undefined ? {} : { 'x-who': who })
    expect([reply.text, reply.cache]).toEqual([text, 'herdless; fwd=bypass; detail=changed'])
  }
})

tellsApart('a router of Koa goes by the path that earlier middleware has set', {
  visitors: adaAndNobody,
  apps: appsOf({
    koa: [
      (ctx) => void (whoIn(ctx.req) !== undefined && (ctx['routerPath'] = '/ada')),
      (ctx) => (ctx['routerPath'] === '/ada' ? 'ada' : undefined),
    ],
  }),
})

const types: Record<string, string> = { ada: 'application/json', bob: 'text/csv' }

function typeFor(who: string | undefined): string {
  return types[who ?? ''] ?? 'text/plain'
}

function ownerOf(type: unknown): string | undefined {
  return Object.keys(types).find((name) => String(type).includes(types[name] as string))
}

tellsApart('the format is chosen', {
  visitors,
  shares: false,
  apps: appsOf({
    express: [(req, res) => res.type(typeFor(whoIn(req))), (_req, res) => ownerOf(res.get('Content-Type'))],
    koa: [(ctx) => (ctx.type = typeFor(whoIn(ctx.req))), (ctx) => ownerOf(ctx.response.get('Content-Type'))],
    hono: [
      (c) => c.header('Content-Type', typeFor(c.req.header('x-who'))),
      (c) => ownerOf(c.res.headers.get('content-type')),
    ],
  }),
})

tellsApart('the page has a token that earlier middleware sets as a cookie', {
  visitors: 'strangers',
  shares: false,
  apps: inExpress(
    (app) => {
      let visits = 0
      app.use((_req, res, next) => (res.cookie('csrf', `visit ${++visits}`), next()))
    },
    (_req, res) => /csrf=([^;]+)/.exec(String(res.get('Set-Cookie')))?.[1],
  ),
})

tellsApart('the variables have a scope of their own', {
  visitors,
  shares: false,
  apps: inExpress(
    (app) => {
      app.use((req, { locals }, next) => ((locals['who'] = whoIn(req)), next()))
      app.use((_req, res, next) => ((res.locals = Object.create(res.locals) as typeof res.locals), next()))
    },
    (_req, { locals }) => locals['who'] as string | undefined,
  ),
})

function made(who: string | undefined): Record<string, string> {
  return new Proxy({}, { get: (_, name) => (name === 'who' ? who : undefined) })
}

tellsApart('the variables are made when they are read', {
  visitors,
  shares: false,
  apps: appsOf({
    express: [(req, res) => (res.locals = made(whoIn(req))), (_req, { locals }) => locals['who']],
    koa: [(ctx) => (ctx.state = made(whoIn(ctx.req))), ({ state }) => state['who']],
  }),
})

/** An app in which a handler of the route changes the parameters. */
function changing(
  change: (params: Record<string, unknown>, who: string | undefined) => void,
  who: (params: Record<string, unknown>) => string | undefined,
): MakeApp {
  return async (cache, options, pageFor) => {
    const app = express()
    const changes: RequestHandler = (req, _res, next) => (change(req.params, whoIn(req)), next())
    app.get('/:id', changes, ofExpress(cache, options), async (req, res) => {
      res.send(await pageFor(req.path === '/same' ? 'all' : who(req.params)))
    })
    return createServer(app)
  }
}

tellsApart('a parameter of the path is replaced by an object', {
  visitors,
  shares: false,
  apps: {
    Express: changing(
      (params, who) => (params['owner'] = new Hidden(who)),
      (params) => (params['owner'] as Hidden).who,
    ),
  },
})

tellsApart('a parameter of the path is removed', {
  visitors: adaAndNobody,
  apps: {
    Express: changing(
      (params, who) => void (who === undefined && delete params['id']),
      (params) => (params['id'] === undefined ? undefined : 'ada'),
    ),
  },
})

tellsApart('a field of the response of Hono is read', {
  visitors,
  shares: false,
  apps: appsOf({
    hono: [
      (c) => c.header('x-plan', c.req.header('x-who') ?? 'none'),
      (c) => ['ada', 'bob'].find((name) => c.res.headers.get('X-Plan') === name),
    ],
  }),
})

function withOwner(values: Record<string, unknown>, c: Context): Record<string, unknown> {
  return { ...values, owner: c.req.header('x-who') }
}

/** An app of Hono with a validator that adds the visitor to what it has validated. */
function validating(target: 'query' | 'param'): MakeApp {
  return async (cache, options, pageFor) => {
    const app = new Hono()
    const cached = ofHono(cache, options) as never
    app.get('/:page{who}', validator(target, withOwner as never), cached, async (c) => {
      return c.text(await pageFor((c.req.valid(target as never) as { owner?: string }).owner))
    })
    app.get('/same', validator('query', (query) => query) as never, cached, async (c) => c.text(await pageFor('all')))
    return createAdaptorServer({ fetch: app.fetch }) as Server
  }
}

tellsApart('a validator of Hono adds the visitor', {
  visitors,
  apps: { 'Hono, query': validating('query'), 'Hono, param': validating('param') },
})

test('a hook of Fastify that chooses how the answer is written is heard', async () => {
  for (const visits of [
    ['ada', 'nobody', 'ada'],
    ['nobody', 'ada', 'nobody'],
  ]) {
    await using site = await siteOn(async (cache) => {
      const app = fastify()
      app.addHook('onRequest', async (request, reply) => {
        reply.type('application/json')
        if (whoIn(request) === 'ada') reply.serializer((page: { name: string }) => page.name)
      })
      app.addHook('onRequest', ofFastify(cache, { ttl: '1m' }))
      app.get('/', async () => ({ name: 'a page' }))
      await app.ready()
      return app.server
    })
    for (const who of visits) {
      expect((await site.get('/', { 'x-who': who })).text).toBe(who === 'ada' ? 'a page' : '{"name":"a page"}')
      await site.stored()
    }
  }
})

test('a middleware of Express in Fastify stores nothing, and says why', async () => {
  await using site = await siteOn(async (cache) => {
    const app = fastify()
    app.decorateRequest('who', '')
    app.addHook('onRequest', async (request) => Object.assign(request, { who: whoIn(request) }))
    await app.register(middie)
    app.use(ofExpress(cache))
    app.get('/', async (request) => `page for ${(request as { who?: string }).who}`)
    await app.ready()
    return app.server
  })
  for (const who of ['ada', 'bob']) {
    const { text, cache } = await site.get('/', { 'x-who': who })
    expect([text, cache]).toEqual([`page for ${who}`, 'herdless; fwd=bypass; detail=fastify'])
  }
})

test.each([
  ['accept-language', 'fr;q=0.8,EN-us,en;q=0.9', 'en-US,en;q=0.9,fr;q=0.8'],
  ['accept-encoding', 'gzip;q=0, br', 'br'],
])('%s: a spelling that selects the same variant looks the same to the handler', async (field, odd, usual) => {
  for (const first of [odd, usual]) {
    await using site = await siteWith((app, cache) => {
      app.use(ofExpress(cache, { ttl: '1m' }))
      app.get('/', (req, res) => void res.send(`${req.headers[field]} ${req.rawHeaders.includes(usual)}`))
      app.get('/one', (req, res) => void res.send(`for ${req.headers[field]}`))
    })
    const expected = `for ${usual}`
    expect((await site.get('/one', { [field]: first })).text).toBe(expected)
    await site.stored()
    const { text, cache } = await site.get('/one', { [field]: first === odd ? usual : odd })
    expect([text, cache]).toEqual([expected, expect.stringContaining('hit')])
    expect((await site.get('/', { [field]: odd })).text).toBe(`${usual} true`)
  }
})

const plainByDefault = appsOf({
  express: [(_req, res) => res.type('text/plain'), nothing],
  koa: [(ctx) => (ctx.type = 'text/plain'), nothing],
  fastify: [(_request, reply) => reply.type('text/plain'), nothing],
})

test.each(Object.entries(plainByDefault))('%s: a refresh keeps the format that was chosen before', async (_, make) => {
  let version = 0
  await using site = await siteOn((cache) => make(cache, { ttl: 1, grace: '1m' }, async () => `<b>${++version}</b>`))
  await site.get('/who')
  await expect.poll(async () => (await site.get('/who')).text).not.toBe('<b>1</b>')
  const { text, headers, cache } = await site.get('/who')
  expect([text, headers['content-type'], cache]).toEqual([
    expect.stringMatching(/^<b>\d+<.b>$/),
    expect.stringMatching(/^text\/plain/),
    expect.stringContaining('hit'),
  ])
})

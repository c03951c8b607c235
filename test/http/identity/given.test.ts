import { createServer, type IncomingMessage } from 'node:http'
import express from 'express'
import { fastify } from 'fastify'
import { validator } from 'hono/validator'
import { cacheResponses as ofExpress } from '../../../src/express/index.ts'
import { cacheResponses as ofFastify } from '../../../src/fastify/index.ts'
import { inExpress, inFastify, inHono, inKoa } from '../support/identity-frames.ts'
import { Hidden, tellsApart, type MakeApp, type Visitors } from '../support/identity.ts'

/*
 * Places in which earlier middleware leaves a visitor besides a property of its own: values that the framework made of
 * the address, the head of the response, the choice between two handlers.
 */

const visitors: Visitors = {
  ada: { headers: { 'x-who': 'ada' } },
  bob: { headers: { 'x-who': 'bob' } },
  nobody: {},
}

function whoIn({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined {
  return headers['x-who']?.toString()
}

/** Sets the owner in the values that a framework has made of the address, if there is one. */
function setOwner(values: unknown, owner: string | undefined): void {
  if (owner !== undefined) (values as { owner?: string }).owner = owner
}

function ownerIn(values: unknown): string | undefined {
  return (values as { owner?: string }).owner
}

tellsApart('the query is changed', {
  visitors,
  apps: {
    ...inExpress(
      (app) =>
        void app.use((req, _res, next) => {
          // Express 5 makes it anew for each read.
          const value = { ...req.query }
          setOwner(value, whoIn(req))
          Object.defineProperty(req, 'query', { configurable: true, enumerable: true, writable: true, value })
          next()
        }),
      (req) => ownerIn(req.query),
    ),
    ...inKoa(
      (app) => void app.use((ctx, next) => (setOwner(ctx.query, whoIn(ctx.req)), next())),
      (ctx) => ownerIn(ctx.query),
    ),
    ...inFastify(
      (app) => void app.addHook('onRequest', async ({ query, raw }) => setOwner(query, whoIn(raw))),
      ({ query }) => ownerIn(query),
    ),
  },
})

/** An app of Express with handlers before the cache, on its route. */
const onRoute: MakeApp = async (cache, options, pageFor) => {
  const app = express()
  const setParams: express.RequestHandler = (req, _res, next) => (setOwner(req.params, whoIn(req)), next())
  app.get('/who', setParams, ofExpress(cache, options), async (req, res) => {
    res.send(await pageFor(ownerIn(req.params)))
  })
  app.get('/same', ofExpress(cache, options), async (_req, res) => void res.send(await pageFor('all')))
  return createServer(app)
}

const onRouteOfFastify: MakeApp = async (cache, options, pageFor) => {
  const app = fastify()
  const onRequest = ofFastify(cache, options)
  app.addHook('onRequest', async ({ params, raw }) => setOwner(params, whoIn(raw)))
  app.get('/who', { onRequest }, async ({ params }) => await pageFor(ownerIn(params)))
  app.get('/same', { onRequest }, async () => await pageFor('all'))
  await app.ready()
  return app.server
}

tellsApart('the parameters of the path are changed', {
  visitors,
  apps: { Express: onRoute, Fastify: onRouteOfFastify },
})

/** An app in which a handler before the cache leaves the route for one visitor. */
function twoRoutes(isShared: boolean): MakeApp {
  return async (cache, options, pageFor) => {
    const app = express()
    const shared = ofExpress(cache, options)
    const middleware = (): express.RequestHandler => (isShared ? shared : ofExpress(cache, options))
    for (const name of ['ada', 'bob']) {
      const isFor: express.RequestHandler = (req, _res, next) => (whoIn(req) === name ? next() : next('route'))
      app.get('/who', isFor, middleware(), async (_req, res) => void res.send(await pageFor(name)))
    }
    app.get('/who', middleware(), async (_req, res) => void res.send(await pageFor(undefined)))
    app.get('/same', middleware(), async (_req, res) => void res.send(await pageFor('all')))
    return createServer(app)
  }
}

tellsApart('one of two routes of a path is chosen', {
  visitors,
  apps: { Express: twoRoutes(false), 'Express, one middleware': twoRoutes(true) },
})

tellsApart('a line of the response is read', {
  visitors: { ...visitors, nobody: { headers: { 'x-who': 'nobody' } } },
  shares: false,
  apps: {
    ...inExpress(
      (app) => void app.use((req, res, next) => (res.set('X-Who', whoIn(req)), next())),
      (_req, res) => named(res.get('X-Who')),
    ),
    ...inKoa(
      (app) => void app.use((ctx, next) => (ctx.set('X-Who', whoIn(ctx.req) ?? ''), next())),
      (ctx) => named(ctx.response.get('X-Who')),
    ),
  },
})

function named(name: string | undefined): string | undefined {
  return name === 'nobody' ? undefined : name
}

for (const name of ['id', 'log', 'secret', 'params', 'matched']) {
  tellsApart(`a variable of the application is named ${name}`, {
    visitors,
    apps: {
      ...inExpress(
        (app) => void app.use((req, { locals }, next) => ((locals[name] = { name: whoIn(req) }), next())),
        (_req, { locals }) => (locals[name] as { name?: string }).name,
      ),
      ...inKoa(
        (app) => void app.use((ctx, next) => ((ctx.state[name] = { name: whoIn(ctx.req) }), next())),
        (ctx) => (ctx.state[name] as { name?: string }).name,
      ),
    },
  })
}

const key = Symbol('who')

tellsApart('a symbol is set, only for a known visitor', {
  visitors,
  apps: {
    ...inExpress(
      (app) =>
        void app.use((req, _res, next) => {
          if (whoIn(req) !== undefined) Object.assign(req, { [key]: whoIn(req) })
          next()
        }),
      (req) => (req as { [key]?: string })[key],
    ),
    ...inKoa(
      (app) =>
        void app.use((ctx, next) => {
          if (whoIn(ctx.req) !== undefined) Object.assign(ctx.state, { [key]: whoIn(ctx.req) })
          return next()
        }),
      (ctx) => (ctx.state as { [key]?: string })[key],
    ),
  },
})

tellsApart('a property of the response is set, only for a known visitor', {
  visitors,
  apps: {
    ...inExpress(
      (app) =>
        void app.use((req, res, next) => {
          if (whoIn(req) !== undefined) Object.assign(res, { who: whoIn(req) })
          next()
        }),
      (_req, res) => (res as { who?: string }).who,
    ),
    ...inKoa(
      (app) =>
        void app.use((ctx, next) => {
          if (whoIn(ctx.req) !== undefined) Object.assign(ctx.response, { who: whoIn(ctx.req) })
          return next()
        }),
      (ctx) => (ctx.response as { who?: string }).who,
    ),
  },
})

tellsApart('a proxy finds out when it is asked', {
  visitors,
  apps: inExpress(
    (app) =>
      void app.use((req, _res, next) => {
        const who = whoIn(req)
        Object.assign(req, { auth: new Proxy({}, { get: () => who }) })
        next()
      }),
    (req) => (req as unknown as { auth: { name?: string } }).auth.name,
  ),
})

tellsApart('an object of a class is in the place of the variables', {
  visitors,
  shares: false,
  apps: {
    ...inExpress(
      (app) => void app.use((req, res, next) => (Object.assign(res, { locals: new Hidden(whoIn(req)) }), next())),
      (_req, res) => (res.locals as Hidden).who,
    ),
    ...inKoa(
      (app) => void app.use((ctx, next) => ((ctx.state = new Hidden(whoIn(ctx.req)) as typeof ctx.state), next())),
      (ctx) => (ctx.state as unknown as Hidden).who,
    ),
  },
})

tellsApart('req.client is a client of the application', {
  visitors,
  shares: false,
  apps: inExpress(
    (app) => void app.use((req, _res, next) => (Object.assign(req, { client: { name: whoIn(req) } }), next())),
    (req) => (req as unknown as { client: { name?: string } }).client.name,
  ),
})

tellsApart('Koa has made the URL before', {
  visitors: {
    ada: { headers: { 'x-forwarded-host': 'ada' } },
    bob: { headers: { 'x-forwarded-host': 'bob' } },
    nobody: {},
  },
  apps: inKoa(
    (app) => {
      app.proxy = true
      app.use((ctx, next) => (void ctx.URL, next()))
    },
    (ctx) => (['ada', 'bob'].includes(ctx.URL.host) ? ctx.URL.host : undefined),
  ),
})

tellsApart('a validator of Hono has read the fields before', {
  visitors,
  apps: inHono(
    (app) =>
      app.use(
        '/who',
        validator('header', (fields) => fields),
      ),
    (c) => (c.req.valid('header' as never) as Record<string, string>)['x-who'],
  ),
})

tellsApart('a middleware of Hono puts a request with a field of its own in the place', {
  visitors,
  shares: false,
  apps: inHono(
    (app) =>
      app.use(async (c, next) => {
        const headers = new Headers(c.req.raw.headers)
        headers.set('x-name', c.req.header('x-who') ?? 'nobody')
        c.req.raw = new Request(c.req.raw, { headers })
        await next()
      }),
    (c) => named(c.req.header('x-name')),
  ),
})

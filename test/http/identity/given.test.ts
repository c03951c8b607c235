import { createServer } from 'node:http'
import express from 'express'
import { fastify } from 'fastify'
import { validator } from 'hono/validator'
import { cacheResponses as ofExpress } from '../../../src/express/index.ts'
import { cacheResponses as ofFastify } from '../../../src/fastify/index.ts'
import { inHono, inKoa } from '../support/identity-frames.ts'
import { Hidden, tellsApart, type MakeApp } from '../support/identity.ts'
import { appsOf, visitors, whoIn } from './given-apps.ts'

/*
 * Places in which earlier middleware leaves a visitor besides a property of its own: values that the framework made of
 * the address, the head of the response, the choice between two handlers.
 */

/** Sets the owner in the values that a framework has made of the address, if there is one. */
function setOwner(values: unknown, owner: string | undefined): void {
  if (owner !== undefined) (values as { owner?: string }).owner = owner
}

function ownerIn(values: unknown): string | undefined {
  return (values as { owner?: string }).owner
}

/** Express 5 makes the query anew for each read. */
function replaceQuery(req: express.Request): void {
  const value = { ...req.query }
  setOwner(value, whoIn(req))
  Object.defineProperty(req, 'query', { configurable: true, enumerable: true, writable: true, value })
}

tellsApart('the query is changed', {
  visitors,
  apps: appsOf({
    express: [replaceQuery, ({ query }) => ownerIn(query)],
    koa: [({ query, req }) => setOwner(query, whoIn(req)), ({ query }) => ownerIn(query)],
    fastify: [({ query, raw }) => setOwner(query, whoIn(raw)), ({ query }) => ownerIn(query)],
  }),
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
  apps: appsOf({
    express: [(req, res) => res.set('X-Who', whoIn(req)), (_req, res) => named(res.get('X-Who'))],
    koa: [(ctx) => ctx.set('X-Who', whoIn(ctx.req) ?? ''), (ctx) => named(ctx.response.get('X-Who'))],
  }),
})

function named(name: string | undefined): string | undefined {
  return name === 'nobody' ? undefined : name
}

for (const name of ['id', 'log', 'secret', 'params', 'matched']) {
  tellsApart(`a variable of the application is named ${name}`, {
    visitors,
    apps: appsOf({
      express: [(req, { locals }) => (locals[name] = { name: whoIn(req) }), (_req, { locals }) => locals[name].name],
      koa: [({ state, req }) => (state[name] = { name: whoIn(req) }), ({ state }) => state[name].name],
    }),
  })
}

const key = Symbol('who')

/** Sets a property of an object, only for a known visitor. */
function setIfKnown(object: object, name: string | symbol, who: string | undefined): void {
  if (who !== undefined) Object.assign(object, { [name]: who })
}

function valueIn(object: object, name: string | symbol): string | undefined {
  return Reflect.get(object, name) as string | undefined
}

tellsApart('a symbol is set, only for a known visitor', {
  visitors,
  apps: appsOf({
    express: [(req) => setIfKnown(req, key, whoIn(req)), (req) => valueIn(req, key)],
    koa: [({ state, req }) => setIfKnown(state, key, whoIn(req)), ({ state }) => valueIn(state, key)],
  }),
})

tellsApart('a property of the response is set, only for a known visitor', {
  visitors,
  apps: appsOf({
    express: [(req, res) => setIfKnown(res, 'who', whoIn(req)), (_req, res) => valueIn(res, 'who')],
    koa: [({ response, req }) => setIfKnown(response, 'who', whoIn(req)), ({ response }) => valueIn(response, 'who')],
  }),
})

/** A property with a name. */
function nameIn(req: object, property: 'auth' | 'client'): string | undefined {
  return (Reflect.get(req, property) as { name?: string }).name
}

tellsApart('a proxy finds out when it is asked', {
  visitors,
  apps: appsOf({
    express: [
      (req) => {
        const who = whoIn(req)
        Object.assign(req, { auth: new Proxy({}, { get: () => who }) })
      },
      (req) => nameIn(req, 'auth'),
    ],
  }),
})

tellsApart('an object of a class is in the place of the variables', {
  visitors,
  shares: false,
  apps: appsOf({
    express: [
      (req, res) => Object.assign(res, { locals: new Hidden(whoIn(req)) }),
      (_req, { locals }) => (locals as Hidden).who,
    ],
    koa: [
      (ctx) => Object.assign(ctx, { state: new Hidden(whoIn(ctx.req)) }),
      ({ state }) => (state as unknown as Hidden).who,
    ],
  }),
})

tellsApart('req.client is a client of the application', {
  visitors,
  shares: false,
  apps: appsOf({
    express: [(req) => Object.assign(req, { client: { name: whoIn(req) } }), (req) => nameIn(req, 'client')],
  }),
})

tellsApart('Koa has made the URL before', {
  visitors: {
    // The key tells hosts apart in any case.
    ada: { headers: { 'x-forwarded-proto': 'ada' } },
    bob: { headers: { 'x-forwarded-proto': 'bob' } },
    nobody: {},
  },
  apps: inKoa(
    (app) => {
      app.proxy = true
      app.use((ctx, next) => (void ctx.URL, next()))
    },
    (ctx) => /^(ada|bob):/.exec(ctx.URL.href)?.[1],
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
  apps: appsOf({
    hono: [
      (c) => {
        const headers = new Headers(c.req.raw.headers)
        headers.set('x-name', c.req.header('x-who') ?? 'nobody')
        c.req.raw = new Request(c.req.raw, { headers })
      },
      (c) => named(c.req.header('x-name')),
    ],
  }),
})

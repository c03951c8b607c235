import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { createAdaptorServer, type HttpBindings } from '@hono/node-server'
import express, { type Express, type Request, type Response } from 'express'
import { fastify, type FastifyInstance, type FastifyRequest } from 'fastify'
import { Hono, type Context } from 'hono'
import Koa, { type Context as KoaContext } from 'koa'
import { cacheResponses as ofExpress } from '../../../src/express/index.ts'
import { cacheResponses as ofFastify } from '../../../src/fastify/index.ts'
import { cacheResponses as ofHono } from '../../../src/hono/index.ts'
import { cacheResponses as ofKoa } from '../../../src/koa/index.ts'
import type { MakeApp } from './identity.ts'

declare global {
  namespace Express {
    interface User {
      name: string
    }
  }
}

type Apps = Readonly<Record<string, MakeApp>>
type Name = string | undefined

type Make = (...args: Parameters<MakeApp>) => Promise<Server>

/** An app with the function by which the option `user` names its visitors. */
function naming<Asker>(user: (asker: Asker) => Name, make: Make): MakeApp {
  return Object.assign(make, { user: user as MakeApp['user'] })
}

/** Makes the server of an app, for TLS. */
export type ServerOf = (listener: RequestListener) => Server

/** @param before mounts a library before the cache @param who reads the name of a visitor, in the handler */
export function inExpress(
  before: (app: Express) => unknown,
  who: (req: Request, res: Response) => Name,
  serverOf: ServerOf = createServer,
): Apps {
  return {
    Express: naming(
      (req: Request) => who(req, req.res as Response),
      async (cache, options, pageFor) => {
        const app = express()
        app.set('env', 'test')
        await before(app)
        app.use(ofExpress(cache, options))
        app.get('/who', async (req, res) => void res.send(await pageFor(who(req, res))))
        app.get('/same', async (_req, res) => void res.send(await pageFor('all')))
        return serverOf(app)
      },
    ),
  }
}

export function inKoa(
  before: (app: Koa) => unknown,
  who: (ctx: KoaContext) => Name,
  serverOf: ServerOf = createServer,
): Apps {
  return {
    Koa: naming(who, async (cache, options, pageFor) => {
      const app = new Koa()
      app.silent = true
      before(app)
      app.use(ofKoa(cache, options))
      app.use(async (ctx) => {
        if (ctx.path === '/who') ctx.body = await pageFor(who(ctx))
        else if (ctx.path === '/same') ctx.body = await pageFor('all')
      })
      return serverOf(app.callback())
    }),
  }
}

export function inFastify(
  before: (app: FastifyInstance) => unknown,
  who: (request: FastifyRequest) => Name,
  options: { serverFactory?: ServerOf; rewriteUrl?: (request: IncomingMessage) => string; trustProxy?: string } = {},
): Apps {
  return {
    Fastify: naming(who, async (cache, cached, pageFor) => {
      const app = fastify(options)
      await before(app)
      app.addHook('onRequest', ofFastify(cache, cached))
      app.get('/who', async (request) => await pageFor(who(request)))
      app.get('/same', async () => await pageFor('all'))
      await app.ready()
      return app.server
    }),
  }
}

/** An app of Hono with one variable of its context. */
export type HonoApp = Hono<{ Bindings: HttpBindings; Variables: { name: Name } }>
export type HonoContext = Context<{ Bindings: HttpBindings; Variables: { name: Name } }>

export function inHono(
  before: (app: HonoApp) => unknown,
  who: (c: HonoContext) => Name,
  options: { getPath?: (request: globalThis.Request) => string; route?: string; serverOf?: ServerOf } = {},
): Apps {
  const { getPath, route = '/who', serverOf } = options
  return {
    Hono: naming(who, async (cache, cached, pageFor) => {
      const app: HonoApp = new Hono(getPath === undefined ? {} : { getPath })
      before(app)
      app.use(ofHono(cache, cached))
      app.get(route, async (c) => c.text(await pageFor(who(c))))
      app.get('/same', async (c) => c.text(await pageFor('all')))
      const server =
        serverOf === undefined
          ? {}
          : { createServer: (_options: unknown, listener: unknown) => serverOf(listener as RequestListener) }
      return createAdaptorServer({ fetch: app.fetch, ...(server as object) }) as Server
    }),
  }
}

/** @param before identifies the visitor, on the request */
export function inNode(before: (request: IncomingMessage) => unknown, who: (request: IncomingMessage) => Name): Apps {
  return {
    'node:http': naming(who, async (cache, options, pageFor) => {
      const middleware = ofExpress(cache, options)
      return createServer((request, response) => {
        before(request)
        middleware(request, response, async () => {
          const isSame = request.url?.startsWith('/same') === true
          response.end(await pageFor(isSame ? 'all' : who(request)))
        })
      })
    }),
  }
}

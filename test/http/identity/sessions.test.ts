import { randomUUID } from 'node:crypto'
import fastifyCookie from '@fastify/cookie'
import fastifySession from '@fastify/session'
import cookieParser from 'cookie-parser'
import csurf from 'csurf'
import session from 'express-session'
import type { FastifyInstance } from 'fastify'
import koaSession from 'koa-session'
import { inExpress, inFastify, inKoa } from '../support/identity-frames.ts'
import { tellsApart } from '../support/identity.ts'
import { loginOf, signedIn, withCookies } from '../support/signed-in.ts'

declare module 'express-session' {
  interface SessionData {
    name: string
    token: string
  }
}

declare module 'fastify' {
  interface Session {
    name: string
    token: string
  }
}

const secret = 'a secret that is long enough for everybody'

/** The options in the README of express-session, without sessions for strangers. */
const ofExpress = { secret, resave: false, saveUninitialized: false }

async function registerSession(app: FastifyInstance, more: object = {}): Promise<void> {
  await app.register(fastifyCookie)
  await app.register(fastifySession, { secret, cookie: { secure: false }, saveUninitialized: false, ...more })
}

tellsApart('a session', {
  visitors: signedIn,
  options: withCookies,
  ofUsers: { cookies: 'show' },
  apps: {
    ...inExpress(
      (app) => {
        app.use(session(ofExpress))
        app.get('/login/:name', (req, res) => {
          req.session.name = req.params.name
          res.sendStatus(204)
        })
      },
      (req) => req.session.name,
    ),
    ...inKoa(
      (app) => {
        app.keys = [secret]
        app.use(koaSession(app))
        app.use(async (ctx, next) => {
          const name = loginOf(ctx.path)
          if (name === undefined) return await next()
          if (ctx.session !== null) ctx.session['name'] = name
          ctx.status = 204
        })
      },
      (ctx) => ctx.session?.['name'],
    ),
  },
})

for (const [title, more, ofUsers] of [
  ['a session', {}, {}],
  // Otherwise each answer sets the cookie anew, and none is stored.
  ['a session that does not roll', { rolling: false }, { ofUsers: { cookies: 'show' } }],
] as const) {
  tellsApart(title, {
    visitors: signedIn,
    options: withCookies,
    ...ofUsers,
    apps: inFastify(
      async (app) => {
        await registerSession(app, more)
        app.get<{ Params: { name: string } }>('/login/:name', async (request, reply) => {
          request.session.name = request.params.name
          return await reply.code(204).send()
        })
      },
      ({ session: { name } }) => name,
    ),
  })
}

// A stranger has no cookie yet, so requests of strangers are all alike.
tellsApart('a token in the session of a first visit', {
  visitors: 'strangers',
  apps: {
    ...inExpress(
      (app) => {
        app.use(session(ofExpress))
        app.use((req, _res, next) => ((req.session.token ??= randomUUID()), next()))
      },
      (req) => req.session.token,
    ),
    ...inKoa(
      (app) => {
        app.keys = [secret]
        app.use(koaSession(app))
        app.use((ctx, next) => {
          if (ctx.session !== null) ctx.session['token'] ??= randomUUID()
          return next()
        })
      },
      (ctx) => ctx.session?.['token'],
    ),
    ...inFastify(
      async (app) => {
        await registerSession(app)
        app.addHook('onRequest', async (request) => void (request.session.token ??= randomUUID()))
      },
      ({ session: { token } }) => token,
    ),
  },
  shares: false,
})

tellsApart('the id of the session of a first visit', {
  visitors: 'strangers',
  apps: {
    ...inExpress(
      (app) => void app.use(session({ ...ofExpress, saveUninitialized: true })),
      (req) => req.sessionID,
    ),
    ...inFastify(registerSession, ({ session: { sessionId } }) => sessionId),
  },
  shares: false,
})

tellsApart('a token of csurf at a first visit, with a session', {
  visitors: 'strangers',
  apps: inExpress(
    (app) => {
      app.use(session(ofExpress))
      app.use(csurf())
    },
    (req) => req.csrfToken(),
  ),
  // It makes a session for each visitor, whose cookie is set with the head.
  shares: false,
})

tellsApart('a token of csurf at a first visit, with a cookie', {
  visitors: 'strangers',
  apps: inExpress(
    (app) => {
      app.use(cookieParser())
      app.use(csurf({ cookie: true }))
    },
    (req) => req.csrfToken(),
  ),
})

tellsApart('a token of csurf in res.locals at a first visit', {
  visitors: 'strangers',
  apps: inExpress(
    (app) => {
      app.use(session(ofExpress))
      app.use(csurf())
      app.use((req, res, next) => ((res.locals['csrfToken'] = req.csrfToken()), next()))
    },
    (_req, res) => res.locals['csrfToken'],
  ),
  shares: false,
})

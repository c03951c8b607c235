import fastifyCookie from '@fastify/cookie'
import cookieParser from 'cookie-parser'
import { getCookie } from 'hono/cookie'
import { inExpress, inFastify } from '../support/identity-frames.ts'
import { tellsApart, type Visitors } from '../support/identity.ts'
import { signedIn, withCookies } from '../support/signed-in.ts'
import { appsOf } from './given-apps.ts'

const visitors: Visitors = {
  ada: { headers: { cookie: 'name=ada' } },
  bob: { headers: { cookie: 'name=bob' } },
  nobody: {},
}

tellsApart('cookies, parsed before the cache', {
  visitors,
  options: withCookies,
  apps: {
    ...inExpress(
      (app) => void app.use(cookieParser()),
      (req) => (req.cookies as Record<string, string | undefined>)['name'],
    ),
    ...appsOf({
      koa: [({ state, cookies }) => (state['name'] = cookies.get('name')), ({ state }) => state['name']],
      hono: [(c) => c.set('name', getCookie(c, 'name')), (c) => c.get('name')],
    }),
    ...inFastify(
      async (app) => await app.register(fastifyCookie),
      ({ cookies }) => cookies['name'],
    ),
  },
})

tellsApart('signed cookies, parsed before the cache', {
  visitors: signedIn,
  options: withCookies,
  apps: inExpress(
    (app) => {
      app.use(cookieParser('a secret'))
      app.get('/login/:name', (req, res) => void res.cookie('name', req.params.name, { signed: true }).sendStatus(204))
    },
    (req) => (req.signedCookies as Record<string, string | undefined>)['name'],
  ),
})

import type { Express } from 'express'
import session from 'express-session'
import { Passport, type PassportStatic } from 'passport'
import { HeaderAPIKeyStrategy } from 'passport-headerapikey'
import { Strategy as BearerStrategy } from 'passport-http-bearer'
import { inExpress } from '../support/identity-frames.ts'
import { tellsApart } from '../support/identity.ts'
import { signedIn, withCookies } from '../support/signed-in.ts'

const holders: Readonly<Record<string, string>> = { 'token-of-ada': 'ada', 'token-of-bob': 'bob' }

/** A passport for one app. */
function passport(): PassportStatic {
  return new Passport() as PassportStatic
}

function userOf(token: string): Express.User | false {
  const name = holders[token]
  return name === undefined ? false : { name }
}

tellsApart('passport with a session', {
  visitors: signedIn,
  options: withCookies,
  ofUsers: { cookies: 'show' },
  apps: inExpress(
    (app) => {
      const own = passport()
      own.serializeUser((user, done) => done(null, user.name))
      own.deserializeUser((name: string, done) => done(null, { name }))
      app.use(session({ secret: 'keyboard cat', resave: false, saveUninitialized: false }))
      app.use(own.initialize())
      app.use(own.session())
      app.get('/login/:name', (req, res, next) => {
        req.login({ name: req.params.name }, (error) => (error === undefined ? res.sendStatus(204) : next(error)))
      })
    },
    (req) => req.user?.name,
  ),
})

tellsApart('passport with a bearer token', {
  visitors: {
    ada: { headers: { authorization: 'Bearer token-of-ada' } },
    bob: { headers: { authorization: 'Bearer token-of-bob' } },
    nobody: {},
  },
  shares: false,
  ofUsers: { authorization: 'share' },
  apps: inExpress(
    (app) => {
      const own = passport()
      own.use(new BearerStrategy((token, done) => done(null, userOf(token))))
      app.use(own.authenticate('bearer', { session: false }))
    },
    (req) => req.user?.name,
  ),
})

function withApiKey(app: Express): void {
  const own = passport()
  const strategy = new HeaderAPIKeyStrategy({ header: 'X-API-Key', prefix: '' }, false, (key, done) =>
    done(null, userOf(key) || undefined),
  )
  own.use(strategy)
  app.use(own.authenticate('headerapikey', { session: false }))
}

tellsApart('passport with an API key', {
  visitors: {
    nobody: {},
    ada: { headers: { 'x-api-key': 'token-of-ada' } },
    bob: { headers: { 'x-api-key': 'token-of-bob' } },
  },
  ofUsers: {},
  apps: inExpress(withApiKey, (req) => req.user?.name),
})

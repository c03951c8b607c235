import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { contextStorage, getContext } from 'hono/context-storage'
import { inFastify, inHono } from '../support/identity-frames.ts'
import { tellsApart, type MakeApp, type Visitors } from '../support/identity.ts'
import { appsOf, incoming } from './given-apps.ts'

declare module 'fastify' {
  interface FastifyRequest {
    who: string | null
    seen: FastifyRequest['headers'] | null
  }
}

const keys: Readonly<Record<string, string>> = { 'key-of-ada': 'ada', 'key-of-bob': 'bob' }

const withKeys: Visitors = {
  ada: { headers: { 'x-api-key': 'key-of-ada' } },
  bob: { headers: { 'x-api-key': 'key-of-bob' } },
  nobody: {},
}

const behindProxy: Visitors = {
  ada: { headers: { 'x-forwarded-user': 'ada' } },
  bob: { headers: { 'x-forwarded-user': 'bob' } },
  nobody: {},
}

type Known = IncomingMessage & { user?: { name: string } | undefined; kept?: IncomingMessage['headers'] }

/** The owner of the key in a request. */
function holder({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined {
  return keys[String(headers['x-api-key'])]
}

/** The user that an authenticating proxy names. */
function forwarded({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined {
  return headers['x-forwarded-user']?.toString()
}

function userOf(request: IncomingMessage): string | undefined {
  return (request as Known).user?.name
}

/** An app of Fastify with a property of each request that a hook sets. */
function decorated<Name extends 'who' | 'seen'>(
  name: Name,
  valueOf: (request: FastifyRequest) => FastifyRequest[Name],
  who: (request: FastifyRequest) => string | undefined,
): Record<string, MakeApp> {
  const before = (app: FastifyInstance): void => {
    app.decorateRequest(name, null as never)
    app.addHook('onRequest', async (request) => void (request[name] = valueOf(request)))
  }
  return inFastify(before, who)
}

for (const [thing, visitors, nameOf] of [
  ['an API key', withKeys, holder],
  ['the user that a proxy names', behindProxy, forwarded],
] as const) {
  const setUser = (request: Known): void => {
    const name = nameOf(request)
    request.user = name === undefined ? undefined : { name }
  }
  const setUserIfAny = (request: Known): void => {
    const name = nameOf(request)
    if (name !== undefined) request.user = { name }
  }

  tellsApart(`${thing} makes req.user`, {
    visitors,
    apps: appsOf({
      express: [setUser, userOf],
      koa: [({ req }) => setUser(req), ({ req }) => userOf(req)],
      fastify: [({ raw }) => setUser(raw), ({ raw }) => userOf(raw)],
      hono: [(c) => setUser(incoming(c)), (c) => userOf(incoming(c))],
      node: [setUser, userOf],
    }),
  })

  tellsApart(`${thing} makes req.user, only for a known user`, {
    visitors,
    apps: appsOf({ express: [setUserIfAny, userOf], node: [setUserIfAny, userOf] }),
  })

  tellsApart(`${thing} makes a local of the framework`, {
    visitors,
    apps: {
      ...appsOf({
        express: [(req, { locals }) => (locals['name'] = nameOf(req)), (_req, { locals }) => locals['name']],
        koa: [({ req, state }) => (state['name'] = nameOf(req)), ({ state }) => state['name']],
        hono: [(c) => c.set('name', nameOf(incoming(c))), (c) => c.get('name')],
      }),
      ...decorated(
        'who',
        ({ raw }) => nameOf(raw) ?? null,
        ({ who }) => who ?? undefined,
      ),
    },
  })
}

tellsApart('a property of the context', {
  visitors: withKeys,
  apps: appsOf({
    koa: [(ctx) => (ctx['name'] = holder(ctx.req)), (ctx) => ctx['name']],
    hono: [(c) => c.set('name', holder(incoming(c))), (c) => c.var.name],
  }),
})

tellsApart('contextStorage', {
  visitors: withKeys,
  apps: inHono(
    (app) => {
      app.use(contextStorage())
      app.use((c, next) => (c.set('name', holder(incoming(c))), next()))
    },
    () => getContext<{ Variables: { name: string | undefined } }>().var.name,
  ),
})

tellsApart('the request fields, kept before the cache', {
  visitors: withKeys,
  apps: {
    ...appsOf({
      express: [(req: Known) => (req.kept = req.headers), ({ kept }: Known) => keys[String(kept?.['x-api-key'])]],
      koa: [({ state, headers }) => (state['kept'] = headers), ({ state }) => holder({ headers: state['kept'] })],
      hono: [(c) => c.set('name', c.req.header('x-api-key')), (c) => keys[c.get('name') ?? '']],
    }),
    ...decorated(
      'seen',
      ({ headers }) => headers,
      ({ seen }) => keys[String(seen?.['x-api-key'])],
    ),
  },
})

/** The fields of each request, where no property of it leads. */
const kept = new WeakMap<object, IncomingMessage['headers']>()

function keep(request: IncomingMessage): void {
  kept.set(request, request.headers)
}

function holderIn(request: IncomingMessage): string | undefined {
  return keys[String(kept.get(request)?.['x-api-key'])]
}

tellsApart('the request fields, kept elsewhere before the cache', {
  visitors: withKeys,
  apps: appsOf({
    express: [keep, holderIn],
    koa: [({ req }) => keep(req), ({ req }) => holderIn(req)],
    fastify: [({ raw }) => keep(raw), ({ raw }) => holderIn(raw)],
    hono: [(c) => keep(incoming(c)), (c) => holderIn(incoming(c))],
    node: [keep, holderIn],
  }),
})

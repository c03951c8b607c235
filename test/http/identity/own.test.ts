import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { contextStorage, getContext } from 'hono/context-storage'
import { inExpress, inFastify, inHono, inKoa, inNode, type HonoContext } from '../support/identity-frames.ts'
import { tellsApart, type Visitors } from '../support/identity.ts'

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

for (const [thing, visitors, nameOf] of [
  ['an API key', withKeys, holder],
  ['the user that a proxy names', behindProxy, forwarded],
] as const) {
  tellsApart(`${thing} makes req.user`, {
    visitors,
    apps: {
      ...inExpress(
        (app) => void app.use((req, _res, next) => (setUser(req, nameOf(req)), next())),
        (req) => req.user?.name,
      ),
      ...inKoa(
        (app) => void app.use((ctx, next) => (setUser(ctx.req, nameOf(ctx.req)), next())),
        (ctx) => (ctx.req as Known).user?.name,
      ),
      ...inFastify(
        (app) => void app.addHook('onRequest', async ({ raw }) => setUser(raw, nameOf(raw))),
        ({ raw }) => (raw as Known).user?.name,
      ),
      ...inHono(
        (app) =>
          app.use(
            async ({ env: { incoming } }, next) => (
              setUser(incoming as Known, nameOf(incoming as Known)),
              await next()
            ),
          ),
        (c) => (c.env.incoming as Known).user?.name,
      ),
      ...inNode(
        (request) => setUser(request, nameOf(request)),
        (request) => (request as Known).user?.name,
      ),
    },
  })

  tellsApart(`${thing} makes req.user, only for a known user`, {
    visitors,
    apps: {
      ...inExpress(
        (app) => void app.use((req, _res, next) => (setUserIfAny(req, nameOf(req)), next())),
        (req) => req.user?.name,
      ),
      ...inNode(
        (request) => setUserIfAny(request, nameOf(request)),
        (request) => (request as Known).user?.name,
      ),
    },
  })

  tellsApart(`${thing} makes a local of the framework`, {
    visitors,
    apps: {
      ...inExpress(
        (app) => void app.use((req, res, next) => ((res.locals['name'] = nameOf(req)), next())),
        (_req, res) => res.locals['name'],
      ),
      ...inKoa(
        (app) => void app.use((ctx, next) => ((ctx.state['name'] = nameOf(ctx.req)), next())),
        (ctx) => ctx.state['name'],
      ),
      ...inFastify(
        (app) => {
          app.decorateRequest('who', null)
          app.addHook('onRequest', async (request) => void (request.who = nameOf(request.raw) ?? null))
        },
        ({ who }) => who ?? undefined,
      ),
      ...inHono(
        (app) => app.use(async (c, next) => (c.set('name', nameOf(c.env.incoming as Known)), await next())),
        (c) => c.get('name'),
      ),
    },
  })
}

tellsApart('a property of the context', {
  visitors: withKeys,
  apps: {
    ...inKoa(
      (app) => void app.use((ctx, next) => ((ctx['name'] = holder(ctx.req)), next())),
      (ctx) => ctx['name'],
    ),
    ...inHono(
      (app) => app.use(async (c, next) => (c.set('name', holder(c.env.incoming as Known)), await next())),
      (c) => c.var.name,
    ),
  },
})

tellsApart('contextStorage', {
  visitors: withKeys,
  apps: inHono(
    (app) => {
      app.use(contextStorage())
      app.use(async (c, next) => (c.set('name', holder(c.env.incoming as Known)), await next()))
    },
    () => getContext<{ Variables: { name: string | undefined } }>().var.name,
  ),
})

tellsApart('the request fields, kept before the cache', {
  visitors: withKeys,
  apps: {
    ...inExpress(
      (app) => void app.use((req, _res, next) => (((req as Known).kept = req.headers), next())),
      (req) => keys[String((req as Known).kept?.['x-api-key'])],
    ),
    ...inKoa(
      (app) => void app.use((ctx, next) => ((ctx.state['kept'] = ctx.headers), next())),
      (ctx) => keys[String((ctx.state['kept'] as IncomingMessage['headers'])['x-api-key'])],
    ),
    ...inFastify(
      (app) => {
        app.decorateRequest('seen', null)
        app.addHook('onRequest', async (request) => void (request.seen = request.headers))
      },
      ({ seen }: FastifyRequest) => keys[String(seen?.['x-api-key'])],
    ),
    ...inHono(
      (app) => app.use(async (c, next) => (c.set('name', c.req.header('x-api-key')), await next())),
      (c: HonoContext) => keys[c.get('name') ?? ''],
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
  apps: {
    ...inExpress((app) => void app.use((req, _res, next) => (keep(req), next())), holderIn),
    ...inKoa(
      (app) => void app.use((ctx, next) => (keep(ctx.req), next())),
      (ctx) => holderIn(ctx.req),
    ),
    ...inFastify(
      (app) => void app.addHook('onRequest', async ({ raw }) => keep(raw)),
      ({ raw }) => holderIn(raw),
    ),
    ...inHono(
      (app) => app.use(async (c, next) => (keep(c.env.incoming), await next())),
      (c: HonoContext) => holderIn(c.env.incoming),
    ),
    ...inNode(keep, holderIn),
  },
})

function setUser(request: Known, name: string | undefined): void {
  request.user = name === undefined ? undefined : { name }
}

function setUserIfAny(request: Known, name: string | undefined): void {
  if (name !== undefined) request.user = { name }
}

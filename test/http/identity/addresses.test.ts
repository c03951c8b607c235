import { Agent, createServer, type IncomingMessage } from 'node:http'
import express from 'express'
import { cacheResponses as ofExpress } from '../../../src/express/index.ts'
import { cacheResponses as ofFastify } from '../../../src/fastify/index.ts'
import { cacheResponses as ofKoa } from '../../../src/koa/index.ts'
import { fastify } from 'fastify'
import Koa from 'koa'
import { expect, test } from 'vitest'
import { inExpress, inFastify, inHono } from '../support/identity-frames.ts'
import { tellsApart, textFor, type MakeApp, type Visitors } from '../support/identity.ts'
import { siteOn } from '../support/site.ts'
import { appsOf, incoming, nothing } from './given-apps.ts'

/** Tenants of one site, by a field of a proxy. */
const byField: Visitors = {
  ada: { headers: { 'x-tenant': 'ada' } },
  bob: { headers: { 'x-tenant': 'bob' } },
  nobody: {},
}

const byHost: Visitors = {
  ada: { headers: { host: 'ada.example' } },
  bob: { headers: { host: 'bob.example' } },
  nobody: {},
}

/** The rewritten address: one more parameter names the tenant. */
function rewritten({ url = '/', headers }: Pick<IncomingMessage, 'url' | 'headers'>): string {
  const tenant = headers['x-tenant']
  return tenant === undefined ? url : `${url}${url.includes('?') ? '&' : '?'}tenant=${String(tenant)}`
}

function tenantIn(url = ''): string | undefined {
  return new URL(url, 'http://site').searchParams.get('tenant') ?? undefined
}

tellsApart('a rewritten req.url', {
  visitors: byField,
  apps: {
    ...appsOf({
      express: [(req) => (req.url = rewritten(req)), ({ url }) => tenantIn(url)],
      koa: [(ctx) => (ctx.url = rewritten(ctx.req)), ({ query }) => query['tenant'] as string | undefined],
      node: [(request) => (request.url = rewritten(request)), ({ url }) => tenantIn(url)],
    }),
    ...inFastify(nothing, ({ url }) => tenantIn(url), { rewriteUrl: rewritten }),
    ...inHono(nothing, (c) => c.req.path.split('/')[2], {
      route: '/who/:tenant?',
      getPath: ({ url, headers }) =>
        `${new URL(url).pathname}${headers.has('x-tenant') ? `/${headers.get('x-tenant')}` : ''}`,
    }),
  },
})

tellsApart('a rewritten req.url and req.originalUrl', {
  visitors: byField,
  apps: appsOf({
    express: [(req) => (req.url = req.originalUrl = rewritten(req)), ({ url }) => tenantIn(url)],
  }),
})

tellsApart('the host', {
  visitors: byHost,
  apps: appsOf({
    express: [nothing, ({ hostname }) => tenantOf(hostname)],
    koa: [nothing, ({ hostname }) => tenantOf(hostname)],
    fastify: [nothing, ({ hostname }) => tenantOf(hostname)],
    hono: [nothing, (c) => tenantOf(new URL(c.req.url).hostname)],
  }),
})

/** A host of several spellings, of which the site knows one. */
const bySpelling: Visitors = {
  ada: { headers: { host: 'ada.example' } },
  nobody: { headers: { host: 'Ada.example' } },
}

function tenantAt(host = ''): string | undefined {
  return host === 'ada.example' ? 'ada' : undefined
}

tellsApart('the host as it is spelled', {
  visitors: bySpelling,
  apps: appsOf({
    express: [nothing, ({ hostname }) => tenantAt(hostname)],
    koa: [nothing, ({ host }) => tenantAt(host)],
    fastify: [nothing, ({ hostname }) => tenantAt(hostname)],
    hono: [nothing, (c) => tenantAt(c.req.header('host'))],
    node: [nothing, ({ headers }) => tenantAt(headers.host)],
  }),
})

tellsApart('a constraint of routes by host, as it is spelled', {
  visitors: bySpelling,
  apps: { Fastify: constrained('host') },
})

/** Handlers of Koa, each behind a cache of its own, of which a trusted proxy chooses one by the host that it names. */
const chosenByHost: MakeApp = async (cache, options, pageFor) => {
  const app = new Koa({ proxy: true })
  for (const name of ['ada', 'bob', undefined]) {
    const cached = ofKoa(cache, options)
    app.use(async (ctx, next) => {
      if (name !== undefined && ctx.host !== `${name}.example`) return await next()
      await cached(ctx, async () => void (ctx.body = await pageFor(ctx.path === '/same' ? 'all' : name)))
    })
  }
  return createServer(app.callback())
}

tellsApart('a handler by the host that a trusted proxy names', {
  visitors: {
    ada: { headers: { host: 'backend', 'x-forwarded-host': 'ada.example' } },
    bob: { headers: { host: 'backend', 'x-forwarded-host': 'bob.example' } },
    nobody: { headers: { host: 'backend' } },
  },
  apps: { Koa: chosenByHost },
})

function tenantOf(host: string): string | undefined {
  return host.endsWith('.example') ? host.split('.', 1)[0] : undefined
}

/** Routes of one path for two hosts, or for two tenants by a custom constraint. */
function constrained(constraint: 'host' | 'tenant'): MakeApp {
  return async (cache, options, pageFor) => {
    const tenant = {
      name: 'tenant',
      storage: () => {
        const handlers = new Map<unknown, never>()
        return {
          get: (value: unknown) => handlers.get(value) ?? null,
          set: (value: unknown, handler: unknown) => void handlers.set(value, handler as never),
        }
      },
      deriveConstraint: ({ headers }: { headers: Record<string, unknown> }) => headers['x-tenant'],
      validate: () => undefined,
    }
    const app = fastify({ constraints: { tenant: tenant as never } })
    app.addHook('onRequest', ofFastify(cache, options))
    for (const name of ['ada', 'bob']) {
      const value = constraint === 'host' ? `${name}.example` : name
      app.get('/who', { constraints: { [constraint]: value } }, async () => await pageFor(name))
    }
    app.get('/who', async () => await pageFor(undefined))
    app.get('/same', async () => await pageFor('all'))
    await app.ready()
    return app.server
  }
}

for (const constraint of ['host', 'tenant'] as const) {
  tellsApart(`a constraint of routes by ${constraint}`, {
    visitors: constraint === 'host' ? byHost : byField,
    apps: { Fastify: constrained(constraint) },
  })
}

/** A visitor from one address of the loopback network. */
function from(localAddress: string, headers: Record<string, string> = {}): Visitors[string] {
  return { headers, agent: new Agent({ localAddress }) }
}

const names: Readonly<Record<string, string>> = { '203.0.113.1': 'ada', '127.0.0.2': 'bob', '127.0.0.3': 'nobody' }

// A trusted proxy, a stranger with the same X-Forwarded-For, and a stranger without.
const neighbours: Visitors = {
  ada: from('127.0.0.1', { 'x-forwarded-for': '203.0.113.1' }),
  bob: from('127.0.0.2', { 'x-forwarded-for': '203.0.113.1' }),
  nobody: from('127.0.0.3'),
}

tellsApart('req.ip behind a trusted proxy', {
  visitors: neighbours,
  apps: {
    ...inExpress(
      (app) => void app.set('trust proxy', '127.0.0.1'),
      (req) => names[req.ip ?? ''],
    ),
    ...inFastify(nothing, ({ ip }) => names[ip], { trustProxy: '127.0.0.1' }),
  },
})

/** The handlers stand in an app of their own, which trusts a proxy. The app with the cache trusts none. */
const inMountedApp: MakeApp = async (cache, options, pageFor) => {
  const app = express()
  const mounted = express().set('trust proxy', '127.0.0.1')
  mounted.get('/who', async (req, res) => void res.send(await pageFor(req.secure ? 'secure' : undefined)))
  mounted.get('/same', async (_req, res) => void res.send(await pageFor('all')))
  return createServer(app.use(ofExpress(cache, options), mounted))
}

tellsApart('req.secure in a mounted app that trusts a proxy', {
  visitors: {
    secure: from('127.0.0.1', { 'x-forwarded-proto': 'https' }),
    nobody: from('127.0.0.2', { 'x-forwarded-proto': 'https' }),
  },
  apps: { Express: inMountedApp },
})

const direct: Visitors = { ada: from('127.0.0.1'), bob: from('127.0.0.2'), nobody: from('127.0.0.3') }

function neighbourAt(address = ''): string | undefined {
  return { '127.0.0.1': 'ada', '127.0.0.2': 'bob' }[address.replace('::ffff:', '')]
}

test('a page that reads req.protocol and req.hostname is shared by clients of different addresses', async () => {
  // Express asks the connection for both, whose proxy could say otherwise.
  const [make] = Object.values(appsOf({ express: [nothing, (req) => `${req.protocol}://${req.hostname}`] }))
  await using site = await siteOn(async (cache) => await (make as MakeApp)(cache, {}, async (name) => textFor(name)))
  expect((await site.ask('/who', direct['ada'])).cache).toContain('stored')
  await site.stored()
  expect((await site.ask('/who', direct['bob'])).cache).toContain('hit')
})

tellsApart('the address of the client', {
  visitors: direct,
  apps: appsOf({
    express: [nothing, ({ ip }) => neighbourAt(ip)],
    koa: [nothing, ({ ip }) => neighbourAt(ip)],
    fastify: [nothing, ({ ip }) => neighbourAt(ip)],
    hono: [nothing, (c) => neighbourAt(incoming(c).socket.remoteAddress)],
    node: [nothing, ({ socket }) => neighbourAt(socket.remoteAddress)],
  }),
})

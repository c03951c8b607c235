import 'reflect-metadata'
import type { IncomingMessage, Server } from 'node:http'
import {
  Controller,
  Get,
  Module,
  Req,
  UnauthorizedException,
  UseGuards,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import type { FastifyInstance } from 'fastify'
import supertest from 'supertest'
import { describe, expect, test } from 'vitest'
import { cacheResponses as ofExpress } from '../../../src/express/index.ts'
import { cacheResponses as ofFastify } from '../../../src/fastify/index.ts'
import { createCache } from '../../../src/index.ts'
import { tellsApart, type MakeApp, type PageFor, type Visitors } from '../support/identity.ts'

/** A request of Express or Fastify, with the user that a guard has found. */
interface Guarded {
  readonly headers: IncomingMessage['headers']
  readonly raw?: Guarded
  user?: { name: string } | undefined
}

const keys: Readonly<Record<string, string>> = { 'key-of-ada': 'ada', 'key-of-bob': 'bob' }

const visitors: Visitors = {
  nobody: {},
  ada: { headers: { 'x-api-key': 'key-of-ada' } },
  bob: { headers: { 'x-api-key': 'key-of-bob' } },
}

/** Sets the owner of an API key as the user. */
function identify(request: Guarded): void {
  const name = keys[String(request.headers['x-api-key'])]
  request.user = name === undefined ? undefined : { name }
}

type Guard = new () => CanActivate

/** Reads the key and sets the user, as the guards in the documentation of Nest do. */
class KeyGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<Guarded>()
    identify(request)
    if (request.user === undefined) throw new UnauthorizedException()
    return true
  }
}

/** Lets in every request that has a user. */
class UserGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { user, raw } = context.switchToHttp().getRequest<Guarded>()
    if ((user ?? raw?.user) === undefined) throw new UnauthorizedException()
    return true
  }
}

/** Lets in every request. */
class OpenGuard implements CanActivate {
  canActivate(): boolean {
    return true
  }
}

/** A module with the pages. Its decorators are called as functions: they are no syntax of the language yet. */
function pagesOf(pageFor: PageFor, guard: Guard): new () => object {
  class Pages {
    async who({ user, raw }: Guarded): Promise<string> {
      return await pageFor((user ?? raw?.user)?.name)
    }

    async same(): Promise<string> {
      return await pageFor('all')
    }
  }
  class App {}
  const routes = { who: [Get('/who'), UseGuards(guard)], same: [Get('/same')] }
  for (const [name, decorators] of Object.entries(routes)) {
    const descriptor = Object.getOwnPropertyDescriptor(Pages.prototype, name) ?? {}
    for (const decorate of decorators) decorate(Pages.prototype, name, descriptor)
  }
  Req()(Pages.prototype, 'who', 0)
  Controller()(Pages)
  Module({ controllers: [Pages] })(App)
  return App
}

const quiet = { logger: false } as const

/** @param before whether the user is set before the cache */
function onExpress(guard: Guard, before: boolean): MakeApp {
  return async (cache, options, pageFor) => {
    const app = await NestFactory.create(pagesOf(pageFor, guard), new ExpressAdapter(), quiet)
    if (before) app.use((request: Guarded, _response: unknown, next: () => void) => (identify(request), next()))
    app.use(ofExpress(cache, options))
    await app.init()
    return app.getHttpServer() as Server
  }
}

async function appOnFastify(
  guard: Guard,
  before: boolean,
  ...[cache, options, pageFor]: Parameters<MakeApp>
): Promise<NestFastifyApplication> {
  const app = await NestFactory.create<NestFastifyApplication>(pagesOf(pageFor, guard), new FastifyAdapter(), quiet)
  const fastify = app.getHttpAdapter().getInstance() as unknown as FastifyInstance
  if (before) fastify.addHook('onRequest', async (request) => identify(request as Guarded))
  fastify.addHook('onRequest', ofFastify(cache, options))
  await app.init()
  await fastify.ready()
  return app
}

function onFastify(guard: Guard, before: boolean): MakeApp {
  return async (...about) => (await appOnFastify(guard, before, ...about)).getHttpServer() as Server
}

for (const [thing, guard, before] of [
  ['a guard that reads an API key', KeyGuard, false],
  ['a guard that reads request.user', UserGuard, true],
  ['a handler that reads request.user', OpenGuard, true],
] as const) {
  tellsApart(thing, {
    visitors,
    apps: { 'Nest 11 on Express': onExpress(guard, before), 'Nest 11 on Fastify': onFastify(guard, before) },
  })
}

describe('an app of Nest 11 that does not listen, with supertest', () => {
  /** A page that counts its runs. */
  function counting(): PageFor {
    let runs = 0
    return (async () => ({ run: ++runs })) as unknown as PageFor
  }

  /** What is answered to two requests for it. */
  async function twice(server: Server): Promise<unknown[]> {
    const ask = async () => await supertest(server).get('/same').set('Host', 'site')
    return [await ask(), await ask()].map(({ status, body, headers }) => [status, body, headers['cache-status']])
  }
  const cached = [
    [200, { run: 1 }, 'herdless; fwd=uri-miss; stored'],
    [200, { run: 1 }, expect.stringMatching(/^herdless; hit/)],
  ]

  test('is cached on Express', async () => {
    const server = await onExpress(OpenGuard, false)(createCache({ ttl: '1m' }), {}, counting())
    expect(await twice(server)).toEqual(cached)
  })

  test('is cached on Fastify, and so it is when a request is injected', async () => {
    const app = await appOnFastify(OpenGuard, false, createCache({ ttl: '1m' }), {}, counting())
    expect(await twice(app.getHttpServer())).toEqual(cached)
    const [first, second] = [await app.inject('/same?2'), await app.inject('/same?2')]
    expect([first.payload, second.payload]).toEqual(['{"run":2}', '{"run":2}'])
    expect(second.headers['cache-status']).toMatch(/^herdless; hit/)
  })
})

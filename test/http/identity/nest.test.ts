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
import { cacheResponses as ofExpress } from '../../../src/express/index.ts'
import { cacheResponses as ofFastify } from '../../../src/fastify/index.ts'
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

function onFastify(guard: Guard, before: boolean): MakeApp {
  return async (cache, options, pageFor) => {
    const app = await NestFactory.create<NestFastifyApplication>(pagesOf(pageFor, guard), new FastifyAdapter(), quiet)
    const fastify = app.getHttpAdapter().getInstance() as unknown as FastifyInstance
    if (before) fastify.addHook('onRequest', async (request) => identify(request as Guarded))
    fastify.addHook('onRequest', ofFastify(cache, options))
    await app.init()
    await fastify.ready()
    return app.getHttpServer() as Server
  }
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

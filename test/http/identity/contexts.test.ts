import 'reflect-metadata'
import { createServer, type Server } from 'node:http'
import { fastifyRequestContext, requestContext } from '@fastify/request-context'
import { createAdaptorServer } from '@hono/node-server'
import { Controller, Get, Inject, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import express from 'express'
import httpContext from 'express-http-context'
import { fastify } from 'fastify'
import { Hono } from 'hono'
import { contextStorage, getContext } from 'hono/context-storage'
import { ClsModule, ClsService } from 'nestjs-cls'
import { describe, expect, test } from 'vitest'
import { cacheResponses as ofExpress, type CacheResponsesOptions } from '../../../src/express/index.ts'
import { cacheResponses as ofFastify } from '../../../src/fastify/index.ts'
import { cacheResponses as ofHono } from '../../../src/hono/index.ts'
import type { Cache } from '../../../src/index.ts'
import { siteOn } from '../support/site.ts'

declare module '@fastify/request-context' {
  interface RequestContextData {
    who: string
  }
}

type Make = (cache: Cache, options: Pick<CacheResponsesOptions, 'ttl'>) => Promise<Server>

/** Apps whose handler learns who asks from a store, each mounted as the README of the library says. */
const apps: Record<string, Make> = {
  'express-http-context': async (cache, options) => {
    const app = express().use(httpContext.middleware)
    app.use((req, _res, next) => (httpContext.set('who', req.get('x-who')), next()))
    app.use(ofExpress(cache, options))
    app.get('/', (_req, res) => void res.send(`of ${String(httpContext.get('who'))}`))
    return createServer(app)
  },
  'nestjs-cls': async (cache, options) => {
    class PageController {
      readonly #cls: ClsService
      constructor(cls: ClsService) {
        this.#cls = cls
      }
      page(): string {
        return `of ${this.#cls.get<string>('who')}`
      }
    }
    Inject(ClsService)(PageController, undefined as never, 0)
    Controller()(PageController)
    Get()(PageController.prototype, 'page', Object.getOwnPropertyDescriptor(PageController.prototype, 'page') as never)
    class App {}
    const setup = (cls: ClsService, req: { headers: Record<string, unknown> }): void =>
      cls.set('who', req.headers['x-who'])
    Module({
      imports: [ClsModule.forRoot({ global: true, middleware: { mount: false, setup } })],
      controllers: [PageController],
    })(App)
    const app = await NestFactory.create(App, { logger: false })
    const { ClsMiddleware } = await import('nestjs-cls')
    const entering = new ClsMiddleware({ setup })
    app.use(entering.use)
    app.use(ofExpress(cache, options))
    await app.init()
    return app.getHttpServer() as Server
  },
  '@fastify/request-context': async (cache, options) => {
    const app = fastify()
    await app.register(fastifyRequestContext)
    app.addHook('onRequest', async (request) => requestContext.set('who', String(request.headers['x-who'])))
    app.addHook('onRequest', ofFastify(cache, options))
    app.get('/', async () => `of ${requestContext.get('who')}`)
    await app.ready()
    return app.server
  },
  'hono/context-storage': async (cache, options) => {
    const app = new Hono<{ Variables: { who: string } }>().use(contextStorage())
    app.use(async (context, next) => (context.set('who', context.req.header('x-who') ?? ''), await next()))
    app.use(ofHono(cache, options))
    app.get('/', (context) => context.text(`of ${getContext<{ Variables: { who: string } }>().var.who}`))
    return createAdaptorServer(app) as Server
  },
}

/** The plugin is for Fastify 5 alone. */
const isForAnother = (name: string): boolean =>
  name === '@fastify/request-context' && !fastify().version.startsWith('5.')

describe.each(Object.entries(apps))('%s', (name, make) => {
  test.skipIf(isForAnother(name))('gives each client its own page', async () => {
    await using site = await siteOn((cache) => make(cache, { ttl: '1m' }))
    const pages: { text: string; cache: string }[] = []
    for (const who of ['ada', 'bob', 'ada']) {
      pages.push(await site.get('/', { 'x-who': who }))
      await site.stored()
    }
    expect(pages.map(({ text }) => text)).toEqual(['of ada', 'of bob', 'of ada'])
    expect(pages[0]?.cache).toMatch(/detail=undeclared:(?:\S+\+)?async(?:\+|$)/)
  })
})

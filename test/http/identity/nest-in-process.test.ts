import 'reflect-metadata'
import { randomUUID } from 'node:crypto'
import { Controller, Get, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import type { FastifyInstance } from 'fastify'
import supertest from 'supertest'
import { describe, expect, test } from 'vitest'
import { cacheResponses as ofExpress } from '../../../src/express/index.ts'
import { cacheResponses as ofFastify } from '../../../src/fastify/index.ts'
import { createCache, memoryStore, type Cache } from '../../../src/index.ts'

function cacheOfOne(): Cache {
  return createCache({ namespace: randomUUID(), store: memoryStore(), ttl: '1m' })
}

describe('Nest 11, with supertest', () => {
  /** A module with a page that counts its runs. Its decorators are called as functions: they are no syntax of the language yet. */
  function moduleOf(): new () => object {
    let runs = 0
    class Pages {
      page(): object {
        return { run: ++runs }
      }
    }
    class App {}
    Get('/page')(Pages.prototype, 'page', Object.getOwnPropertyDescriptor(Pages.prototype, 'page') ?? {})
    Controller()(Pages)
    Module({ controllers: [Pages] })(App)
    return App
  }

  test('an app on Express is cached, that does not listen', async () => {
    const app = await NestFactory.create(moduleOf(), new ExpressAdapter(), { logger: false })
    app.use(ofExpress(cacheOfOne()))
    await app.init()
    const client = supertest(app.getHttpServer() as never)
    const stored = 'herdless; fwd=uri-miss; stored'
    await client.get('/page').set('Host', 'site').expect(200, { run: 1 }).expect('Cache-Status', stored)
    const hit = await client.get('/page').set('Host', 'site')
    expect([hit.body, hit.headers['cache-status']]).toEqual([
      { run: 1 },
      expect.stringMatching(/^herdless; hit/) as string,
    ])
    await app.close()
  })

  test('an app on Fastify is cached, that does not listen, and so it is when a request is injected', async () => {
    const app = await NestFactory.create<NestFastifyApplication>(moduleOf(), new FastifyAdapter(), { logger: false })
    const fastify = app.getHttpAdapter().getInstance() as unknown as FastifyInstance
    fastify.addHook('onRequest', ofFastify(cacheOfOne()))
    await app.init()
    await fastify.ready()
    const client = supertest(app.getHttpServer())
    await client
      .get('/page')
      .set('Host', 'site')
      .expect(200, { run: 1 })
      .expect('Cache-Status', 'herdless; fwd=uri-miss; stored')
    await client
      .get('/page')
      .set('Host', 'site')
      .expect(200, { run: 1 })
      .expect('Cache-Status', /^herdless; hit/)
    const [first, second] = [await app.inject('/page?2'), await app.inject('/page?2')]
    expect([first.payload, second.payload]).toEqual(['{"run":2}', '{"run":2}'])
    expect(second.headers['cache-status']).toMatch(/^herdless; hit/)
    await app.close()
  })
})

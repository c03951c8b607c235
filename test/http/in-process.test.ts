import 'reflect-metadata'
import { randomUUID } from 'node:crypto'
import { Controller, Get, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import type { FastifyInstance } from 'fastify'
import { Hono } from 'hono'
import { testClient } from 'hono/testing'
import supertest from 'supertest'
import { describe, expect, test } from 'vitest'
import { cacheResponses as ofExpress } from '../../src/express/index.ts'
import { cacheResponses as ofFastify } from '../../src/fastify/index.ts'
import { cacheResponses as ofHono } from '../../src/hono/index.ts'
import { createCache, memoryStore, type Cache } from '../../src/index.ts'

function cacheOfOne(): Cache {
  return createCache({ namespace: randomUUID(), store: memoryStore(), ttl: '1m' })
}

describe('Hono, without a server', () => {
  function appOf() {
    let runs = 0
    return new Hono()
      .use(ofHono(cacheOfOne()))
      .get('/page', (c) => c.text(`run ${++runs}`))
      .get('/raw', () => Response.json({ run: ++runs }))
      .get('/error', () => {
        throw new Error('sorry')
      })
      .post('/page', (c) => c.text('changed'))
      .onError((error, c) => c.text(error.message, 500))
  }
  const passed = 'herdless; fwd=bypass; detail=no-server'

  test.each<[string, (app: ReturnType<typeof appOf>, path: string) => Response | Promise<Response>]>([
    ['app.request', (app, path) => app.request(path)],
    ['app.request with an environment', (app, path) => app.request(path, {}, { NAME: 'value' })],
    ['app.fetch', (app, path) => app.fetch(new Request(`http://site${path}`))],
  ])('%s is answered by the handler, each time, and is told why', async (_way, ask) => {
    const app = appOf()
    for (const [path, text] of [
      ['/page', 'run 1'],
      ['/page', 'run 2'],
      ['/raw', '{"run":3}'],
    ] as const) {
      const answer = await ask(app, path)
      expect([answer.status, await answer.text(), answer.headers.get('cache-status')]).toEqual([200, text, passed])
    }
    const failed = await ask(app, '/error')
    expect([failed.status, await failed.text(), failed.headers.get('cache-status')]).toEqual([500, 'sorry', passed])
    expect((await ask(app, '/nowhere')).status).toBe(404)
  })

  test('testClient is answered by the handler', async () => {
    const answer = await testClient(appOf()).page.$get()
    expect([await answer.text(), answer.headers.get('cache-status')]).toEqual(['run 1', passed])
  })

  test('an unsafe method is not spoken of', async () => {
    const answer = await appOf().request('/page', { method: 'POST' })
    expect([await answer.text(), answer.headers.get('cache-status')]).toEqual(['changed', null])
  })
})

// It listens at another port for each request.
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

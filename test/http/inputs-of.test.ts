import { AsyncLocalStorage } from 'node:async_hooks'
import express from 'express'
import { fastify } from 'fastify'
import Koa from 'koa'
import { describe, expect, test } from 'vitest'
import { inputsOf, type AskedApp } from '../../src/testing/index.ts'

const wanted = [
  { name: 'accept-language', verdict: 'key' },
  { name: 'x-api-key', verdict: 'refuse' },
]

const apps: Record<string, () => AskedApp> = {
  'node:http': () => (req, res) => res.end(`${req.headers['accept-language']} ${req.headers['x-api-key']}`),
  Express: () =>
    express().get('/page', (req, res) => void res.send([req.get('x-api-key'), req.get('accept-language')])),
  Koa: () => new Koa().use((context) => (context.body = context.get('x-api-key') + context.get('accept-language'))),
  Fastify: () => {
    const app = fastify()
    app.get('/page', async ({ headers }) => [headers['x-api-key'], headers['accept-language']])
    return app
  },
}

test.each(Object.entries(apps))('lists what a handler of %s reads, with its verdict', async (_, make) => {
  expect(await inputsOf(make(), '/page?id=1')).toEqual(wanted)
})

describe('an input', () => {
  const cookie = { name: 'cookie', verdict: 'key' }
  const inputs = async (read: express.RequestHandler, headers = {}) =>
    await inputsOf(
      express().get('/page', (req, res, next) => (read(req, res, next), void res.send('page'))),
      { url: '/page', headers },
    )

  test('is none if nothing is read', async () => {
    expect(await inputs(() => undefined)).toEqual([])
  })

  test.each<[string, express.RequestHandler, object[]]>([
    [
      'the address of the client',
      (req) => req.socket.remoteAddress,
      [{ name: 'socket.remoteAddress', verdict: 'key' }],
    ],
    ['its port', (req) => req.socket.remotePort, [{ name: 'socket.remotePort', verdict: 'refuse' }]],
    ['all fields', (req) => Object.keys(req.headers), [{ name: '*', verdict: 'refuse' }, cookie]],
    ['a cookie', (req) => req.headers.cookie, [cookie]],
  ])('is %s', async (_, read, list) => {
    expect(await inputs(read, { cookie: 'a=1' })).toEqual(list)
  })

  test('is a store of AsyncLocalStorage that was entered before', async () => {
    const storage = new AsyncLocalStorage<string>()
    // Storages are known from the first cache, or the first list, on.
    await inputs(() => undefined)
    const list = await storage.run('somebody', async () => await inputs(() => storage.getStore()))
    expect(list).toEqual([{ name: 'async', verdict: 'refuse' }])
  })
})

test('what is no app is refused', async () => {
  for (const app of [{}, null, undefined, 7]) {
    const refused = inputsOf(app as never, '/')
    await expect(refused).rejects.toThrow(TypeError)
    await expect(refused).rejects.toThrow('Expected `app` to be an app or a request listener, got')
  }
})

describe('the list of inputs is an error if the app', () => {
  const cause = new Error('down')

  test.each<[string, AskedApp]>([
    [
      'throws',
      () => {
        throw cause
      },
    ],
    ['rejects', () => Promise.reject(cause)],
    ['rejects in the middle of its answer', (_, res) => (res.write('half'), Promise.reject(cause))],
  ])('%s', async (_, app) => {
    await expect(inputsOf(app, '/page')).rejects.toMatchObject({ message: 'The app failed at "/page": down', cause })
  })

  test.each<[string, AskedApp]>([
    ['never answers', () => undefined],
    ['never ends its answer', (_, res) => res.write('half')],
  ])('%s', async (_, app) => {
    const asked = inputsOf(app, { url: '/page', timeout: 20 })
    await expect(asked).rejects.toThrow('The app did not answer "/page" within 20 ms')
  })
})

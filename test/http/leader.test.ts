import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { randomBytes } from 'node:crypto'
import { Agent, createServer, type Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline, Readable } from 'node:stream'
import { gunzipSync } from 'node:zlib'
import { createAdaptorServer } from '@hono/node-server'
import compression from 'compression'
import express, { type Response } from 'express'
import { fastify } from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import morgan from 'morgan'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { cacheResponses as ofExpress, type CacheResponsesOptions } from '../../src/express/index.ts'
import { cacheResponses as ofFastify } from '../../src/fastify/index.ts'
import { cacheResponses as ofHono } from '../../src/hono/index.ts'
import { cacheResponses as ofKoa } from '../../src/koa/index.ts'
import { memoryStore, type Cache } from '../../src/index.ts'
import { Gate, siteOn, type Site } from './support/site.ts'

/** More than the buffers of a connection take, which the test itself finds out. */
const length = 6_291_456
/** Where what is stored lies is another matter, and Redis takes its time with so much. */
const inThisProcess = { cache: { store: memoryStore() } }
let folder: string
let file: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leader-'))
  file = join(folder, 'page.txt')
  await writeFile(file, Buffer.alloc(length, '0123456789abcdef'))
})
afterAll(async () => await rm(folder, { recursive: true }))

/** A server that sends the file at `/` once it may, and answers nothing at `/hang`. */
type MakeApp = (cache: Cache, options: CacheResponsesOptions, may: () => Promise<void>) => Promise<Server>

const inExpress =
  (send: (res: Response) => void, ...before: express.RequestHandler[]): MakeApp =>
  async (cache, options, may) => {
    const app = express()
    app.set('env', 'test')
    app.get('/hang', () => undefined)
    for (const each of before) app.use(each)
    app.use(ofExpress(cache, options))
    app.get('/', async (_req, res) => {
      await may()
      send(res)
    })
    return createServer(app)
  }

const inKoa: MakeApp = async (cache, options, may) => {
  const app = new Koa()
  app.silent = true
  app.use(async (ctx, next) => (ctx.path === '/hang' ? await new Promise(() => undefined) : await next()))
  app.use(ofKoa(cache, options))
  app.use(async (ctx) => {
    await may()
    ctx.type = 'text'
    ctx.body = createReadStream(file)
  })
  return createServer(app.callback())
}

const inFastify: MakeApp = async (cache, options, may) => {
  const app = fastify()
  app.get('/hang', () => new Promise(() => undefined))
  app.get('/', { onRequest: ofFastify(cache, options) }, async (_request, reply) => {
    await may()
    return reply.type('text/plain').send(createReadStream(file))
  })
  await app.ready()
  return app.server
}

const inHono: MakeApp = async (cache, options, may) => {
  const app = new Hono()
  app.get('/hang', () => new Promise(() => undefined))
  app.get('/', ofHono(cache, options), async (c) => {
    await may()
    return c.body(Readable.toWeb(createReadStream(file)) as ReadableStream)
  })
  return createAdaptorServer(app) as Server
}

const pipes = (res: Response): void => void createReadStream(file).pipe(res.type('text'))
const sends = (res: Response): void => res.sendFile(file)

const apps: Record<string, MakeApp> = {
  'Express, sendFile': inExpress(sends),
  'Express, sendFile behind morgan': inExpress(sends, morgan('tiny', { stream: { write: () => true } })),
  'Express, pipe': inExpress(pipes),
  'Express, pipeline': inExpress((res) => {
    pipeline(createReadStream(file), res.type('text'), () => undefined)
  }),
  'Express, callbacks of write': inExpress((res) => void called(res)),
  Koa: inKoa,
  Fastify: inFastify,
  Hono: inHono,
}

test('a client that leads and never reads, behind compression, leaves the others an answer that is too large to be stored', async () => {
  const text = randomBytes(length).toString('base64')
  const gate = new Gate()
  let runs = 0
  await using site = await siteOn(async (cache) => {
    const app = express().use(compression(), ofExpress(cache))
    app.get('/', async (_req, res) => {
      runs++
      await gate.opened
      Readable.from(pieces(text)).pipe(res.type('text'))
    })
    return createServer(app)
  }, inThisProcess)
  using socket = disposable(await asking(site, '/'))
  await until('the handler runs', () => runs === 1)
  const followers = site.crowd(3, '/', () => ({ headers: { 'accept-encoding': 'gzip' } }))
  await site.missed(4)
  gate.open()
  await once(socket, 'readable')
  for (const { body } of await Promise.all(followers)) expect(gunzipSync(body).length).toBe(text.length)
})

function* pieces(text: string): Generator<string> {
  for (let start = 0; start < text.length; start += 65_536) yield text.slice(start, start + 65_536)
}

/** Writes the file piece by piece, each when the one before is said to be sent. */
async function called(res: Response): Promise<void> {
  for await (const chunk of createReadStream(file))
    await new Promise<void>((sent) => void res.write(chunk, () => sent()))
  res.end()
}

/** A client that leads: it asks, and may read nothing of the answer. */
async function asking(site: Site, ...paths: string[]): Promise<Socket> {
  const socket = connect({ port: site.ports[0] as number, host: '127.0.0.1' })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  for (const path of paths) socket.write(`GET ${path} HTTP/1.1\r\nHost: site\r\nAccept-Encoding: gzip\r\n\r\n`)
  return socket
}

interface Leader {
  readonly paths?: string[]
  readonly before?: (socket: Socket) => unknown
  readonly within?: (socket: Socket) => unknown
  readonly isStuck?: true
}

/** What node:http tells otherwise than of one that goes away; what comes then is the same in every framework. */
const resets: Readonly<Record<string, Leader>> = {
  'resets before the head': { before: (socket) => socket.resetAndDestroy() },
  'resets within the body': { within: (socket) => socket.resetAndDestroy() },
}

/** What becomes of the client that leads: before the handler may answer, and after it. */
const leaders: Readonly<Record<string, Leader>> = {
  'never reads': { isStuck: true },
  'waits behind a request that hangs': { paths: ['/hang', '/'] },
  'waits behind a request that hangs, and goes away': { paths: ['/hang', '/'], before: (socket) => socket.destroy() },
  'goes away before the head': { before: (socket) => socket.destroy() },
  'goes away within the body': { within: (socket) => socket.destroy() },
  ...resets,
}

describe.for(Object.keys(apps))('%s: a client that leads and', (app) => {
  const others = app === 'Express, pipe' ? [] : Object.keys(resets)
  describe.for(Object.keys(leaders).filter((each) => !others.includes(each)))('%s', (leader) => {
    test.for([
      ['can be stored', { maxBody: 2 * length }],
      ['is too large to be stored', { maxBody: undefined }],
    ] as const)('leaves the others an answer that %s', async ([, { maxBody }]) => {
      const options = maxBody === undefined ? {} : { maxBody }
      const gate = new Gate()
      let runs = 0
      const may = async (): Promise<void> => (runs++, await gate.opened)
      const connections: Socket[] = []
      await using site = await siteOn(async (cache) => {
        const server = await (apps[app] as MakeApp)(cache, options, may)
        return server.on('connection', (socket) => connections.push(socket))
      }, inThisProcess)
      const { paths = ['/'], before, within, isStuck } = leaders[leader] as Leader
      using socket = disposable(await asking(site, ...paths))
      await until('the handler runs', () => runs === 1)
      const followers = site.crowd(3, '/', () => ({ headers: { 'accept-encoding': 'gzip' } }))
      await site.missed(4)
      if (before !== undefined) {
        before(socket)
        await until('the server has noticed', () => connections[0]?.destroyed || connections[0]?.readableEnded)
      }
      gate.open()
      if (within !== undefined) {
        await once(socket, 'readable')
        within(socket)
      }
      for (const { status, body } of await Promise.all(followers)) expect([status, body.length]).toEqual([200, length])
      if (isStuck) await until('its connection takes no more', () => (connections[0]?.writableLength ?? 0) > 0)
      // What is too large may be so before all have found it.
      expect(runs).toBeLessThanOrEqual(maxBody === undefined ? 4 : 1)
    })
  })
})

function disposable(socket: Socket): Socket & Disposable {
  return Object.assign(socket, { [Symbol.dispose]: () => void socket.destroy() })
}

test('a client that never takes a stale response keeps nobody from its refresh', async () => {
  let runs = 0
  await using site = await siteOn(async (cache) => {
    const app = express()
    app.get('/hang', () => undefined)
    app.get('/', ofExpress(cache, { ttl: 1, grace: '1m' }), (_req, res) => void res.send(`run ${++runs}`))
    return createServer(app)
  })
  await site.get('/')
  await site.stored()
  const socket = connect(site.ports[0] as number, '127.0.0.1')
  await once(socket, 'connect')
  // Its response waits behind one that never ends, and never closes then.
  socket.write('GET /hang HTTP/1.1\r\nHost: site\r\n\r\nGET / HTTP/1.1\r\nHost: site\r\n\r\n')
  await until('it has asked', () => site.requests === 3)
  socket.destroy()
  await expect.poll(async () => (await site.get('/')).text).not.toBe('run 1')
})

test('a connection calls its listeners as directly after three misses as after one', async () => {
  const connections: Socket[] = []
  await using site = await siteOn(async (cache) => {
    const app = express().use(ofExpress(cache))
    app.get('/:page', (req, res) => void res.send(req.params.page))
    return createServer(app).on('connection', (socket) => connections.push(socket))
  })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const depths: number[] = []
  for (const page of ['/1', '/2', '/3']) {
    expect((await site.get(page, {}, { agent })).cache).toContain('stored')
    const [connection] = connections
    connection?.once('probe', () => depths.push(depth()))
    connection?.emit('probe')
  }
  agent.destroy()
  expect(connections.length).toBe(1)
  expect(new Set(depths).size).toBe(1)
})

/** How many functions are being called. */
function depth(): number {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = Infinity
  const { stack = '' } = new Error('here')
  Error.stackTraceLimit = stackTraceLimit
  return stack.split('\n').length
}

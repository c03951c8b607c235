import { once, type EventEmitter } from 'node:events'
import type { RequestListener, Server } from 'node:http'
import { Readable } from 'node:stream'
import { connect, createSecureServer, createServer, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2'
import { Agent } from 'node:https'
import { createAdaptorServer } from '@hono/node-server'
import { fastify, type FastifyInstance } from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { describe, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { cacheResponses as ofExpress } from '../../src/express/index.ts'
import { cacheResponses as ofFastify } from '../../src/fastify/index.ts'
import { cacheResponses as ofHono } from '../../src/hono/index.ts'
import { cacheResponses as ofKoa } from '../../src/koa/index.ts'
import type { Cache } from '../../src/index.ts'
import { certificatesOf } from '../support/certificates.ts'
import { Gate, siteOn, type Site } from './support/site.ts'

/** What a handler is asked, in whatever frame. */
interface Question {
  readonly url: string
  readonly method: string
  readonly field: (name: string) => string | undefined
  /** Sets a field of the answer. */
  readonly set: (name: string, value: string) => void
  readonly status: (code: number) => void
  readonly address: () => string | undefined
}

type Page = (question: Question) => Promise<string>
type Make = (page: Page, cache: Cache) => Promise<Server>

const plain = (listener: RequestListener): Server => createServer(listener as never) as unknown as Server

/** A server of node:http2 has no method that closes all connections. */
function closable(server: Server): Server {
  const sessions = new Set<{ destroy(): void }>()
  server.on('session', (session: { destroy(): void }) => void sessions.add(session))
  const closeAllConnections = (): void => sessions.forEach((session) => session.destroy())
  return Object.assign(server, { closeAllConnections })
}

async function siteBy(make: (cache: Cache) => Promise<Server>): Promise<Site> {
  return await siteOn(async (cache) => closable(await make(cache)))
}

const onKoa: Make = async (page, cache) => {
  const app = new Koa()
  app.silent = true
  app.use(ofKoa(cache))
  app.use(async (ctx) => {
    ctx.body = await page({
      url: ctx.url,
      method: ctx.method,
      field: (name) => ctx.get(name) || undefined,
      set: (name, value) => ctx.set(name, value),
      status: (code) => void (ctx.status = code),
      address: () => ctx.req.socket.remoteAddress,
    })
  })
  return plain(app.callback())
}

const onFastify: Make = async (page, cache) => {
  const app = fastify({ http2: true } as never) as unknown as FastifyInstance
  app.addHook('onRequest', ofFastify(cache))
  app.all('/*', async (request, reply) => {
    return await page({
      url: request.url,
      method: request.method,
      field: (name) => request.headers[name] as string | undefined,
      set: (name, value) => void reply.header(name, value),
      status: (code) => void reply.code(code),
      address: () => request.socket.remoteAddress,
    })
  })
  await app.ready()
  return app.server
}

const onHono: Make = async (page, cache) => {
  const app = new Hono<{ Bindings: { incoming: { socket: { remoteAddress?: string } } } }>()
  app.use(ofHono(cache))
  app.all('/*', async (c) => {
    const text = await page({
      url: new URL(c.req.url).pathname,
      method: c.req.method,
      field: (name) => c.req.header(name),
      set: (name, value) => c.header(name, value),
      status: (code) => c.status(code as 200),
      address: () => c.env.incoming.socket.remoteAddress,
    })
    return c.body(text)
  })
  return createAdaptorServer({ fetch: app.fetch, createServer: createServer as never }) as Server
}

const frames: Readonly<Record<string, Make>> = {
  'node:http2': async (page, cache) => {
    const middleware = ofExpress(cache)
    return plain((request, response) => {
      middleware(request, response, async () => {
        const text = await page({
          url: request.url ?? '',
          method: request.method ?? '',
          field: (name) => request.headers[name] as string | undefined,
          set: (name, value) => void response.setHeader(name, value),
          status: (code) => void (response.statusCode = code),
          address: () => request.socket.remoteAddress,
        })
        response.end(text)
      })
    })
  },
  Koa: onKoa,
  Fastify: onFastify,
  Hono: onHono,
}

type Fields = Record<string, string>

interface Answer {
  readonly status: number
  readonly headers: Record<string, string | undefined>
  readonly text: string
  readonly cache: string
  /** With what the stream was closed (RFC 9113, section 7). */
  readonly code: number
}

/** A request or a response of the compatibility API. */
interface Message {
  readonly socket: { remoteAddress: string }
  readonly connection: { remoteAddress: string }
  readonly stream: { session: { socket: { remoteAddress: string } } }
  readonly req: { socket: { remoteAddress: string } }
}

/** A connection of HTTP/2 to a site. */
class Connection implements AsyncDisposable {
  readonly session: ClientHttp2Session

  constructor({ ports }: Site, scheme = 'http', options = {}) {
    this.session = connect(`${scheme}://127.0.0.1:${ports[0]}`, options)
    this.session.on('error', () => {})
  }

  open(path = '/', fields: Fields = {}): ClientHttp2Stream {
    const stream = this.session.request({ ':authority': 'site', ':path': path, ...fields })
    stream.on('error', () => {})
    return stream
  }

  async get(path = '/', fields: Fields = {}): Promise<Answer> {
    return await answerOf(this.open(path, fields))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.session.closed) return
    this.session.destroy()
  }
}

async function answerOf(stream: ClientHttp2Stream): Promise<Answer> {
  stream.end()
  let head: Record<string, string | undefined> = {}
  stream.on('response', (headers) => (head = headers as unknown as typeof head))
  const chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  await new Promise((resolve) => stream.once('close', resolve))
  return {
    status: Number(head[':status']),
    headers: head,
    text: Buffer.concat(chunks).toString(),
    cache: String(head['cache-status']),
    code: stream.rstCode,
  }
}

describe.each(Object.entries(frames))('%s by HTTP/2', (_name, make) => {
  const siteFor = async (page: Page): Promise<Site> => await siteBy((cache) => make(page, cache))

  test('the handler answers once, and then what is stored does', async () => {
    let runs = 0
    await using site = await siteFor(async ({ set }) => {
      set('ETag', '"one"')
      return `run ${++runs}`
    })
    await using connection = new Connection(site)
    expect(await connection.get()).toMatchObject({ text: 'run 1', cache: 'herdless; fwd=uri-miss; stored' })
    await site.stored()
    const hit = await connection.get()
    expect(hit).toMatchObject({ status: 200, text: 'run 1', cache: expect.stringMatching(/^herdless; hit/) as string })
    expect(hit.headers['age']).toMatch(/^\d+$/)
    expect(await connection.get('/', { 'if-none-match': '"one"' })).toMatchObject({ status: 304, text: '' })
    expect(await connection.get('/', { range: 'bytes=0-2' })).toMatchObject({ status: 206, text: 'run' })
    expect(await connection.get('/', { ':method': 'HEAD' })).toMatchObject({ status: 200, text: '' })
    expect((await connection.get('/other')).text).toBe('run 2')
    expect((await connection.get('/', { ':authority': 'elsewhere' })).text).toBe('run 3')
    // A handler may look for the host as it is spelled.
    expect((await connection.get('/', { ':authority': 'Site' })).text).toBe('run 4')
    // What was stored for the usual spelling may have been moved.
    expect((await connection.get()).text).toMatch(/^run (1|5)$/)
  })

  test('many at once are answered by one run, on one connection and on several', async () => {
    const gate = new Gate()
    let runs = 0
    await using site = await siteFor(async () => {
      runs++
      await gate.opened
      return `run ${runs}`
    })
    await using one = new Connection(site)
    await using other = new Connection(site)
    const answers = Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? one : other).get())
    await site.missed(10)
    gate.open()
    expect(new Set((await Promise.all(answers)).map(({ text }) => text))).toEqual(new Set(['run 1']))
  })

  test('what is for one client alone goes to nobody else', async () => {
    let runs = 0
    await using site = await siteFor(async ({ url, set }) => {
      if (url === '/cookie') set('Set-Cookie', `run=${++runs}`)
      else set('Cache-Control', 'private')
      return `run ${runs}`
    })
    await using connection = new Connection(site)
    expect((await connection.get()).cache).toBe('herdless; fwd=uri-miss; detail=private')
    for (const run of [1, 2]) {
      expect((await connection.get('/cookie')).headers['set-cookie']).toEqual([`run=${run}`])
    }
  })

  test('a field that the handler reads is part of the key, and so is how it is addressed', async () => {
    await using site = await siteFor(
      async ({ field }) => `${field('x-who') ?? 'nobody'} at ${field('host') ?? 'no host'}`,
    )
    await using connection = new Connection(site)
    const ask = async (fields: Fields): Promise<string> => (await connection.get('/', fields)).text
    expect(await ask({ 'x-who': 'ada' })).toMatch(/^ada at/)
    expect(await ask({ 'x-who': 'bob' })).toMatch(/^bob at/)
    expect(await ask({})).toMatch(/^nobody at/)
    expect(await ask({ host: 'evil.example' })).toBe('nobody at evil.example')
    expect(await ask({})).not.toContain('evil')
  })

  test('what a handler reads of the address is part of the key', async () => {
    await using site = await siteFor(async ({ address }) => `from ${address()}`)
    for (const localAddress of ['127.0.0.1', '127.0.0.2', '127.0.0.1']) {
      await using connection = new Connection(site, 'http', { localAddress })
      expect((await connection.get()).text).toContain(localAddress)
    }
  })

  test('an unsafe method voids what is stored', async () => {
    let runs = 0
    await using site = await siteFor(async () => `run ${++runs}`)
    await using connection = new Connection(site)
    expect((await connection.get()).text).toBe('run 1')
    expect((await connection.get('/', { ':method': 'POST' })).text).toBe('run 2')
    expect((await connection.get()).text).toBe('run 3')
  })

  test('what is stale is served, and refreshed when its client has it', async () => {
    let runs = 0
    await using site = await siteFor(async ({ set, address }) => {
      const run = ++runs
      set('Cache-Control', run === 1 ? 'max-age=1, stale-while-revalidate=60' : 'max-age=60')
      if (run === 1) set('Age', '1')
      return `run ${run} ${address()}`
    })
    await using connection = new Connection(site)
    const first = await connection.get()
    expect(first.text).toMatch(/^run 1 .*127/)
    await site.filled(2)
    expect((await connection.get()).text).toBe(first.text)
    await until('it is refreshed', () => runs === 2)
    await site.stored()
    await until('the fresh one is served', async () => (await connection.get()).text.startsWith('run 2'))
    expect((await connection.get()).text).toBe(first.text.replace('1', '2'))
    expect(runs).toBe(2)
  })

  test('an error is for those who wait for it', async () => {
    let runs = 0
    await using site = await siteFor(async ({ status }) => {
      if (++runs === 1) status(503)
      return `run ${runs}`
    })
    await using connection = new Connection(site)
    expect(await connection.get()).toMatchObject({ status: 503, text: 'run 1', cache: 'herdless; fwd=uri-miss' })
    expect(await connection.get()).toMatchObject({ status: 200, text: 'run 2' })
  })

  test('a client that goes away takes the answer from nobody', async () => {
    const gate = new Gate()
    let runs = 0
    await using site = await siteFor(async () => {
      runs++
      await gate.opened
      return `run ${runs}`
    })
    await using connection = new Connection(site)
    const leaving = connection.open()
    await until('its handler runs', () => runs === 1)
    const staying = connection.get()
    await site.missed(2)
    leaving.close(8)
    await once(leaving, 'close')
    gate.open()
    expect(await staying).toMatchObject({ status: 200, text: 'run 1' })
  })
})

test('Hono finds all fields but those that HTTP/2 has in place of a first line', async () => {
  await using site = await siteBy(async (cache) => {
    const app = new Hono().use(ofHono(cache)).get('/', (c) => c.json([...c.req.raw.headers]))
    return createAdaptorServer({ fetch: app.fetch, createServer: createServer as never }) as Server
  })
  await using connection = new Connection(site)
  const answer = await connection.get('/', { 'x-one': '1' })
  expect([answer.text, answer.cache]).toEqual(['[["x-one","1"]]', 'herdless; fwd=uri-miss; detail=undeclared:*'])
})

describe('a handler of node:http2', () => {
  const siteFor = async (listener: RequestListener): Promise<Site> => {
    return await siteBy(async (cache) => {
      const middleware = ofExpress(cache)
      return plain((request, response) => middleware(request, response, () => listener(request, response)))
    })
  }

  test('streams to its client and to those who wait, and what is cut off is cut off for all', async () => {
    const gate = new Gate()
    let runs = 0
    await using site = await siteFor(async (_request, response) => {
      runs++
      response.write('begun')
      await gate.opened
      response.destroy(new Error('sorry'))
    })
    await using connection = new Connection(site)
    const leader = connection.open()
    leader.end()
    await once(leader, 'data')
    const follower = connection.open()
    const cut = answerOf(follower)
    await once(follower, 'data')
    gate.open()
    expect(await cut).toMatchObject({ text: 'begun', code: 2 })
    expect(runs).toBe(1)
  })

  test.each([8, 2, 0])(
    'goes on for those who follow when its own client goes away in mid-body, with code %i',
    async (code) => {
      const gate = new Gate()
      let runs = 0
      let isClosed = false
      await using site = await siteFor(async (request, response) => {
        if (request.method === 'OPTIONS') return void response.end()
        runs++
        response.once('close', () => (isClosed = true))
        response.write('begun, ')
        await gate.opened
        response.end('done')
      })
      await using connection = new Connection(site)
      const leader = connection.open()
      leader.end()
      await once(leader, 'data')
      const follower = connection.open()
      const whole = answerOf(follower)
      await once(follower, 'data')
      leader.close(code)
      await new Promise((resolve) => leader.once('close', resolve))
      // What this asks comes to the server after that.
      await connection.get('/', { ':method': 'OPTIONS' })
      gate.open()
      expect(await whole).toMatchObject({ text: 'begun, done', code: 0 })
      await until('the handler hears of it', () => isClosed)
      expect(runs).toBe(1)
    },
  )

  test('that never ends is no trouble when a connection ends with its leader and who follows it', async () => {
    await using site = await siteFor((_request, response) => void response.write('begun'))
    const connection = new Connection(site)
    const [leader, follower] = [connection.open('/'), connection.open('/')]
    await Promise.all([once(leader, 'data'), once(follower, 'data')])
    await connection[Symbol.asyncDispose]()
    await site.stored()
    await using another = new Connection(site)
    const next = another.open('/')
    expect(String(await once(next, 'data'))).toBe('begun')
  })

  test('is sent to its own client as without a cache, or a part of it', async () => {
    await using site = await siteFor((request, response) => {
      response.setHeader('Date', new Date().toUTCString())
      response.setHeader('ETag', '"one"')
      response.writeHead(200, { 'Cache-Control': 'private', 'Accept-Ranges': 'bytes', 'Content-Length': 10 })
      response.write('01234')
      response.end('56789')
    })
    await using connection = new Connection(site)
    expect(await connection.get('/1', { 'if-none-match': '"one"' })).toMatchObject({ status: 304, text: '', code: 0 })
    expect(await connection.get('/2', { range: 'bytes=4-6' })).toMatchObject({ status: 206, text: '456', code: 0 })
    expect(await connection.get('/3', { range: 'bytes=10-' })).toMatchObject({ status: 416, text: '', code: 0 })
  })

  test('that reads the scheme has an answer for each', async () => {
    await using site = await siteFor((request, response) => {
      response.end(String((request as { scheme?: string }).scheme))
    })
    await using connection = new Connection(site)
    for (const scheme of ['https', 'http', 'https'])
      expect((await connection.get('/', { ':scheme': scheme })).text).toBe(scheme)
  })

  test.each<[string, (request: Message, response: Message) => { remoteAddress: string }]>([
    ['request.socket', (request) => request.socket],
    ['request.connection', (request) => request.connection],
    ['request.stream.session.socket', (request) => request.stream.session.socket],
    ['response.socket', (_request, response) => response.socket],
    ['response.connection', (_request, response) => response.connection],
    ['response.stream.session.socket', (_request, response) => response.stream.session.socket],
    ['response.req.socket', (_request, response) => response.req.socket],
  ])('that reads the address of its client in %s gives it to nobody else', async (_way, socketOf) => {
    await using site = await siteFor((request, response) => {
      response.end(socketOf(request as never, response as never).remoteAddress)
    })
    for (const localAddress of ['127.0.0.1', '127.0.0.2']) {
      await using connection = new Connection(site, 'http', { localAddress })
      expect((await connection.get()).text).toContain(localAddress)
    }
  })

  test('that sends more than is kept goes on for those who follow when its own client resets', async () => {
    const gate = new Gate()
    const part = Buffer.alloc(64 * 1_024, 'x')
    await using site = await siteFor((request, response) => {
      if (request.method === 'OPTIONS') return void response.end()
      response.write('begun')
      void gate.opened.then(() => Readable.from(Array.from({ length: 96 }, () => part)).pipe(response))
    })
    await using connection = new Connection(site)
    // Its client takes nothing of it, and more than fits into the windows of HTTP/2 comes.
    const leader = connection.open()
    await once(leader, 'response')
    await using other = new Connection(site)
    const follower = other.open()
    const whole = answerOf(follower)
    await once(follower, 'data')
    gate.open()
    leader.close(8)
    const { text, code } = await whole
    expect([text.length, code]).toEqual([5 + 96 * part.length, 0])
  })

  /** How a handler can hear that its client has gone away. */
  const ways: Record<string, (request: EventEmitter, response: EventEmitter, hears: () => void) => unknown> = {
    'close of the request': (request, _, hears) => request.once('close', hears),
    'aborted of the request': (request, _, hears) => request.once('aborted', hears),
    'close of the response': (_, response, hears) => response.once('close', hears),
    'close of the stream': (request, _, hears) => Reflect.get(request, 'stream').once('close', hears),
    'aborted of the stream': (request, _, hears) => Reflect.get(request, 'stream').once('aborted', hears),
  }

  test.each(
    Object.keys(ways).flatMap((way) => [
      [way, 'head', true],
      [way, 'head', false],
      [way, 'nothing', true],
      [way, 'nothing', false],
    ]),
  )('that ends its answer at the %s, after %s, ends none for others (another waits: %s)', async (way, after, waits) => {
    const gate = new Gate()
    let runs = 0
    await using site = await siteFor(async (request, response) => {
      if (request.method === 'OPTIONS') return void response.end()
      const run = ++runs
      ways[way as string]?.(request, response, () => response.end(']'))
      if (after === 'head') response.write('[')
      await gate.opened
      if (response.writableEnded) return
      if (after === 'nothing') response.write('[')
      response.end(`${run}]`)
    })
    await using connection = new Connection(site)
    const leader = connection.open()
    await until('its handler runs', () => runs === 1)
    const others = waits ? [connection.get()] : []
    await site.missed(1 + others.length)
    leader.close(8)
    await once(leader, 'close')
    // What this asks comes to the server after that.
    await connection.get('/', { ':method': 'OPTIONS' })
    gate.open()
    expect((await Promise.all(others)).map(({ text }) => text)).toEqual(others.map(() => '[1]'))
    await site.stored()
    expect(await connection.get()).toMatchObject({ text: waits ? '[1]' : '[2]', code: 0 })
  })

  test('with a body of its client is for that client alone', async () => {
    await using site = await siteFor(async (request, response) => {
      const parts: Buffer[] = []
      for await (const part of request) parts.push(part as Buffer)
      response.end(`body=${Buffer.concat(parts).toString()}`)
    })
    await using connection = new Connection(site)
    const asking = connection.session.request({ ':authority': 'site', ':path': '/' }, { endStream: false })
    asking.write('own')
    expect(await answerOf(asking)).toMatchObject({ text: 'body=own', cache: 'herdless; fwd=bypass; detail=body' })
    expect(await connection.get()).toMatchObject({ text: 'body=', cache: 'herdless; fwd=uri-miss; stored' })
  })

  test('with trailers is not stored', async () => {
    let runs = 0
    await using site = await siteFor((_request, response) => {
      ;(response as unknown as { setTrailer(name: string, value: string): void }).setTrailer('x-end', '1')
      response.end(`run ${++runs}`)
    })
    await using connection = new Connection(site)
    await connection.get()
    expect((await connection.get()).text).toBe('run 2')
  })

  test('finds the fields of HTTP/2, and a middleware before the cache that says more at the last moment is heard', async () => {
    await using site = await siteBy(async (cache) => {
      const middleware = ofExpress(cache)
      return plain((request, response) => {
        const writeHead = response.writeHead.bind(response) as (status: number) => typeof response
        response.writeHead = ((status: number) => {
          response.setHeader('Set-Cookie', 'late=1')
          return writeHead(status)
        }) as typeof response.writeHead
        middleware(request, response, () => response.end(String(request.headers[':authority'])))
      })
    })
    await using connection = new Connection(site)
    expect(await connection.get()).toMatchObject({
      text: 'site',
      cache: 'herdless; fwd=uri-miss; detail=late:set-cookie',
    })
  })

  test('answers HTTP/1 on the same port otherwise, and neither is given what is for the other', async () => {
    const { ca, of } = await certificatesOf('site')
    const urls: string[] = []
    await using site = await siteBy(async (cache) => {
      const middleware = ofExpress(cache, { ttl: '1m' })
      const listener: RequestListener = (request, response) => {
        middleware(request, response, () => {
          const { encrypted } = request.socket as { encrypted?: boolean }
          const host = request.url === '/host' ? request.headers.host : 'any'
          response.end(`${request.httpVersion} ${host} ${String(encrypted)}`)
        })
      }
      cache.on('miss', ({ key }) => void urls.push(key))
      return createSecureServer({ ...of.site, allowHTTP1: true }, listener as never) as unknown as Server
    })
    await using connection = new Connection(site, 'https', { ca, servername: 'site' })
    const agent = new Agent({ ca, servername: 'site' })
    for (let round = 0; round < 2; round++) {
      expect((await connection.get('/')).text).toBe('2.0 any true')
      expect((await site.get('/', {}, { agent })).text).toBe('1.1 any true')
      expect((await connection.get('/host')).text).toBe('2.0 undefined true')
      expect((await site.get('/host', {}, { agent })).text).toBe('1.1 site true')
      await site.stored()
    }
    expect(urls).toContain('response https://site/')
  })
})

import { once } from 'node:events'
import {
  createServer,
  Server as HttpServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import { createServer as createTcpServer, type AddressInfo, type Server } from 'node:net'
import { expect, test } from 'vitest'
import { message, openRaw, type Raw } from '../attacks/raw.ts'
import { forwardingApp, listening } from './forwarding-app.ts'
import { nothing } from './subject.ts'

interface Forwarded extends AsyncDisposable {
  /** A connection to the app. */
  readonly raw: Raw
  readonly origin: Server
}

/** The app in front of an origin. */
async function forwardedTo(origin: Server): Promise<Forwarded> {
  origin.listen(0, '127.0.0.1')
  await once(origin, 'listening')
  const { port } = origin.address() as AddressInfo
  const app = await listening(forwardingApp(nothing, { host: '127.0.0.1', port }))
  const raw = await openRaw({ port: Number(new URL(app.url).port) })
  return {
    raw,
    origin,
    async [Symbol.asyncDispose]() {
      await raw[Symbol.asyncDispose]()
      await app[Symbol.asyncDispose]()
      if (origin instanceof HttpServer) origin.closeAllConnections()
      if (origin.listening) await new Promise((resolve) => origin.close(resolve))
    },
  }
}

async function forwarded(handler: RequestListener): Promise<Forwarded> {
  return await forwardedTo(createServer(handler))
}

const get = ['GET / HTTP/1.1', 'Host: here']

test('a request comes to the origin as it was, but for what is about the connection', async () => {
  await using to = await forwarded(async (req, res) => {
    const body = Buffer.concat(await req.toArray())
    res.end(JSON.stringify([req.method, req.url, req.rawHeaders, String(body)]))
  })
  const lines = ['PUT /a%2e/../b?c=d&&e HTTP/1.1', 'hOst: here', 'X-a: 1', 'x-A: 2', 'Content-Length: 4']
  const { body } = await to.raw.ask([...lines, 'Connection: keep-alive, x-one', 'X-One: 3', 'TE: trailers'], 'body')
  expect(JSON.parse(String(body))).toEqual([
    'PUT',
    '/a%2e/../b?c=d&&e',
    ['hOst', 'here', 'X-a', '1', 'x-A', '2', 'Content-Length', '4', 'Connection', 'close'],
    'body',
  ])
})

test('a body whose length was not told is framed, whatever the method', async () => {
  await using to = await forwarded(async (req, res) => void res.end(Buffer.concat(await req.toArray())))
  for (const method of ['POST', 'GET', 'DELETE']) {
    const lines = [`${method} / HTTP/1.1`, 'Host: here', 'Transfer-Encoding: chunked']
    expect(String((await to.raw.ask(lines, '3\r\none\r\n0\r\n\r\n')).body)).toBe('one')
  }
})

test('an answer comes back as it was, but for what is about the connection', async () => {
  await using to = await forwarded((_req, res) => {
    res.sendDate = false
    const headers = ['Content-Length', '3', 'eTAG', '"a"', 'X-A', '1', 'x-a', '2', 'Connection', 'x-one', 'X-One', '3']
    res.writeHead(999, 'Odd Enough', [...headers, 'Proxy-Authenticate', 'Basic'])
    res.end('abc')
  })
  const answer = await to.raw.ask(get)
  expect(answer).toMatchObject({ status: 999, reason: 'Odd Enough', body: Buffer.from('abc') })
  expect(answer.headers.filter(([name]) => !['Date', 'Keep-Alive'].includes(name))).toEqual([
    ['Content-Length', '3'],
    ['eTAG', '"a"'],
    ['X-A', '1'],
    ['x-a', '2'],
    ['Connection', 'keep-alive'],
  ])
})

test('an answer comes back as the origin writes it', async () => {
  let answer: ServerResponse | undefined
  await using to = await forwarded((_req, res) => {
    answer = res
    res.write('one')
  })
  to.raw.send(message(get))
  await to.raw.head()
  expect(String(await to.raw.piece())).toBe('one')
  answer?.end('two')
  expect(String(await to.raw.rest())).toBe('two')
})

test('an origin that is not there, or ends before its headers, is a 502', async () => {
  await using to = await forwarded((req) => void req.socket.destroy())
  expect((await to.raw.ask(get)).status).toBe(502)
  to.origin.close()
  expect((await to.raw.ask(get)).status).toBe(502)
})

test('an answer that is cut off at the origin is cut off at the client', async () => {
  await using to = await forwarded((_req, res) => {
    res.writeHead(200, { 'Content-Length': 10 })
    res.write('half', () => res.destroy())
  })
  await expect(to.raw.ask(get)).rejects.toThrow('The connection ended')
})

test('an answer that becomes nonsense at the origin is cut off at the client', async () => {
  const answer = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nnonsense\r\n'
  await using to = await forwardedTo(createTcpServer((socket) => void socket.once('data', () => socket.end(answer))))
  await expect(to.raw.ask(get)).rejects.toThrow('The connection ended')
})

test('an answer with more bytes than it says is as long as it says', async () => {
  const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef'
  await using to = await forwardedTo(createTcpServer((socket) => void socket.once('data', () => socket.end(answer))))
  expect(String((await to.raw.ask(get)).body)).toBe('abc')
})

test.for(['before', 'after'])('a client that goes away %s the headers is gone at the origin too', async (when) => {
  const origin = createServer((_req, res) => void (when === 'after' && res.write('half')))
  await using to = await forwardedTo(origin)
  const request = once(origin, 'request') as Promise<[IncomingMessage]>
  to.raw.send(message(get))
  const [{ socket }] = await request
  const closed = once(socket, 'close')
  if (when === 'after') await to.raw.head()
  to.raw.drop()
  await closed
  expect(socket.destroyed).toBe(true)
})

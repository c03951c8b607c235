import { EventEmitter, once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { message, openRaw, valuesOf, type Raw } from './raw.ts'

interface Served extends AsyncDisposable {
  readonly raw: Raw
}

/** A server of Node's own, and a connection to it. */
async function served(handler: RequestListener): Promise<Served> {
  return await connected(createServer({ keepAliveTimeout: 60_000 }, handler))
}

/** A server that says these pieces, one packet each, to whoever connects, and a connection to it. */
async function saying(pieces: readonly string[]): Promise<Served> {
  return await connected(
    createTcpServer((socket) => {
      socket.on('error', () => {})
      socket.setNoDelay(true)
      void say(socket, pieces).then(() => void socket.end())
    }),
  )
}

async function say(socket: Socket, pieces: readonly string[]): Promise<void> {
  for (const piece of pieces) await new Promise<void>((sent) => socket.write(piece, 'latin1', () => setImmediate(sent)))
}

async function connected(
  server: ReturnType<typeof createServer> | ReturnType<typeof createTcpServer>,
): Promise<Served> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const raw = await openRaw(server.address() as AddressInfo)
  return {
    raw,
    async [Symbol.asyncDispose]() {
      await raw[Symbol.asyncDispose]()
      const closed = once(server, 'close')
      server.close()
      await closed
    },
  }
}

const get = ['GET / HTTP/1.1', 'Host: here']

describe('what it sends', () => {
  test('is what it is given, spelling, order and repetition of the headers too', async () => {
    await using server = await served((req, res) => void res.end(JSON.stringify([req.method, req.url, req.rawHeaders])))
    const { body } = await server.raw.ask(['PURGE /a%2e?b HTTP/1.1', 'hOst: here', 'X-a: é', 'x-A: 2'])
    expect(JSON.parse(String(body))).toEqual(['PURGE', '/a%2e?b', ['hOst', 'here', 'X-a', 'é', 'x-A', '2']])
  })
})

describe('what it reads', () => {
  test('is a body with a length, with the headers as they came', async () => {
    await using server = await served((_req, res) => {
      res.sendDate = false
      res.writeHead(203, 'Well', ['Content-Length', '3', 'Set-Cookie', 'a=1', 'set-cookie', 'b=2'])
      res.end(Buffer.of(0, 255, 10))
    })
    const answer = await server.raw.ask([...get, 'Connection: close'])
    expect(answer).toEqual({
      status: 203,
      reason: 'Well',
      headers: [
        ['Content-Length', '3'],
        ['Set-Cookie', 'a=1'],
        ['set-cookie', 'b=2'],
        ['Connection', 'close'],
      ],
      interim: [],
      body: Buffer.of(0, 255, 10),
      trailers: [],
    })
    expect(valuesOf(answer, 'SET-COOKIE')).toEqual(['a=1', 'b=2'])
  })

  test('has no body where there can be none, whatever its length', async () => {
    await using server = await served((req, res) => {
      res.writeHead(
        req.url === '/' ? 200 : Number(req.url?.slice(1)),
        req.url === '/204' ? {} : { 'Content-Length': 5 },
      )
      res.end()
    })
    for (const [method, path] of [
      ['HEAD', '/'],
      ['GET', '/304'],
      ['GET', '/204'],
    ]) {
      expect((await server.raw.ask([`${method} ${path} HTTP/1.1`, 'Host: here'])).body).toHaveLength(0)
    }
    expect(server.raw.unread).toHaveLength(0)
  })

  test('is one answer after the other on the same connection, also when all were asked for at once', async () => {
    await using server = await served((req, res) => {
      if (req.url === '/2') res.write('of no length: ')
      res.end(req.url)
    })
    for (const path of ['/1', '/2', '/3']) server.raw.send(message([`GET ${path} HTTP/1.1`, 'Host: here']))
    const bodies = [await server.raw.answer(), await server.raw.answer(), await server.raw.answer()]
    expect(bodies.map(({ body }) => String(body))).toEqual(['/1', 'of no length: /2', '/3'])
    expect(server.raw.unread).toHaveLength(0)
  })

  test('is the same when it comes byte by byte', async () => {
    const text =
      'HTTP/1.1 200 OK\r\nA: 1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\nc\r\n,\r\ntwo,\r\n0\r\n\r\n0\r\nZ: 2\r\n\r\n'
    await using server = await saying(text.split(''))
    const { body, trailers, headers } = await server.raw.answer()
    expect([String(body), trailers, headers[0]]).toEqual(['one,\r\ntwo,\r\n0\r\n', [['Z', '2']], ['A', '1']])
  })
})

describe('what it does not take for an answer', () => {
  const ok = 'HTTP/1.1 200 OK\r\n'

  test.for([
    ['a body that is cut off', `${ok}Content-Length: 5\r\n\r\nhal`, 'The connection ended, expected 2 more bytes'],
    ['a chunk that is cut off', `${ok}Transfer-Encoding: chunked\r\n\r\n5\r\nhal`, 'expected 2 more bytes'],
    ['chunks without an end', `${ok}Transfer-Encoding: chunked\r\n\r\n3\r\nhal\r\n`, 'expected a line, got nothing'],
    [
      'a chunk that is longer than its size',
      `${ok}Transfer-Encoding: chunked\r\n\r\n2\r\nhal\r\n0\r\n\r\n`,
      'a chunk to end',
    ],
    [
      'a size of a chunk that is none',
      `${ok}Transfer-Encoding: chunked\r\n\r\n0x2\r\nha\r\n`,
      'the size of a chunk, got "0x2"',
    ],
    ['a head that is cut off', `${ok}Content-Le`, 'expected a line, got "Content-Le"'],
    ['two framings', `${ok}Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 'one framing'],
    ['two lengths', `${ok}Content-Length: 0\r\ncontent-length: 0\r\n\r\n`, 'one Content-Length, got 0 and 0'],
    ['a length that is none', `${ok}Content-Length: +0\r\n\r\n`, 'one Content-Length, got +0'],
    ['another coding', `${ok}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`, 'got gzip, chunked'],
    ['a line without CR', 'HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n', 'CRLF'],
    ['a line that is no header', `${ok}Content-Length : 0\r\n\r\n`, 'a header, got "Content-Length : 0"'],
    [
      'a line that is no status',
      'okHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
      'a status line, got "okHTTP/1.1 200 OK"',
    ],
    ['nothing', '', 'got nothing'],
  ] as const)('%s', async ([, text, words]) => {
    await using server = await saying([text])
    await expect(server.raw.answer()).rejects.toThrow(words)
  })
})

describe('how it ends', () => {
  test('a connection that is dropped in mid-body is aborted at the server', async () => {
    const failures = new EventEmitter()
    await using server = await served((req, res) => {
      res.write('half')
      req.on('error', ({ message: words }) => failures.emit('failure', words))
    })
    server.raw.send(message(['POST / HTTP/1.1', 'Host: here', 'Content-Length: 10'], 'half'))
    await server.raw.head()
    expect(String(await server.raw.piece())).toBe('half')
    const failure = once(failures, 'failure')
    server.raw.drop()
    expect(await failure).toEqual(['aborted'])
  })

  test('a connection that the server resets is told as the cause', async () => {
    const server = createTcpServer({ pauseOnConnect: true })
    const connection = once(server, 'connection') as Promise<[Socket]>
    await using connectedTo = await connected(server)
    const [socket] = await connection
    connectedTo.raw.send(message(get))
    // With bytes that it has not read, it cannot end the connection in any other way.
    socket.destroy()
    const failure = await connectedTo.raw.answer().catch((error: Error) => error)
    expect(failure).toMatchObject({ cause: { code: 'ECONNRESET' } })
  })
})

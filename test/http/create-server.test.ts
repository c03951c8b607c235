import { once } from 'node:events'
import { IncomingMessage, Server, ServerResponse, type ServerOptions } from 'node:http'
import { createServer as createHttpsServer, get as getWithTls } from 'node:https'
import type { AddressInfo } from 'node:net'
import compression from 'compression'
import cors from 'cors'
import express, { type Express } from 'express'
import session from 'express-session'
import helmet from 'helmet'
import morgan from 'morgan'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { until } from '../../tools/until.mjs'
import { createServer, messageClasses, type ExpressApp } from '../../src/express/index.ts'
import { findOpenssl, makeCertificates } from '../support/certificates.ts'
import { Listening, request } from './servers.ts'
import { shopApp } from './shop-app.ts'
import { haveOneHiddenClass, isFast } from './support/hidden-class.ts'

// How often a prototype was replaced by another. Before any import, as Express 4 keeps the function that it finds.
const replaced = vi.hoisted(() => {
  const { setPrototypeOf, getPrototypeOf } = Object
  const count = { requests: 0, responses: 0 }
  Object.setPrototypeOf = <T>(object: T, prototype: object | null): T => {
    if (getPrototypeOf(object) !== prototype) {
      if (Object.hasOwn(object as object, 'httpVersion')) count.requests++
      if (Object.hasOwn(object as object, 'sendDate')) count.responses++
    }
    return setPrototypeOf(object, prototype) as T
  }
  return count
})

async function opened(server: Server): Promise<Listening> {
  const listening = await Listening.on(server)
  onTestFinished(() => listening[Symbol.asyncDispose]())
  return listening
}

/** The same app behind `app.listen` and behind `createServer`. */
async function bothWays(app: Express): Promise<[usual: Listening, ours: Listening]> {
  const usual = app.listen(0, '127.0.0.1')
  await once(usual, 'listening')
  return [await opened(usual), await opened(createServer(app))]
}

describe('with Express', () => {
  describe('the same app answers the same, byte for byte, to', () => {
    const far = {
      'X-Forwarded-For': '203.0.113.7, 10.0.0.1',
      'X-Forwarded-Proto': 'https',
      'X-Forwarded-Host': 'www.eu.shop.test:8443',
    }
    const asks = { 'X-Some': 'thing', Accept: 'text/html;q=0.5, */*', 'Accept-Language': 'fr', Range: 'bytes=0-4,7-9' }
    const json = { 'Content-Type': 'application/json' }
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
    const requests: [what: string, text: string, expected: string | RegExp][] = [
      ['req of the app', request('GET /who?a=1&a=2&b[c]=d', asks), '"header":"thing"'],
      ['req behind a proxy', request('GET /who', { ...far, 'X-Requested-With': 'XMLHttpRequest' }), '"10.0.0.1"'],
      ['res.json', request('GET /json'), '{"plain":true,'],
      ['res.send of a text', request('GET /text'), 'a text'],
      ['res.send of bytes', request('GET /bytes'), '\x00\x01\xFE\xFF'],
      ['HEAD', request('HEAD /json'), 'Content-Length: 41'],
      ['OPTIONS', request('OPTIONS /json'), /\r\nAllow: GET, ?HEAD/],
      ['sendFile', request('GET /file'), 'MIT License'],
      ['sendFile of a range', request('GET /file', { Range: 'bytes=4-10' }), '206 Partial Content'],
      ['download', request('GET /download'), /filename="?terms.txt/],
      ['redirect', request('GET /moved'), 'Location: /json'],
      ['cookies and headers', request('GET /cookies'), 'Set-Cookie: two='],
      ['format', request('GET /format', { Accept: 'application/json' }), '"json"'],
      ['format that there is not', request('GET /format', { Accept: 'image/png' }), '406 Not Acceptable'],
      ['no content', request('GET /nothing'), '204 No Content'],
      ['jsonp', request('GET /jsonp?callback=call'), 'call({"a":1})'],
      ['what has not changed', request('GET /text', { 'If-None-Match': '*' }), '304 Not Modified'],
      ['a stream with trailers', request('GET /stream'), 'X-End: reached'],
      ['a body', request('POST /body', json, '{"a":[1]}'), '"body":{"a":[1]}'],
      ['a form', request('POST /body', form, 'a=1&b=2'), '"b":"2"'],
      [
        'a chunked body',
        request('POST /body', { ...json, 'Transfer-Encoding': 'chunked' }) + '2\r\n{}\r\n0\r\n\r\n',
        '{}',
      ],
      [
        'a body that is too large',
        request('POST /body', json, JSON.stringify('x'.repeat(200))),
        '413 Payload Too Large',
      ],
      ['a body that is none', request('POST /body', json, '{'), '400 Bad Request'],
      ['an error', request('GET /fails'), 'a fault, as it stands'],
      ['an error that is handled', request('GET /refused'), '"byMain":true'],
      ['nothing there', request('GET /nowhere'), 'Cannot GET /nowhere'],
      ['a bad escape', request('GET /shelf/%zz/1'), '400 Bad Request'],
      ['a router', request('GET /shelf/3/7?x=1'), '{"shelf":"3","item":"7"}'],
      ['an app that is mounted', request('GET /admin/who', far), '\n  "baseUrl": "/admin"'],
      ['an app on that', request('GET /admin/inner/who', far), 'inner {"ip"'],
      ['what the app on that leaves', request('GET /admin/inner/beyond', far), '\n  "baseUrl": "/admin"'],
      ['what the mounted app leaves', request('GET /admin/beyond', far), '"own":[true,true]'],
      ['an error in the mounted app', request('GET /admin/refused'), '"byMain":true'],
      ['HTTP/1.0', 'GET /who HTTP/1.0\r\n\r\n', '"own":[true,true]'],
      ['HTTP/1.0 for a stream', 'GET /stream HTTP/1.0\r\n\r\n', 'more and more'],
      ['a missing host', 'GET /who HTTP/1.1\r\n\r\n', '400 Bad Request'],
      ['what is no HTTP', 'HELO shop.example\r\n\r\n', '400 Bad Request'],
      [
        'Expect: 100-continue',
        request('POST /body', { ...json, Expect: '100-continue' }, '{}'),
        '100 Continue\r\n\r\nHTTP',
      ],
      ['another expectation', request('GET /text', { Expect: 'a wonder' }), '417 Expectation Failed'],
      ['pipelined requests', pipelined('/json', '/admin/who', '/stream', '/nowhere', '/text'), 'a text'],
    ]

    test.for(requests)('%s', async ([, text, expected]) => {
      const [usual, ours] = await bothWays(shopApp(express))
      const answer = await usual.exchange(text)
      expect(answer).toMatch(expected)
      expect(await ours.exchange(text)).toBe(answer)
    })

    test('requests through the middleware that people use', async () => {
      const log: string[] = []
      const app = express()
      app.use(
        morgan(':method :url :status :res[content-encoding] :remote-addr', { stream: { write: (l) => log.push(l) } }),
      )
      app.use(helmet(), cors({ origin: 'https://shop.example', credentials: true }), compression({ threshold: 0 }))
      // A client without a cookie begins anew.
      const genid = (): string => 'the only one'
      app.use(session({ secret: 'a secret', genid, resave: false, saveUninitialized: true }))
      app.get('/count', (req, res) => {
        const visitor = req.session as unknown as { count?: number }
        visitor.count = (visitor.count ?? 0) + 1
        res.json({ count: visitor.count, text: 'x'.repeat(5_000) })
      })
      const answers: string[] = []
      for (const way of await bothWays(app)) {
        const first = await way.exchange(request('GET /count', { 'Accept-Encoding': 'gzip' }))
        const [cookie = ''] = /connect\.sid=[^;]*/.exec(first) ?? []
        const again = await way.exchange(request('GET /count', { Cookie: cookie }))
        const preflight = await way.exchange(request('OPTIONS /count', { 'Access-Control-Request-Method': 'PUT' }))
        answers.push([first, again, preflight].join('\n'))
        await until('all is logged', () => log.length === 3 * answers.length)
      }
      expect(answers[1]).toBe(answers[0])
      for (const part of ['Content-Encoding: gzip', '"count":2', 'X-Frame-Options', 'Allow-Methods: GET']) {
        expect(answers[0]).toContain(part)
      }
      expect(log.slice(3)).toEqual(log.slice(0, 3))
    })
  })

  test('a request and its response are born with the prototypes that Express sets, which replaces none', async () => {
    const app = shopApp(express)
    const [usual, ours] = await bothWays(app)
    const born: boolean[] = []
    ours.server.prependListener('request', (req, res) => {
      born.push(Object.getPrototypeOf(req) === app.request, Object.getPrototypeOf(res) === app.response)
    })
    const replacedBy = async (way: Listening): Promise<object> => {
      const before = { ...replaced }
      for (let count = 0; count < 5; count++) await way.exchange(request('GET /shelf/3/7'))
      return { requests: replaced.requests - before.requests, responses: replaced.responses - before.responses }
    }
    expect(await replacedBy(ours)).toEqual({ requests: 0, responses: 0 })
    expect(born).toEqual(Array(10).fill(true))
    expect(await replacedBy(usual)).toEqual({ requests: 5, responses: 5 })
  })

  test('all requests of a server have one hidden class and stay fast, and so do all responses', async () => {
    const ours = await opened(createServer(shopApp(express)))
    const born: [IncomingMessage, ServerResponse][] = []
    ours.server.prependListener('request', (req, res) => {
      born.push([req, res])
    })
    // V8 settles on the size of an instance with the first ones.
    for (let count = 0; count < 20; count++) await ours.exchange(request('GET /shelf/3/7'))
    const [[req, res], [nextReq, nextRes]] = born.slice(-2) as [(typeof born)[0], (typeof born)[0]]
    expect([haveOneHiddenClass(req, nextReq), haveOneHiddenClass(res, nextRes)]).toEqual([true, true])
    expect([isFast(req), isFast(res)]).toEqual([true, true])
  })

  test('what the user adds to the prototypes is there, whether before or after the server was made', async () => {
    const app = express()
    Object.assign(app.request, { before: () => 'req before' })
    Object.assign(app.response, { before: () => 'res before' })
    Object.defineProperty(app.request, 'hostname', { get: () => 'of the user' })
    app.get('/', (req, res) => {
      const [request, response] = [req, res] as unknown as Record<'before' | 'after', () => string>[]
      const told = [request?.before(), request?.after(), response?.before(), response?.after(), req.hostname]
      res.json(told)
    })
    const [usual, ours] = await bothWays(app)
    Object.assign(app.request, { after: () => 'req after' })
    Object.assign(app.response, { after: () => 'res after' })
    const answer = await ours.exchange(request('GET /'))
    expect(answer).toContain('["req before","req after","res before","res after","of the user"]')
    expect(answer).toBe(await usual.exchange(request('GET /')))
  })

  test('prototypes that are replaced after the server was made are set as ever', async () => {
    const app = shopApp(express)
    const ours = await opened(createServer(app))
    app.request = Object.create(app.request, { ip: { value: 'made up' } }) as typeof app.request
    app.response = Object.create(app.response) as typeof app.response
    const answer = await ours.exchange(request('GET /who'))
    expect(answer).toContain('"ip":"made up"')
    expect(answer).toContain('"own":[true,true]')
  })

  test.for(['url', 'socket', 'complete'])('a getter `%s` of a prototype hides nothing of node:http', async (name) => {
    const app = shopApp(express)
    Object.defineProperty(app.request, name, { get: () => 'hidden' })
    const [usual, ours] = await bothWays(app)
    const answer = await ours.exchange(request('GET /who'))
    expect(answer).toContain('200 OK')
    expect(answer).toBe(await usual.exchange(request('GET /who')))
  })

  test('an app may be mounted on another, and have a server of its own as well', async () => {
    const [inner, outer] = [shopApp(express), express()]
    const ours = await opened(createServer(inner))
    outer.use('/inner', inner)
    const above = await opened(createServer(outer))
    for (let count = 0; count < 2; count++) {
      expect(await ours.exchange(request('GET /who'))).toContain('"own":[true,true]')
      expect(await above.exchange(request('GET /inner/who'))).toContain('"own":[true,true]')
      expect(await above.exchange(request('GET /inner/nowhere'))).toContain('Cannot GET /inner/nowhere')
    }
  })

  test('a client that goes away closes request and response, and the next is answered', async () => {
    const app = express()
    const told: string[] = []
    app.get('/slow', (req, res) => {
      req.on('aborted', () => told.push('aborted')).on('close', () => told.push(`request ${req.destroyed}`))
      res.on('close', () => told.push(`response ${res.writableFinished}`))
      told.push('begun')
    })
    app.get('/', (_req, res) => void res.send('still here'))
    for (const way of await bothWays(app)) {
      told.length = 0
      const socket = await way.connect()
      socket.write('GET /slow HTTP/1.1\r\nHost: shop\r\n\r\n')
      await until('the handler runs', () => told.length > 0)
      socket.destroy()
      await until('both are closed', () => told.length === 4)
      expect(told.toSorted()).toEqual(['aborted', 'begun', 'request true', 'response false'])
      expect(await way.exchange(request('GET /'))).toContain('still here')
    }
  })

  test('the options are those of node:http, for server, requests and responses', async () => {
    const app = express()
    app.head('/', (_req, res) => {
      // Ignored, unless the options refuse it.
      expect(() => res.write('a body')).toThrow('is not allowed')
      res.end()
    })
    app.get('/', (req, res) => void res.json([req.headers['x-twice'], req.readableHighWaterMark]))
    const limits: ServerOptions = { maxHeaderSize: 1_024, highWaterMark: 4_711, requireHostHeader: false }
    const habits: ServerOptions = { joinDuplicateHeaders: true, rejectNonStandardBodyWrites: true }
    const ours = await opened(createServer(app, { ...limits, ...habits, keepAliveTimeout: 1_234 }))
    expect(ours.server.keepAliveTimeout).toBe(1_234)
    const twice = 'GET / HTTP/1.1\r\nX-Twice: a\r\nX-Twice: b\r\nConnection: close\r\n\r\n'
    expect(await ours.exchange(twice)).toContain('["a, b",4711]')
    expect(await ours.exchange(request('HEAD /'))).toContain('200 OK')
    expect(await ours.exchange(request('GET /', { 'X-Large': 'x'.repeat(2_000) }))).toContain('431 Request Header')
  })

  test(`what express() returns is an application, and a router of Express is none`, () => {
    expect(createServer(express())).toBeInstanceOf(Server)
    expect(() => createServer(express.Router() as unknown as ExpressApp)).toThrow(refused('a function'))
  })

  const openssl = findOpenssl()
  test.skipIf(openssl === undefined)('with its classes a node:https server does the same (needs openssl)', async () => {
    const { authority, certificate, key } = await makeCertificates()
    const app = shopApp(express)
    const server = createHttpsServer({ cert: certificate, key, ...messageClasses(app) }, app).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const before = { ...replaced }
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/who`
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      getWithTls(url, { ca: authority, agent: false }, resolve).on('error', reject)
    })
    const told = JSON.parse((await answer.setEncoding('utf8').toArray()).join('')) as object
    expect(told).toMatchObject({ protocol: 'https', secure: true, own: [true, true], http: [true, true] })
    expect(replaced).toEqual(before)
  })
})

test('two apps have classes of their own, in one process', async () => {
  const apps = [shopApp(express), shopApp(express)]
  const servers = await Promise.all(apps.map((app) => opened(createServer(app))))
  for (const way of [...servers, ...servers]) {
    expect(await way.exchange(request('GET /who'))).toContain('"own":[true,true]')
  }
})

function refused(got: string): TypeError {
  return new TypeError(`Expected \`app\` to be an Express application, got ${got}`)
}

describe('what is refused', () => {
  const plain = Object.assign(() => {}, { request: {}, response: {} })
  const half = Object.assign(() => {}, { request: express().request })

  test.for<[unknown, string]>([
    [5, '5 (number)'],
    [undefined, 'undefined'],
    [null, 'null'],
    [() => {}, 'a function'],
    [plain, 'a function'],
    [half, 'a function'],
    [{ request: express().request, response: express().response }, 'an object'],
  ])('%s as an app', ([app, got]) => {
    expect(() => createServer(app as ExpressApp)).toThrow(refused(got))
    expect(() => messageClasses(app as ExpressApp)).toThrow(refused(got))
  })

  test.for<[unknown, string]>([
    [null, 'null'],
    ['3000', '"3000" (string)'],
    [() => {}, 'a function'],
  ])('%s as options', ([options, got]) => {
    const wanted = new TypeError(`Expected the options of createServer to be an object, got ${got}`)
    expect(() => createServer(express(), options as object)).toThrow(wanted)
  })

  test.for(Object.entries({ IncomingMessage, ServerResponse }))('a class %s of the user', ([name, given]) => {
    const wanted = `Expected no \`${name}\` in the options of createServer, which makes it, got a function`
    expect(() => createServer(express(), { [name]: given } as object)).toThrow(new TypeError(wanted))
    expect(createServer(express(), { [name]: undefined } as object)).toBeInstanceOf(Server)
  })
})

/** Requests on one connection, each sent before the one before it is answered; after the last the server closes it. */
function pipelined(...paths: string[]): string {
  const last = paths.length - 1
  return paths.map((path, index) => request(`GET ${path}`, index < last ? { Connection: 'keep-alive' } : {})).join('')
}

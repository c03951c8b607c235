import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import express, { type RequestHandler } from 'express'
import { describe, expect, test } from 'vitest'
import { cacheResponses } from '../../src/express/index.ts'
import { Gate, siteOn, siteWith } from './support/site.ts'

/** Replaces `end` by one that writes what it is given, and then ends with nothing. */
const writesAndEnds: RequestHandler = (_req, res, next) => {
  const end = res.end.bind(res) as () => ServerResponse
  res.end = ((...[chunk, encoding]: [unknown?, BufferEncoding?]) => {
    if (chunk !== undefined && typeof chunk !== 'function') res.write(chunk as string, encoding ?? 'utf8')
    return end()
  }) as typeof res.end
  next()
}

/** Replaces `end` by one that tells first how long the answer took. */
const saysHead: RequestHandler = (_req, res, next) => {
  const end = res.end.bind(res) as (...args: unknown[]) => ServerResponse
  res.end = ((...args: unknown[]) => {
    if (!res.headersSent) res.writeHead(res.statusCode)
    return end(...args)
  }) as typeof res.end
  next()
}

describe.each([
  ['writes what it is given, and ends', writesAndEnds],
  ['says the head first', saysHead],
])('a middleware whose `end` %s', (_name, wrapper) => {
  test.each(['before the cache', 'behind the cache'])('%s sends each part once', async (place) => {
    let runs = 0
    await using site = await siteWith((app, cache) => {
      const stack = [wrapper, cacheResponses(cache)]
      app.use(...(place === 'before the cache' ? stack : stack.toReversed()))
      app.get('/end', (_req, res) => void res.end(`run ${++runs}`))
      app.get('/write', (_req, res) => {
        res.write('run ')
        res.end(String(++runs))
      })
      app.get('/send', (_req, res) => void res.send(`run ${++runs}`))
      app.get('/json', (_req, res) => void res.json(`run ${++runs}`))
    })
    for (const path of ['/end', '/write', '/send', '/json']) {
      const first = await site.get(path)
      await site.stored()
      const second = await site.get(path)
      expect(first.text).toMatch(/^"?run \d"?$/)
      expect(first.cache).toBe('herdless; fwd=uri-miss; stored')
      expect(second.text).toBe(first.text)
      expect(second.cache).toMatch(/^herdless; hit/)
    }
    expect(runs).toBe(4)
  })
})

/** Has a method of the response be one that nobody can replace. */
function fixed(method: 'end' | 'writeHead' | 'write'): RequestHandler {
  return (_req, res, next) => {
    const value = res[method].bind(res)
    Object.defineProperty(res, method, { value, configurable: false, writable: false })
    next()
  }
}

const frozen: RequestHandler = (req, _res, next) => (Object.freeze(req.headers), next())

describe('what cannot be watched', () => {
  test.each([
    ['a response whose `end` cannot be replaced', fixed('end')],
    ['a response whose `write` cannot be replaced', fixed('write')],
    ['a request whose fields cannot be changed', frozen],
  ])('%s: the handler answers as without a cache', async (_name, middleware) => {
    let runs = 0
    await using site = await siteWith((app, cache) => {
      app.use(middleware, cacheResponses(cache))
      app.get('/', (req, res) => void res.send(`run ${++runs}, ${req.get('range') ?? 'whole'}`))
    })
    for (const run of [1, 2]) {
      const reply = await site.get('/', { range: 'bytes=0-' })
      expect(reply).toMatchObject({ status: 200, cache: 'herdless; fwd=bypass; detail=again' })
      expect(reply.text).toBe(`run ${run}, bytes=0-`)
    }
  })

  test('a handler of node:http that throws ends the connection, and the next one is run', async () => {
    let runs = 0
    await using site = await siteOn(async (cache) => {
      const middleware = cacheResponses(cache)
      return createServer((req: IncomingMessage, res) => {
        middleware(req, res, () => {
          if (++runs === 1) throw new Error('sorry')
          res.end(`run ${runs}`)
        })
      })
    })
    await expect(site.get('/')).rejects.toThrow('socket hang up')
    expect((await site.get('/')).text).toBe('run 2')
  })
})

describe('req.cache', () => {
  test('of the app is left as it is, and tells clients apart as whatever stands before the cache', async () => {
    await using site = await siteWith((app, cache) => {
      app.use((req, _res, next) => {
        Object.assign(req, { cache: { of: req.get('x-who') } })
        next()
      })
      app.use(cacheResponses(cache))
      app.get('/', (req, res) => void res.json(req.cache))
    })
    const [ada, bob] = [await site.get('/', { 'x-who': 'ada' }), await site.get('/', { 'x-who': 'bob' })]
    expect([ada.text, bob.text]).toEqual(['{"of":"ada"}', '{"of":"bob"}'])
    expect(ada.cache).toBe('herdless; fwd=uri-miss; detail=undeclared:req.cache')
    expect((await site.get('/', { 'x-who': 'ada', cookie: 'a=b' })).text).toBe('{"of":"ada"}')
  })

  test('that the prototype of requests has is left, too', async () => {
    await using site = await siteWith((app, cache) => {
      Object.defineProperty(app.request, 'cache', { get: () => 'of the app', configurable: true })
      app.use(cacheResponses(cache))
      app.get('/', (req, res) => void res.json(req.cache))
    })
    expect((await site.get('/')).text).toBe('"of the app"')
  })

  test('is told by the nearest of several caches', async () => {
    await using site = await siteWith((app, cache) => {
      const inner = express.Router().use(cacheResponses(cache, { skip: () => false }))
      inner.get('/', (req, res) => void res.json(req.cache))
      app.use(cacheResponses(cache), inner)
    })
    expect(JSON.parse((await site.get('/')).text)).toMatchObject({ forwarded: expect.any(String) as string })
  })
})

describe('an error while an answer is sent', () => {
  const failing = (): never => {
    throw new Error('no answer')
  }

  test('to a POST cuts off its client, and nothing else', async () => {
    await using site = await siteWith((app, cache) => {
      app.use(cacheResponses(cache))
      app.post('/', (_req, res) => void res.end(42))
      app.get('/', (_req, res) => void res.send('page'))
    })
    await expect(site.ask('/', { method: 'POST' })).rejects.toThrow('socket hang up')
    expect((await site.get()).text).toBe('page')
  })

  test('of a growing answer cuts off its client, and no other that waits for it', async () => {
    const [head, end] = [new Gate(), new Gate()]
    let requests = 0
    await using site = await siteWith((app, cache) => {
      app.use((_req, res, next) => {
        const isFailing = ++requests === 2
        const writeHead = res.writeHead.bind(res) as (...args: unknown[]) => ServerResponse
        res.writeHead = ((...args: unknown[]) => (isFailing ? failing() : writeHead(...args))) as typeof res.writeHead
        next()
      })
      app.get('/', cacheResponses(cache), async (_req, res) => {
        await head.opened
        res.write('pa')
        await end.opened
        res.end('ge')
      })
    })
    const replies: Promise<unknown>[] = []
    for (let count = 1; count <= 3; count++) {
      replies.push(site.get().then(({ text, cache }) => [text, cache.slice('herdless; fwd=uri-miss; '.length)]))
      await site.missed(count)
    }
    const [first, second, third] = replies
    head.open()
    await expect(second).rejects.toThrow('socket hang up')
    end.open()
    expect(await first).toEqual(['page', 'stored'])
    expect(await third).toEqual(['page', 'collapsed'])
  })
})

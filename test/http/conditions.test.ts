import type { Request, Response } from 'express'
import { describe, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { siteOf, type Asked } from './support/site.ts'

const digits = '0123456789'
const changed = 'Tue, 01 Sep 2026 00:00:00 GMT'

/** Answers with ten digits, and keeps what it was asked. */
function page(say: (res: Response) => unknown = () => undefined): {
  handler: (req: Request, res: Response) => void
  readonly asked: Request[]
} {
  const asked: Request[] = []
  return {
    asked,
    handler: (req, res) => {
      asked.push(req)
      res.set({ ETag: '"one"', 'Last-Modified': changed, 'Content-Type': 'text/plain' })
      say(res)
      res.send(digits)
    },
  }
}

describe('from the copy', () => {
  test.for<[string, Record<string, string>, number]>([
    ['the tag', { 'if-none-match': '"one"' }, 304],
    ['the tag, weakly', { 'if-none-match': 'W/"one"' }, 304],
    ['one of some tags', { 'if-none-match': '"zero", "one"' }, 304],
    ['any tag', { 'if-none-match': '*' }, 304],
    ['another tag', { 'if-none-match': '"two"' }, 200],
    ['another tag, though the date is right', { 'if-none-match': '"two"', 'if-modified-since': changed }, 200],
    ['the date', { 'if-modified-since': changed }, 304],
    ['a later date', { 'if-modified-since': 'Wed, 02 Sep 2026 00:00:00 GMT' }, 304],
    ['an earlier date', { 'if-modified-since': 'Mon, 31 Aug 2026 00:00:00 GMT' }, 200],
    ['no date', { 'if-modified-since': 'yesterday' }, 200],
  ])('a client that has %s', async ([, headers, status]) => {
    const { handler, asked } = page()
    await using site = await siteOf(handler)
    await site.get()
    for (const method of ['GET', 'HEAD']) {
      const reply = await site.get('/', headers, { method })
      expect([method, reply.status]).toEqual([method, status])
      expect(reply.text).toBe(status === 200 && method === 'GET' ? digits : '')
      expect(reply.headers.etag).toBe('"one"')
      expect(reply.headers['content-length']).toBe(status === 200 ? '10' : undefined)
      expect(reply.headers['content-type']).toBe(status === 200 ? 'text/plain; charset=utf-8' : undefined)
      expect(reply.headers.age).toMatch(/^\d+$/)
      expect(reply.cache).toContain('hit')
    }
    expect(asked).toHaveLength(1)
  })

  test.for<[string, Record<string, string>, number, string]>([
    ['bytes=2-4', {}, 206, '234'],
    ['bytes=7-', {}, 206, '789'],
    ['bytes=-3', {}, 206, '789'],
    ['bytes=0-99', {}, 206, digits],
    ['bytes=10-', {}, 416, ''],
    ['bytes=4-2', {}, 200, digits],
    ['lines=1-2', {}, 200, digits],
    ['bytes=2-4', { 'if-range': '"one"' }, 206, '234'],
    ['bytes=2-4', { 'if-range': '"two"' }, 200, digits],
    ['bytes=2-4', { 'if-range': 'W/"one"' }, 200, digits],
    ['bytes=2-4', { 'if-range': changed }, 206, '234'],
    ['bytes=2-4', { 'if-none-match': '"one"' }, 304, ''],
  ])('Range: %s with %j is %i', async ([range, headers, status, body]) => {
    const { handler, asked } = page()
    await using site = await siteOf(handler)
    await site.get()
    const reply = await site.get('/', { range, ...headers })
    expect([reply.status, reply.text]).toEqual([status, body])
    const start = digits.indexOf(body)
    const part = { 206: `bytes ${start}-${start + body.length - 1}/10`, 416: 'bytes */10' }[status]
    expect(reply.headers['content-range']).toBe(part)
    expect(reply.headers['content-length']).toBe(status === 304 ? undefined : String(body.length))
    expect(reply.headers.etag).toBe(status === 416 ? undefined : '"one"')
    expect(asked).toHaveLength(1)
  })

  test('HEAD with a Range is the whole head', async () => {
    const { handler } = page()
    await using site = await siteOf(handler)
    await site.get()
    const reply = await site.get('/', { range: 'bytes=2-4' }, { method: 'HEAD' })
    expect([reply.status, reply.headers['content-length'], reply.text]).toEqual([200, '10', ''])
  })
})

describe('while it is filled', () => {
  test('what a client has, or wants a part of, does not reach the handler', async () => {
    const { handler, asked } = page()
    await using site = await siteOf(handler)
    const own = { range: 'bytes=2-4', 'if-range': '"one"', 'if-none-match': '"one"', 'if-modified-since': changed }
    expect((await site.get('/', { ...own, 'x-one': '1' })).text).toBe(digits)
    const [req] = asked
    expect(asked).toHaveLength(1)
    expect((await site.get()).text).toBe(digits)
    // When it has ended the request is as it came: nobody finds half of one.
    for (const name of Object.keys(own)) expect(req?.headers[name]).toBe(own[name as keyof typeof own])
  })

  test('by none of the ways in which it can be read', async () => {
    const ways: Record<string, (req: Request) => unknown> = {
      headers: ({ headers }) => headers['range'] ?? headers['if-none-match'],
      get: (req) => req.get('Range') ?? req.header('If-None-Match'),
      in: ({ headers }) => 'range' in headers,
      own: ({ headers }) => Object.hasOwn(headers, 'if-none-match'),
      keys: ({ headers }) => Object.keys(headers).includes('range'),
      copy: ({ headers }) => ({ ...headers })['range'],
      distinct: ({ headersDistinct }) => headersDistinct['range'],
      raw: ({ rawHeaders }) => rawHeaders.some((each) => /range|if-none-match|bytes/i.test(each)),
      fresh: (req) => req.fresh,
      range: (req) => req.range(10),
      json: ({ headers }) => JSON.stringify(headers).includes('range'),
    }
    const found: Record<string, unknown> = {}
    await using site = await siteOf((req, res) => {
      for (const [name, way] of Object.entries(ways)) if (way(req)) found[name] = way(req)
      res.set('ETag', '"one"').send(digits)
    })
    const reply = await site.get('/', { range: 'bytes=2-4', 'if-none-match': '"one"' })
    // What looks at all fields is not stored: its own client is answered as without a cache.
    expect([reply.status, reply.cache]).toEqual([304, expect.stringContaining('undeclared:*')])
    expect(found).toEqual({})
  })
})

describe('what the cache passes', () => {
  test.for<[string, Asked]>([
    ['POST', { method: 'POST', body: 'body' }],
    ['a cookie', { headers: { cookie: 'a=1' } }],
    ['authorization', { headers: { authorization: 'Bearer 1' } }],
    ['a body', { body: 'body' }],
    ['If-Match', { headers: { 'if-match': '"one"' } }],
    ['If-Unmodified-Since', { headers: { 'if-unmodified-since': changed } }],
  ])('%s reaches the handler as it came, and leaves no copy', async ([, asked]) => {
    const found: unknown[] = []
    await using site = await siteOf(async (req, res) => {
      found.push([req.method, req.headers, req.rawHeaders, String(Buffer.concat(await req.toArray()))])
      res.send('page')
    })
    const { headers = {}, body = '' } = asked
    const all = { ...headers, range: 'bytes=2-4', 'if-none-match': '"one"', 'x-one': '1' }
    for (let round = 0; round < 2; round++)
      expect((await site.ask('/', { ...asked, headers: all })).cache).not.toContain('hit')
    expect(found).toHaveLength(2)
    for (const each of found) {
      const [method, seen, raw, text] = each as [string, Record<string, string>, string[], string]
      expect([method, text]).toEqual([asked.method ?? 'GET', body])
      expect(seen).toMatchObject(all)
      expect(raw).toEqual(expect.arrayContaining(Object.values(all)))
    }
    expect((await site.get()).cache).not.toContain('hit')
  })

  test('an upgrade reaches the handler as it came', async () => {
    await using site = await siteOf((req, res) => void res.send(`${req.headers.upgrade} ${req.headers.connection}`))
    const headers = { connection: 'Upgrade', upgrade: 'h2c' }
    for (let round = 0; round < 2; round++) expect((await site.get('/', headers)).text).toBe('h2c Upgrade')
    expect((await site.get('/')).text).toContain('undefined')
  })

  test('a handler whose answers are not stored still answers 304 to who has them', async () => {
    const { handler, asked } = page((res) => res.set('Cache-Control', 'private'))
    await using site = await siteOf(handler, { apps: 2 })
    await site.get()
    for (const app of [0, 1]) {
      const reply = await site.get('/', { 'if-none-match': '"one"' }, { app })
      expect([reply.status, reply.text]).toEqual([304, ''])
    }
    expect(asked).toHaveLength(3)
  })

  test('what is skipped is as if there was no cache', async () => {
    const { handler, asked } = page()
    await using site = await siteOf(handler, { options: { skip: (req) => req.url === '/' } })
    for (let round = 0; round < 2; round++) expect((await site.get()).cache).toBe('undefined')
    expect((await site.get('/', { 'if-none-match': '"one"' })).status).toBe(304)
    expect(asked).toHaveLength(3)
  })
})

describe('what a request asks of caches', () => {
  test('is not heeded by default', async () => {
    const { handler, asked } = page()
    await using site = await siteOf(handler)
    for (const control of ['max-age=60', 'no-cache', 'no-store', 'max-age=0', 'only-if-cached', 'min-fresh=999'])
      expect((await site.get('/', { 'cache-control': control, pragma: 'no-cache' })).text).toBe(digits)
    expect(asked).toHaveLength(1)
  })

  test('is heeded where that is wanted', async () => {
    const { handler, asked } = page()
    await using site = await siteOf(handler, { options: { honorRequestDirectives: true } })
    expect((await site.get('/', { 'cache-control': 'only-if-cached' })).status).toBe(504)
    await site.get()
    expect((await site.get('/', { 'cache-control': 'only-if-cached' })).status).toBe(200)
    expect(asked).toHaveLength(1)
    for (const control of ['no-cache', 'max-age=0', 'min-fresh=999']) await site.get('/', { 'cache-control': control })
    expect(asked).toHaveLength(4)
    await site.get('/', { pragma: 'no-cache' })
    expect(asked).toHaveLength(5)
  })

  test('makes a variant where it is heeded, and the handler reads it', async () => {
    await using site = await siteOf(
      (req, res) => void res.send(`${req.get('cache-control') ?? 'none'}, ${req.get('pragma') ?? 'none'}`),
      { options: { honorRequestDirectives: true } },
    )
    for (const [headers, text] of [
      [{ 'cache-control': 'max-age=99' }, 'max-age=99, none'],
      [{ pragma: 'odd' }, 'none, odd'],
      [{}, 'none, none'],
    ] as const) {
      expect((await site.get('/', headers)).text).toBe(text)
      await site.stored()
    }
    expect(await site.get()).toMatchObject({ text: 'none, none', cache: expect.stringContaining('hit') as string })
  })

  test('only-if-cached finds a variant whose address has a copy in the process', async () => {
    await using site = await siteOf((req, res) => void res.vary('X-Lang').send(`in ${req.get('x-lang')}`), {
      cache: { near: {} },
      options: { honorRequestDirectives: true },
    })
    const asked = { 'x-lang': 'en' }
    await until('copies are served', async () => {
      await site.get('/', asked)
      return (site.caches[0]?.stats().nearHits ?? 0) > 1
    })
    const { status, text } = await site.get('/', { ...asked, 'cache-control': 'only-if-cached' })
    expect([status, text]).toEqual([200, 'in en'])
  })
})

describe('an answer that has no tag', () => {
  test('is given one when it is stored, the same for the same bytes, which the handler is never asked about', async () => {
    const asked: (string | undefined)[] = []
    await using site = await siteOf(
      (req, res) => {
        asked.push(req.headers['if-none-match'])
        res.writeHead(200, { 'Content-Type': 'text/plain' })
        res.end(req.url === '/other' ? 'other' : digits)
      },
      { options: { ttl: 1, grace: '1m' } },
    )
    expect((await site.get()).headers.etag).toBeUndefined()
    await site.filled(1)
    const { etag = '' } = (await site.get()).headers
    expect(etag).toMatch(/^W\/"herdless-[\w-]{27}"$/)
    await site.filled(2)
    const same = await site.get('/', { 'if-none-match': etag })
    expect([same.status, same.text, same.headers.etag]).toEqual([304, '', etag])
    await site.filled(3)
    expect(asked).toEqual([undefined, undefined, undefined])
    await site.get('/other')
    await site.filled(4)
    expect((await site.get('/other', { 'if-none-match': etag })).status).toBe(200)
  })

  test('is confirmed by a 304, whose cookies reach its own client', async () => {
    await using site = await siteOf((req, res) => {
      if (req.headers['if-none-match'] === '"one"') return void res.writeHead(304, { 'Set-Cookie': 'rolling=2' }).end()
      res.writeHead(200, { ETag: '"one"', 'Cache-Control': 'max-age=0' }).end(digits)
    })
    await site.get()
    await site.filled(1)
    const again = await site.get()
    expect([again.status, again.text, again.headers['set-cookie']]).toEqual([200, digits, ['rolling=2']])
    await site.filled(2)
    expect((await site.get('/', { 'if-none-match': '"other"' })).headers['set-cookie']).toEqual(['rolling=2'])
  })

  test('keeps its date, by which the handler is asked', async () => {
    const asked: (string | undefined)[] = []
    await using site = await siteOf(
      (req, res) => {
        asked.push(req.headers['if-modified-since'])
        if (req.headers['if-modified-since'] === changed) return void res.writeHead(304).end()
        res.writeHead(200, { 'Last-Modified': changed, 'Cache-Control': 'max-age=0' }).end(digits)
      },
      { apps: 2 },
    )
    await site.get()
    await site.filled(1)
    const again = await site.get('/', {}, { app: 1 })
    expect([again.status, again.text]).toEqual([200, digits])
    expect(again.headers.etag).toMatch(/^W\/"herdless-/)
    expect(asked).toEqual([undefined, changed])
  })

  test.for([
    ['a 404', (res: Response): unknown => res.writeHead(404, { 'Cache-Control': 'max-age=60' }).end(digits), undefined],
    ['one that has', (res: Response): unknown => res.writeHead(200, { ETag: '"own"' }).end(digits), '"own"'],
  ] as const)('%s is left as it is', async ([, say, etag]) => {
    await using site = await siteOf((_req, res) => void say(res))
    await site.get()
    await site.filled(1)
    const again = await site.get()
    expect(again.cache).toContain('hit')
    expect(again.headers.etag).toBe(etag)
  })
})

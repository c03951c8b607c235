import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Request, Response } from 'express'
import { describe, expect, test } from 'vitest'
import type { Answer } from './attacks/raw.ts'
import { cacheResponses } from '../../src/express/index.ts'
import { fileOf, siteOf, siteWith, type Site } from './support/site.ts'

const every = Buffer.from(Array.from({ length: 256 }, (_, index) => index))

type Way = (res: Response) => unknown

/** All ways of answering, and what the body is. */
const ways: Record<string, readonly [Way, string | Buffer]> = {
  'res.json': [(res) => res.json({ a: 'ä' }), '{"a":"ä"}'],
  'res.send of text': [(res) => res.send('<p>ä</p>'), '<p>ä</p>'],
  'res.send of bytes': [(res) => res.send(every), every],
  'res.sendStatus': [(res) => res.sendStatus(203), 'Non-Authoritative Information'],
  'end(data)': [(res) => res.end('data'), 'data'],
  'end(data, encoding, callback)': [(res) => res.end('ZGF0YQ==', 'base64', () => {}), 'data'],
  'end(callback)': [(res) => res.end(() => {}), ''],
  'end() with nothing': [(res) => res.end(), ''],
  'end of hex': [(res) => res.end('00ff10', 'hex'), Buffer.from([0, 255, 16])],
  'write and end': [(res) => (res.write('a'), res.write('b', () => {}), res.end('c')), 'abc'],
  'write of nothing': [(res) => (res.write(''), res.write(Buffer.alloc(0)), res.end('c')), 'c'],
  'every byte': [(res) => (res.write(every), res.end(every)), Buffer.concat([every, every])],
  'bytes that are not a Buffer': [
    (res) => (res.write(new Uint8Array(every)), res.end(new Uint8Array(every).subarray(1, 3))),
    Buffer.concat([every, every.subarray(1, 3)]),
  ],
  'bytes that are used again': [
    (res) => {
      const bytes = new Uint8Array([120, 120])
      // It has left this process when it is told.
      res.write(bytes, () => {
        bytes.fill(121)
        res.end('end')
      })
    },
    'xxend',
  ],
  pipe: [
    (res) => void Readable.from(['a', every, 'b']).pipe(res),
    Buffer.concat([Buffer.from('a'), every, Buffer.from('b')]),
  ],
  'stream.pipeline': [(res) => pipeline(Readable.from(['a', 'x'.repeat(300_000)]), res), `a${'x'.repeat(300_000)}`],
  'writeHead with an object': [(res) => res.writeHead(200, { 'X-One': 1, 'X-Two': ['a', 'b'] }).end('data'), 'data'],
  'writeHead with a flat array': [
    (res) => res.writeHead(200, ['X-One', '1', 'X-Two', 'a', 'X-Two', 'b']).end('data'),
    'data',
  ],
  'writeHead with an array of pairs': [
    (res) =>
      res
        .writeHead(200, [
          ['X-One', '1'],
          ['X-Two', 'a'],
          ['X-Two', 'b'],
        ] as never)
        .end('data'),
    'data',
  ],
  'writeHead with a reason phrase': [(res) => res.writeHead(200, 'Quite Good', { 'X-One': '1' }).end('data'), 'data'],
  'writeHead with a reason phrase alone': [(res) => res.writeHead(203, 'Odd').end('data'), 'data'],
  'writeHead over setHeader': [
    (res) => (res.setHeader('X-One', 'no'), res.writeHead(200, { 'x-one': '1' }).end('data')),
    'data',
  ],
  'setHeader with arrays': [
    (res) => (res.setHeader('Link', ['<a>', '<b>']), res.appendHeader('link', '<c>'), res.end('data')),
    'data',
  ],
  flushHeaders: [
    (res) => (res.setHeader('X-One', '1'), res.flushHeaders(), setImmediate(() => res.end('data'))),
    'data',
  ],
  'a length of its own': [(res) => (res.setHeader('Content-Length', 4), res.write('da'), res.end('ta')), 'data'],
  'a content coding of its own': [(res) => res.set('Content-Encoding', 'odd').end('data'), 'data'],
  'a redirect': [(res) => res.set('Cache-Control', 'max-age=60').redirect('/there'), 'Found. Redirecting to /there'],
  'a lasting redirect': [(res) => res.writeHead(301, { Location: '/there' }).end(), ''],
  'a 204': [(res) => res.status(204).set('Cache-Control', 'max-age=60').end(), ''],
  'a 404': [(res) => res.status(404).set('Cache-Control', 'max-age=60').send('none'), 'none'],
  'cork and uncork': [(res) => (res.cork(), res.write('a'), res.write('b'), res.uncork(), res.end('c')), 'abc'],
}
for (const [encoding, text] of [
  ['utf8', 'ä€😀'],
  ['latin1', 'äÿ'],
  ['base64', 'AP8Q'],
  ['base64url', '_-8'],
  ['hex', '00ff'],
  ['utf16le', 'ä€'],
  ['ascii', 'abc'],
] as const)
  ways[`pieces in ${encoding}`] = [
    (res) => (res.write(text, encoding), res.write(text, encoding), res.end(text, encoding)),
    Buffer.concat(Array.from({ length: 3 }, () => Buffer.from(text, encoding))),
  ]

/** Without what is of one answer alone, or tells how it came, and without the ETag of a stored answer that had none. */
function linesOf({ headers }: Answer): string[] {
  const own = /^(?:date|age|cache-status|connection|keep-alive|transfer-encoding|content-length)$/i
  return headers
    .filter(([name, value]) => !own.test(name) && !value.startsWith('W/"herdless-'))
    .map(([name, value]) => `${name}: ${value}`)
}

function valueOf({ headers }: Answer, name: string): string | undefined {
  return headers.find(([each]) => each.toLowerCase() === name)?.[1]
}

async function ask(site: Site, path = '/', lines: readonly string[] = [], method = 'GET'): Promise<Answer> {
  await using raw = await site.raw()
  return await raw.ask([`${method} ${path} HTTP/1.1`, 'Host: site', ...lines])
}

describe('served again as it was said first', () => {
  test.for(Object.keys(ways))('%s', async (name) => {
    const [way, body] = ways[name] ?? []
    let runs = 0
    await using site = await siteOf((_req, res) => (runs++, void way?.(res)))
    const first = await ask(site)
    await site.filled(1)
    const again = await ask(site)
    expect(runs).toBe(1)
    expect(first.body.equals(Buffer.from(body ?? ''))).toBe(true)
    expect(again.body.equals(first.body)).toBe(true)
    expect([again.status, again.reason]).toEqual([first.status, first.reason])
    expect(linesOf(again)).toEqual(linesOf(first))
    // The strict client has seen to it that each is framed once; a copy is framed by its length.
    expect(valueOf(again, 'content-length')).toBe(again.status === 204 ? undefined : String(again.body.length))
    expect(valueOf(again, 'age')).toMatch(/^\d+$/)
    expect(Date.parse(valueOf(again, 'date') ?? '')).toBeLessThanOrEqual(Date.now())
  })

  test('sendFile', async () => {
    const file = await fileOf(Buffer.concat(Array.from({ length: 500 }, () => every)), 'file.bin')
    await using site = await siteOf((_req, res) => res.sendFile('file.bin', { root: dirname(file), maxAge: 60_000 }))
    const first = await ask(site)
    await site.filled(1)
    await rm(file)
    const again = await ask(site)
    expect(again.body).toHaveLength(128_000)
    expect(again.body.equals(first.body)).toBe(true)
    expect(linesOf(again)).toEqual(linesOf(first))
  })
})

describe('framing', () => {
  test('the first one is framed as it is without a cache', async () => {
    const names = Object.keys(ways)
    const handler = (req: Request, res: Response): void => void ways[names[Number(req.path.slice(1))] ?? '']?.[0](res)
    await using cached = await siteOf(handler)
    await using plain = await siteOf(handler, { options: { skip: () => true } })
    for (const [index, name] of names.entries()) {
      const [one, other] = [await ask(cached, `/${index}`), await ask(plain, `/${index}`)]
      for (const field of ['content-length', 'transfer-encoding', 'connection'])
        expect([name, field, valueOf(one, field)]).toEqual([name, field, valueOf(other, field)])
      expect([name, linesOf(one)]).toEqual([name, linesOf(other)])
    }
  })

  test('the answer to a GET whose method was changed behind the cache is not stored', async () => {
    await using site = await siteOf((req, res) => {
      if (req.path === '/deleted') req.method = 'DELETE'
      res.send(req.method)
    })
    expect(valueOf(await ask(site, '/deleted'), 'cache-status')).toBe('herdless; fwd=uri-miss; detail=method')
    expect(valueOf(await ask(site, '/deleted'), 'cache-status')).toBe('herdless; fwd=uri-miss; detail=pass')
    expect(valueOf(await ask(site, '/'), 'cache-status')).toBe('herdless; fwd=uri-miss; stored')
  })

  test('a client of HTTP/1.0 is sent no chunks, first or later', async () => {
    await using site = await siteOf((_req, res) => (res.write('a'), void res.end('b')))
    for (let round = 0; round < 2; round++) {
      await using raw = await site.raw()
      raw.send('GET / HTTP/1.0\r\nHost: site\r\n\r\n')
      await raw.ended()
      expect(String(raw.unread)).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nab$/)
      expect(String(raw.unread)).not.toMatch(/transfer-encoding/i)
    }
  })

  test('a page that was made for HTTP/1.0 is not for a client of HTTP/1.1', async () => {
    await using site = await siteOf((req, res) => void res.send(`HTTP/${req.httpVersion}`))
    // What is stored for all is moved when a page for some comes.
    for (const expected of [/stored/, /stored|hit/, /hit/]) {
      await using raw = await site.raw()
      raw.send('GET / HTTP/1.0\r\nHost: site\r\n\r\n')
      await raw.ended()
      expect(String(raw.unread)).toMatch(/\r\n\r\nHTTP\/1\.0$/)
      expect(String(raw.unread)).toMatch(expected)
      await site.stored()
      const { text, cache } = await site.get()
      expect([text, cache]).toEqual(['HTTP/1.1', expect.stringMatching(expected)])
      await site.stored()
    }
  })

  test('trailers reach their client, and are not stored', async () => {
    let runs = 0
    await using site = await siteOf((_req, res) => {
      runs++
      res.setHeader('Trailer', 'X-Last')
      res.addTrailers({ 'X-Last': '1' })
      res.end('data')
    })
    for (let round = 1; round <= 2; round++) {
      const { body, trailers } = await ask(site)
      expect([String(body), trailers, runs]).toEqual(['data', [['X-Last', '1']], round])
    }
  })
})

describe('what is not stored of what is said', () => {
  test('fields of one connection, and those that Connection names', async () => {
    let runs = 0
    await using site = await siteOf((_req, res) => {
      runs++
      res.set({
        Connection: 'keep-alive, X-Hop',
        'X-Hop': '1',
        'Keep-Alive': 'timeout=99',
        'Proxy-Authenticate': 'Basic',
      })
      res.set({ Upgrade: 'h2c', TE: 'trailers', 'X-End': '1' }).send('data')
    })
    await ask(site)
    const { headers } = await ask(site)
    expect(runs).toBe(1)
    const names = headers.map(([name]) => name.toLowerCase())
    for (const name of ['x-hop', 'proxy-authenticate', 'upgrade', 'te']) expect(names).not.toContain(name)
    expect(names).toContain('x-end')
    expect(headers).not.toContainEqual(['Keep-Alive', 'timeout=99'])
  })

  test('a Date and an ETag of the handler are kept; without one there is one', async () => {
    const date = new Date(Date.now() - 30_000).toUTCString()
    await using site = await siteOf((req, res) => {
      if (req.path === '/own') res.set({ Date: date, ETag: 'W/"own"' })
      else res.sendDate = false
      res.send('data')
    })
    for (let round = 0; round < 2; round++) {
      const own = await ask(site, '/own')
      expect([valueOf(own, 'date'), valueOf(own, 'etag')]).toEqual([date, 'W/"own"'])
    }
    expect(Number(valueOf(await ask(site, '/own'), 'age'))).toBeGreaterThanOrEqual(29)
    const first = await ask(site)
    expect(valueOf(first, 'date')).toBe(undefined)
    const again = await ask(site)
    expect(Date.parse(valueOf(again, 'date') ?? '')).toBeGreaterThan(Date.now() - 60_000)
    expect(valueOf(again, 'etag')).toBe(valueOf(first, 'etag'))
  })

  test('a field set but undefined, a number, and one that is removed again', async () => {
    await using site = await siteOf((_req, res) => {
      res.set('X-Gone', '1').removeHeader('X-Gone')
      res.setHeader('X-Number', 5)
      res.writeHead(200, { 'X-None': undefined, 'X-Empty': '' })
      res.end()
    })
    const [first, again] = [await ask(site), await ask(site)]
    expect(linesOf(again)).toEqual(['X-Number: 5', 'X-Empty: '])
    expect(linesOf(first)).toEqual(linesOf(again))
  })
})

test('an error has the page that Express makes, each time', async () => {
  let runs = 0
  await using site = await siteWith((app, cache) => {
    app.use(cacheResponses(cache, { ttl: '1m' }))
    app.get('/', () => {
      throw new Error(`out of order ${++runs}`)
    })
  })
  for (const run of [1, 2]) {
    const { status, text, headers, cache } = await site.get()
    expect([status, cache, headers.age]).toEqual([500, 'herdless; fwd=uri-miss', undefined])
    expect(headers['content-type']).toBe('text/html; charset=utf-8')
    expect(text).toContain(`out of order ${run}`)
  }
})

test('callbacks, events and what a handler asks of its response are as ever', async () => {
  const seen: Record<string, unknown> = {}
  await using site = await siteOf((_req, res) => {
    seen['before'] = [res.headersSent, res.writableEnded, res.writableFinished]
    res.on('finish', () => (seen['finish'] = [res.headersSent, res.writableEnded, res.writableFinished]))
    seen['write'] = res.write('a', () => (seen['written'] = true))
    seen['within'] = [res.headersSent, res.writableEnded]
    expect(() => res.setHeader('X-Late', '1')).toThrow('after they are sent')
    expect(() => res.writeHead(500)).toThrow('after they are sent')
    seen['end'] = res.end('b', () => (seen['ended'] = true)) === res
    res.end('c')
    res.on('error', () => {})
    res.write('d')
  })
  expect((await site.get()).text).toBe('ab')
  await expect
    .poll(() => seen)
    .toEqual({
      before: [false, false, false],
      write: true,
      written: true,
      within: [true, false],
      end: true,
      ended: true,
      finish: [true, true, true],
    })
  expect((await site.get()).text).toBe('ab')
})

import { createReadStream } from 'node:fs'
import { Agent, type ServerResponse } from 'node:http'
import { gunzipSync } from 'node:zlib'
import compression from 'compression'
import { describe, expect, test } from 'vitest'
import { cacheResponses } from '../../src/express/index.ts'
import { until } from '../../tools/until.mjs'
import { fileOf, siteOf, siteWith } from './support/site.ts'

const digits = '0123456789'
const changed = 'Tue, 01 Sep 2026 00:00:00 GMT'

// The first request has the handler fill, and the second goes past: nobody waits at an address whose answers are not stored.
describe.each([1, 2])('request %i for what is not stored', (count) => {
  const privately = { 'Cache-Control': 'private, no-cache' }

  test.for<[string, Record<string, string>, number]>([
    ['the tag', { 'if-none-match': '"one"' }, 304],
    ['the date', { 'if-modified-since': changed }, 304],
    ['another tag', { 'if-none-match': '"two"' }, 200],
    ['nothing', {}, 200],
  ])('a client that has %s', async ([, headers, status]) => {
    await using site = await siteOf((_req, res) => {
      res.set({ ...privately, ETag: '"one"', 'Last-Modified': changed, 'Set-Cookie': 'a=1' }).send(digits)
    })
    for (let before = 1; before < count; before++) await site.get()
    const reply = await site.get('/', headers)
    expect([reply.status, reply.text]).toEqual([status, status === 200 ? digits : ''])
    expect(reply.headers.etag).toBe('"one"')
    expect(reply.headers['set-cookie']).toEqual(['a=1'])
    expect(reply.headers['content-length']).toBe(status === 200 ? '10' : undefined)
    expect(reply.cache).toContain('detail')
    // On the same connection another answer comes through.
    expect((await site.get()).text).toBe(digits)
  })

  test('a body that is written in parts is not sent to a client that has it', async () => {
    await using site = await siteOf((_req, res) => {
      res.set({ ...privately, ETag: '"one"' })
      res.write('0123', () => res.write('45', () => res.end('6789')))
    })
    for (let before = 1; before < count; before++) await site.get()
    const reply = await site.get('/', { 'if-none-match': '"one"' })
    // By itself node:http would not look at what the client has.
    expect([reply.status, reply.text]).toEqual(count === 1 ? [304, ''] : [200, digits])
  })

  test.for<[string, string, string]>([
    ['bytes=2-4', '234', 'bytes 2-4/10'],
    ['bytes=7-', '789', 'bytes 7-9/10'],
    ['bytes=-3', '789', 'bytes 7-9/10'],
    ['bytes=0-0', '0', 'bytes 0-0/10'],
  ])('a client that wants %s of a file', async ([range, text, part]) => {
    const file = await fileOf(digits)
    await using site = await siteOf((_req, res) => res.sendFile(file, { headers: privately, cacheControl: false }))
    for (let before = 1; before < count; before++) await site.get()
    const { status, headers, text: sent } = await site.get('/', { range })
    expect([status, sent]).toEqual([206, text])
    expect(headers).toMatchObject({
      'content-range': part,
      'content-length': String(text.length),
      'cache-control': 'private, no-cache',
    })
  })

  test.for<[string, number]>([
    ['bytes=10-', 416],
    ['lines=1-2', 200],
  ])('a client that wants %s of a file, which it has not', async ([range, status]) => {
    const file = await fileOf(digits)
    await using site = await siteOf((_req, res) => res.sendFile(file, { headers: privately, cacheControl: false }))
    for (let before = 1; before < count; before++) await site.get()
    expect((await site.get('/', { range })).status).toBe(status)
    expect((await site.get()).text).toBe(digits)
  })

  test('a client that wants a part of what is too large', async () => {
    const file = await fileOf(digits)
    await using site = await siteOf((_req, res) => res.sendFile(file), { options: { maxBody: 5, ttl: '1m' } })
    for (let before = 1; before < count; before++) await site.get()
    const reply = await site.get('/', { range: 'bytes=1-3' })
    expect([reply.status, reply.text]).toEqual([206, '123'])
  })
})

describe('a part of what is not stored', () => {
  test('is cut out of whatever the handler writes', async () => {
    const file = await fileOf(digits)
    await using site = await siteOf((_req, res) => {
      res.set({ 'Cache-Control': 'private', 'Accept-Ranges': 'bytes', 'Content-Length': '10' })
      createReadStream(file, { highWaterMark: 2 }).pipe(res)
    })
    const reply = await site.get('/', { range: 'bytes=3-6' })
    expect([reply.status, reply.text, reply.headers['content-range']]).toEqual([206, '3456', 'bytes 3-6/10'])
  })

  test('is not made of what has no parts, or no length', async () => {
    await using site = await siteOf((req, res) => {
      res.set('Cache-Control', 'private')
      if (req.path === '/unknown') res.set('Accept-Ranges', 'bytes')
      res.write('01234')
      res.end('56789')
    })
    for (const path of ['/', '/unknown']) {
      const reply = await site.get(path, { range: 'bytes=3-6' })
      expect([reply.status, reply.text]).toEqual([200, digits])
    }
  })

  test.for(['private', 'max-age=60'])('is not cut out of what is compressed, where it is %s', async (said) => {
    await using site = await siteWith((app, cache) => {
      app.use(compression({ threshold: 0 }), cacheResponses(cache))
      app.get('/', (_req, res) => {
        res.set({ 'Cache-Control': said, 'Accept-Ranges': 'bytes', 'Content-Type': 'text/plain' }).send(digits)
      })
    })
    for (let round = 0; round < 3; round++) {
      const reply = await site.get('/', { range: 'bytes=2-5', 'accept-encoding': 'gzip' })
      expect([reply.status, reply.headers['content-range']]).toEqual([200, undefined])
      expect([reply.headers['content-encoding'], String(gunzipSync(reply.body))]).toEqual(['gzip', digits])
      await site.stored()
    }
  })

  test('is not compressed, and neither is nothing', async () => {
    await using site = await siteWith((app, cache) => {
      app.use(compression({ threshold: 0 }), cacheResponses(cache))
      app.get('/', (_req, res) => void res.set({ 'Cache-Control': 'private', ETag: '"one"' }).send(digits))
    })
    const reply = await site.get('/', { 'if-none-match': '"one"', 'accept-encoding': 'gzip' })
    expect([reply.status, reply.text, reply.headers['content-encoding']]).toEqual([304, '', undefined])
  })
})

test('a client that has its part does not wait for the rest of the body', async () => {
  const responses: ServerResponse[] = []
  await using site = await siteOf((_req, res) => {
    responses.push(res)
    res.set({ 'Cache-Control': 'private', 'Accept-Ranges': 'bytes', 'Content-Length': '10' }).write('0123')
  })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const { status, text } = await site.get('/', { range: 'bytes=1-3' }, { agent })
  expect([status, text]).toEqual([206, '123'])
  // Its connection is free, and the handler goes on for nobody.
  const next = site.get('/', {}, { agent })
  await until('the handler runs again', () => responses.length === 2)
  responses[1]?.end('456789')
  expect((await next).text).toBe(digits)
  responses[0]?.write('456')
  responses[0]?.end('789')
  expect(responses[0]?.writableEnded).toBe(true)
  agent.destroy()
})

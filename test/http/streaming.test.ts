import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { pipeline, Readable } from 'node:stream'
import { promisify } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { RequestHandler } from 'express'
import { describe, expect, onTestFinished, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import type { CacheResponsesOptions } from '../../src/express/index.ts'
import { memoryStore, type Cache } from '../../src/index.ts'
import { siteOf } from './support/site.ts'

/** An answer that arrives: what has come of its body so far, and how it ended. */
interface Arriving {
  readonly response: IncomingMessage
  body: string
  ended: 'not' | 'whole' | 'cut'
}

/** An app of one handler behind the cache. */
async function serving(handler: RequestHandler, options: CacheResponsesOptions = {}) {
  const site = await siteOf(handler, { options, cache: { store: memoryStore() } })
  onTestFinished(() => site[Symbol.asyncDispose]())
  const [port] = site.ports
  const [cache] = site.caches as [Cache]
  const ask = async (headers: Record<string, string> = {}): Promise<Arriving> => {
    const request = httpRequest({ host: '127.0.0.1', port, headers, agent: false }).end()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    const arriving: Arriving = { response, body: '', ended: 'not' }
    response.setEncoding('utf8')
    response.on('data', (text: string) => (arriving.body += text))
    response.on('close', () => (arriving.ended = response.complete ? 'whole' : 'cut'))
    response.on('error', () => undefined)
    return arriving
  }
  return { cache, ask, key: `response http://127.0.0.1:${port}/` }
}

/** A handler that writes what it is told to, when it is told to. */
function typewriter() {
  const responses: Parameters<RequestHandler>[1][] = []
  const requests: Parameters<RequestHandler>[0][] = []
  const handler: RequestHandler = (req, res) => {
    requests.push(req)
    responses.push(res)
  }
  return {
    handler,
    responses,
    requests,
    begun: (runs: number) => until('it has begun', () => responses.length === runs),
  }
}

describe('whoever waits in the process of the handler', () => {
  test('is sent what it writes, as it writes it', async () => {
    const { handler, responses, begun } = typewriter()
    const { ask } = await serving(handler)
    const asked = Array.from({ length: 5 }, () => ask())
    await begun(1)
    responses[0]?.type('text').write('one ')
    const all = await Promise.all(asked)
    await until('the first words are there', () => all.every(({ body }) => body === 'one '))
    responses[0]?.end('two')
    await until('all is there', () => all.every(({ ended }) => ended === 'whole'))
    expect(all.map(({ body }) => body)).toEqual(Array.from({ length: 5 }, () => 'one two'))
    const statuses = all.map(({ response }) => String(response.headers['cache-status'])).sort()
    expect(statuses).toEqual([
      ...Array.from({ length: 4 }, () => 'herdless; fwd=uri-miss; collapsed'),
      'herdless; fwd=uri-miss; stored',
    ])
    expect(responses).toHaveLength(1)
    expect((await ask()).response.headers['cache-status']).toMatch(/^herdless; hit/)
  })

  test('is so too when it comes late, with all that was written before', async () => {
    const { handler, responses, begun } = typewriter()
    const { ask } = await serving(handler)
    const first = ask()
    await begun(1)
    responses[0]?.type('text').write('one ')
    await first
    const late = await ask()
    await until('the first words are there', () => late.body === 'one ')
    responses[0]?.end('two')
    await until('all is there', () => late.ended === 'whole')
    expect(late.body).toBe('one two')
    expect(responses).toHaveLength(1)
  })

  test('is not when it comes after an invalidation: the handler answers it anew', async () => {
    const { handler, responses, begun } = typewriter()
    const { ask, cache, key } = await serving(handler)
    const first = ask()
    await begun(1)
    responses[0]?.type('text').write('old')
    const early = await first
    await cache.invalidate(key)
    const late = ask()
    await begun(2)
    responses[1]?.end('new')
    responses[0]?.end()
    expect(await late).toMatchObject({ body: expect.stringMatching(/^(new)?$/) })
    const answered = await late
    await until('all is there', () => answered.ended === 'whole' && early.ended === 'whole')
    expect([early.body, answered.body]).toEqual(['old', 'new'])
    expect((await ask()).response.headers['cache-status']).toMatch(/^herdless; hit/)
  })

  test('waits for the whole where the response has a tag, for that may have been invalidated', async () => {
    const { handler, responses, begun } = typewriter()
    const { ask } = await serving(handler, { tags: ['t'] })
    const asked = [ask(), ask()]
    let answered = 0
    for (const each of asked) void each.then(() => answered++)
    await begun(1)
    responses[0]?.write('one ')
    await until('its own client has the head', () => answered === 1)
    responses[0]?.end('two')
    const all = await Promise.all(asked)
    await until('all is there', () => all.every(({ ended }) => ended === 'whole'))
    expect(all.map(({ body }) => body)).toEqual(['one two', 'one two'])
    expect(responses).toHaveLength(1)
  })

  test('is cut off where the handler is, and the next request is answered anew', async () => {
    const { handler, responses, begun } = typewriter()
    const { ask } = await serving(handler)
    const asked = [ask(), ask(), ask()]
    await begun(1)
    responses[0]?.write('half')
    const all = await Promise.all(asked)
    await until('the half is there', () => all.every(({ body }) => body === 'half'))
    responses[0]?.destroy()
    await until('all are cut off', () => all.every(({ ended }) => ended === 'cut'))
    const next = ask()
    await begun(2)
    responses[1]?.end('whole')
    expect((await next).response.headers['cache-status']).toBe('herdless; fwd=uri-miss; stored')
  })

  test('is sent all of a body that turns out too large to be stored', async () => {
    const { handler, responses, begun } = typewriter()
    const { ask } = await serving(handler, { maxBody: 10 })
    const asked = [ask(), ask()]
    await begun(1)
    responses[0]?.write('1234')
    const all = await Promise.all(asked)
    for (const piece of ['5678', '9abc', 'def']) responses[0]?.write(piece)
    responses[0]?.end('g')
    await until('all is there', () => all.every(({ ended }) => ended === 'whole'))
    expect(all.map(({ body }) => body)).toEqual(['123456789abcdefg', '123456789abcdefg'])
    const next = ask()
    await begun(2)
    responses[1]?.end('anew')
    expect((await next).response.headers['cache-status']).toMatch(/detail=pass/)
  })

  test.for([
    ['', {}],
    [', in one that is too large to be stored', { maxBody: 12 }],
  ] as const)(
    'has a whole answer of its own where the handler reads late what they say differently%s',
    async ([, options]) => {
      const { handler, responses, requests, begun } = typewriter()
      const { ask } = await serving(handler, options)
      const asked = ['a', 'b', 'a', 'b'].map((tenant) => ask({ 'x-tenant': tenant }))
      let answered = 0
      for (const each of asked) void each.then(() => answered++)
      await begun(1)
      responses[0]?.type('text').write('for all, ')
      await until('those who say the same have the head', () => answered === 2)
      const tenant = requests[0]?.headers['x-tenant'] as string
      responses[0]?.end(`for ${tenant}`)
      await begun(3)
      for (const index of [1, 2]) responses[index]?.type('text').end(`own, for ${requests[index]?.headers['x-tenant']}`)
      const all = await Promise.all(asked)
      await until('all is there', () => all.every(({ ended }) => ended !== 'not'))
      expect(all.every(({ ended }) => ended === 'whole')).toBe(true)
      expect(all.map(({ body }) => body.split(', ')[1])).toEqual(['for a', 'for b', 'for a', 'for b'])
    },
  )

  test('is sent no more when the handler reads what cannot be told, also past what is stored', async () => {
    const { handler, responses, requests, begun } = typewriter()
    const { ask } = await serving(handler, { maxBody: 4 })
    const asked = [ask(), ask()]
    await begun(1)
    responses[0]?.type('text').write('for')
    const all = await Promise.all(asked)
    responses[0]?.write(' all, ')
    await until('the first words are there', () => all.every(({ body }) => body === 'for all, '))
    responses[0]?.end(`for ${requests[0]?.socket.remotePort}`)
    await until('all is over', () => all.every(({ ended }) => ended !== 'not'))
    expect(all.map(({ ended }) => ended).sort()).toEqual(['cut', 'whole'])
    expect(all.find(({ ended }) => ended === 'cut')?.body).toBe('for all, ')
  })

  test('is sent on with `undeclared: ignore`, whatever the handler reads', async () => {
    const { handler, responses, requests, begun } = typewriter()
    const { ask } = await serving(handler, { undeclared: 'ignore' })
    const asked = [ask(), ask()]
    await begun(1)
    responses[0]?.type('text').write('for')
    const all = await Promise.all(asked)
    expect(requests[0]?.socket.remotePort).toBeGreaterThan(0)
    responses[0]?.end(' all')
    await until('all is there', () => all.every(({ ended }) => ended === 'whole'))
    expect(all.map(({ body }) => body)).toEqual(['for all', 'for all'])
  })
})

test('events of a server are sent as they come, to each client its own', async () => {
  const { handler, responses, begun } = typewriter()
  const { ask } = await serving(handler)
  const asked = [ask(), ask()]
  await begun(1)
  responses[0]?.set('Content-Type', 'text/event-stream').flushHeaders()
  await begun(2)
  responses[1]?.set('Content-Type', 'text/event-stream').flushHeaders()
  const all = await Promise.all(asked)
  for (const [index, response] of responses.entries()) response.write(`data: ${index}\n\n`)
  await until(
    'each has its own',
    () =>
      all
        .map(({ body }) => body)
        .sort()
        .join('') === 'data: 0\n\ndata: 1\n\n',
  )
  expect(all.every(({ ended }) => ended === 'not')).toBe(true)
})

test('a stream of 64 MB passes as it comes, and takes no more memory than is kept', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const [pieces, length] = [1_024, 65_536]
  const held: number[] = []
  function* body(): Generator<Buffer> {
    for (let count = 0; count < pieces; count++) {
      if (count % 64 === 0) {
        collect()
        held.push(process.memoryUsage().arrayBuffers)
      }
      // Each its own: what keeps it, or lets it wait for the client, is seen.
      yield Buffer.alloc(length, 'x')
    }
  }
  const { key } = await serving((_req, res) => void pipeline(Readable.from(body()), res, () => undefined))
  const url = key.slice('response '.length)
  // In a process of its own: what a client reads takes memory, too.
  const count = `let length = 0; require('node:http').get(${JSON.stringify(url)}, (response) => {
    response.on('data', (chunk) => (length += chunk.length)).on('end', () => console.log(length, response.complete))
  })`
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', count])
  expect(stdout.trim()).toBe(`${length * pieces} true`)
  // What earlier tests have left may go meanwhile.
  const growth = held.map((bytes, index) => bytes - Math.min(...held.slice(0, index + 1)))
  expect(Math.max(...growth)).toBeLessThan(8_000_000)
})

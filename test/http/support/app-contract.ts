import type { Server } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { until } from '../../../tools/until.mjs'
import { purge, type CacheResponsesOptions } from '../../../src/express/index.ts'
import type { Cache } from '../../../src/index.ts'
import { Gate, siteOn, type Asked, type Reply, type Site } from './site.ts'

/** What the apps of one site share, and their tests look at. */
export class Story {
  /** Where the handlers have been run, and what they have done. */
  readonly runs: string[] = []
  /** What the middleware that logs has written: a status and a path. */
  readonly logged: string[] = []
  /** What has come to the app's own handler of errors. */
  readonly errors: string[] = []
  /** What holds `/held`. */
  readonly gate = new Gate()

  /** How often a handler has been run, this time included. */
  ran(path: string): number {
    this.runs.push(path)
    return this.runsOf(path)
  }

  runsOf(path: string): number {
    return this.runs.filter((each) => each === path).length
  }
}

export const stale = 'max-age=0, stale-while-revalidate=60'
export const longText = 'a line of text that can be made smaller\n'.repeat(100)

/**
 * An app in the manner of its framework. Before the cache: what logs each answer (`status path`), and compresses `/long`; and where a
 * request says `X-Who: a`, `X-Before: a` and the cookies `who=a` and `again=a` are set. What is answered has `X-After: 1`, set as
 * late as possible. Errors are answered with 500 and `sorry: ` and their message. Behind the cache, GET:
 *
 * - `/object`, `/text`, `/bytes`, `/stream`, `/nothing`: `{ "run": 1 }`, `run 1`, the bytes 0 to 255, `run` and ` 1` as a stream,
 *   and no content, as null if there is that
 * - `/tagged`: `run 1`, with the ETag `"of the handler"`; `/long`: `longText`
 * - `/error` throws `no 1`
 * - `/fields`: all request fields that the framework shows, as JSON; `/language`, `/agent`: one of them, by its name; `/accepts`:
 *   which of JSON and HTML is wanted; `/cookies`: the cookies or `none`, as they are parsed
 * - `/cookie` sets the cookie `visitor`, to something else each time
 * - `/back` takes `X-Before` back; `/slow` is a stream of `run` and, once the gate is open, ` 1`
 * - `/held` is `run 1` once the gate is open, and throws `no 1` if the query is `error`
 * - `/stale` is `run 1` with `Cache-Control: stale`; `run 2` waits for the gate and is fresh for a minute; `/breaks`: `run 2` throws
 * - `/object-stale`, `/stream-stale`: as `/object` and `/stream`, with `Cache-Control: stale`
 * - `/own`: `run 1`, and the route has a cache of its own
 *
 * and POST to `/text`: 204.
 */
export type MakeApp = (cache: Cache, story: Story, options: CacheResponsesOptions) => Promise<Server>

/** What every app with a cache before its handlers does, in whatever framework. */
export function behavesAsAnApp(make: MakeApp): void {
  async function open({ apps = 1, ...options }: CacheResponsesOptions & { apps?: number } = {}) {
    const story = new Story()
    const site = await siteOn((cache) => make(cache, story, { ttl: '1m', ...options }), { apps })
    return { site, story, [Symbol.asyncDispose]: () => site[Symbol.asyncDispose]() }
  }

  describe('what a handler answers', () => {
    test.for([
      ['/object', 200, '{"run":1}'],
      ['/text', 200, 'run 1'],
      ['/bytes', 200, String.fromCharCode(...Array.from({ length: 256 }, (_, each) => each))],
      ['/stream', 200, 'run 1'],
      ['/nothing', 204, ''],
    ] as const)('%s is answered again as it was first', async ([path, status, body]) => {
      await using app = await open()
      const first = await app.site.get(path)
      await app.site.filled(1)
      const again = await app.site.get(path)
      for (const reply of [first, again]) expect([reply.status, reply.body.toString('latin1')]).toEqual([status, body])
      expect(again.cache).toContain('hit')
      expect(ofTheAnswer(again)).toEqual(ofTheAnswer(first))
      // Node.js writes the date of the first answer when that is sent, and the cache when it is stored.
      expect(Math.abs(dateOf(first) - dateOf(again))).toBeLessThan(60_000)
      expect(app.story.runs).toEqual([path])
    })

    test('where there is nothing, it says so each time', async () => {
      await using app = await open()
      for (let round = 0; round < 2; round++) {
        const { status, cache } = await app.site.get('/nowhere')
        expect([status, cache]).toEqual([404, expect.stringMatching(/no-freshness|pass/)])
      }
    })

    test('HEAD is answered from it, and runs the handler where nothing is stored', async () => {
      await using app = await open()
      const none = await app.site.get('/text', {}, { method: 'HEAD' })
      expect([none.status, none.text, none.cache]).toEqual([200, '', expect.stringContaining('head')])
      const first = await app.site.get('/text')
      await app.site.filled(1)
      const head = await app.site.get('/text', {}, { method: 'HEAD' })
      expect([head.status, head.text, head.headers['content-length']]).toEqual([200, '', String(first.body.length)])
      expect(head.cache).toContain('hit')
      expect(app.story.runs).toHaveLength(2)
    })

    test('a condition and a range are answered from it, and the handler does not see them', async () => {
      await using app = await open()
      const asked = {
        'if-none-match': '"none"',
        'if-modified-since': 'Thu, 01 Jan 1970 00:00:00 GMT',
        range: 'bytes=0-1',
      }
      const fields = await app.site.get('/fields', asked)
      for (const name of Object.keys(asked)) expect(JSON.parse(fields.text)).not.toHaveProperty(name)
      const { headers } = await app.site.get('/tagged')
      await app.site.filled(1)
      expect(headers.etag).toBe('"of the handler"')
      const same = await app.site.get('/tagged', { 'if-none-match': '"of the handler"' })
      expect([same.status, same.text, same.cache]).toEqual([304, '', expect.stringContaining('hit')])
      const part = await app.site.get('/tagged', { range: 'bytes=0-2' })
      expect([part.status, part.text]).toEqual([206, 'run'])
    })

    test('an error is what the app makes of it, each time', async () => {
      await using app = await open()
      for (const run of [1, 2]) {
        const { status, text } = await app.site.get('/error')
        expect([status, text]).toEqual([500, `sorry: no ${run}`])
      }
      expect(app.story.errors).toEqual(['no 1', 'no 2'])
    })
  })

  describe('who asks at once', () => {
    test('in two apps has the answer of one handler', async () => {
      await using app = await open({ apps: 2 })
      const crowd = app.site.crowd(20, '/held')
      await app.site.missed(20)
      app.story.gate.open()
      expect(new Set((await Promise.all(crowd)).map(({ text }) => text))).toEqual(new Set(['run 1']))
      expect(app.story.runs).toEqual(['/held'])
    })

    test('has the error of one handler', async () => {
      await using app = await open()
      const crowd = app.site.crowd(10, '/held?error')
      await app.site.missed(10)
      app.story.gate.open()
      const texts = (await Promise.all(crowd)).map(({ status, text }) => `${status} ${text}`)
      expect(new Set(texts)).toEqual(new Set(['500 sorry: no 1']))
      expect(app.story.errors).toEqual(['no 1'])
    })

    test('has nothing of what is for one of them', async () => {
      await using app = await open()
      const replies = await Promise.all(app.site.crowd(20, '/cookie'))
      expect(new Set(replies.map(({ headers }) => String(headers['set-cookie']))).size).toBe(20)
      expect(app.story.runs).toHaveLength(20)
    })

    test('is sent a stream as it grows, and nothing else', async () => {
      await using app = await open()
      await using first = await app.site.raw()
      await using second = await app.site.raw()
      for (const [index, raw] of [first, second].entries()) {
        raw.send('GET /slow HTTP/1.1\r\nHost: site\r\nConnection: close\r\n\r\n')
        await app.site.missed(index + 1)
      }
      for (const raw of [first, second]) {
        await raw.head()
        expect(String(await raw.piece())).toBe('run')
      }
      app.story.gate.open()
      for (const raw of [first, second]) expect(String(await raw.rest())).toBe(' 1')
      expect(app.story.runs).toEqual(['/slow'])
    })

    test('and goes away leaves the answer to the others', async () => {
      await using app = await open()
      await using raw = await app.site.raw()
      raw.send('GET /held HTTP/1.1\r\nHost: site\r\n\r\n')
      await app.site.missed(1)
      const other = app.site.get('/held')
      await app.site.missed(2)
      raw.drop()
      app.story.gate.open()
      expect((await other).text).toBe('run 1')
    })
  })

  describe('what selects an answer', () => {
    test.for([
      ['/language', 'accept-language'],
      ['/agent', 'user-agent'],
      ['/accepts', 'accept'],
      ['/cookies', 'cookie'],
    ] as const)('what %s reads of the request, undeclared, makes a variant', async ([path, name]) => {
      await using app = await open({ cookies: 'show' })
      const values = name === 'accept' ? ['text/html', 'application/json'] : ['a=1', 'b=2']
      for (const value of [...values, ...values]) {
        const reply = await app.site.get(path, { [name]: value })
        expect(reply.text).toContain(value)
        await app.site.stored()
      }
      expect(app.story.runs).toHaveLength(2)
      expect((await app.site.get(path, { [name]: values[0] ?? '' })).cache).toContain('hit')
    })

    test('nor does a field that is not there make the answer one for those who have it', async () => {
      await using app = await open()
      for (const headers of [{}, { accept: 'text/html' }, {}, { accept: 'text/html' }]) {
        expect((await app.site.get('/accepts', headers)).text).toBe(
          'accept' in headers ? 'text/html' : 'application/json',
        )
        await app.site.stored()
      }
      expect(app.story.runs).toHaveLength(2)
    })

    test('what reads all fields is stored for nobody', async () => {
      await using app = await open()
      for (const who of ['a', 'b']) {
        const reply = await app.site.get('/fields', { 'x-a': who })
        expect(JSON.parse(reply.text)).toMatchObject({ 'x-a': who, host: 'site' })
        expect(reply.cache).toMatch(/undeclared|pass/)
      }
    })

    test('a cookie is for its own client, and hidden where that is wished', async () => {
      await using passing = await open()
      for (const run of [1, 2]) {
        const reply = await passing.site.get('/text', { cookie: 'a=1' })
        expect([reply.text, reply.cache]).toEqual([`run ${run}`, expect.stringContaining('cookie')])
      }
      await using hiding = await open({ cookies: 'hide' })
      expect((await hiding.site.get('/cookies', { cookie: 'a=1' })).text).toBe('none')
      expect((await hiding.site.get('/cookies', { cookie: 'b=2' })).cache).toContain('hit')
    })
  })

  describe('what stands before the cache', () => {
    test('says what is its own with each answer, and nothing of it is stored', async () => {
      await using app = await open()
      for (const who of ['a', 'b', 'c']) {
        const { headers } = await app.site.get('/text', { 'x-who': who })
        expect([headers['x-before'], headers['set-cookie']]).toEqual([who, [`who=${who}`, `again=${who}`]])
        await app.site.filled(1)
      }
      expect((await app.site.get('/text')).headers['x-before']).toBe(undefined)
      expect(app.story.runs).toEqual(['/text'])
    })

    test('says it beside what the handler says, and what the app says to an error', async () => {
      await using app = await open()
      const { headers } = await app.site.get('/cookie', { 'x-who': 'a' })
      expect(headers['set-cookie']).toEqual(['who=a', 'again=a', expect.stringContaining('visitor=')])
      expect((await app.site.get('/error', { 'x-who': 'a' })).headers['x-before']).toBe('a')
    })

    test('can have said what the handler takes back', async () => {
      await using app = await open()
      const { headers } = await app.site.get('/back', { 'x-who': 'a' })
      expect([headers['x-before'], headers['set-cookie']]).toEqual([undefined, ['who=a', 'again=a']])
    })

    test('and changes an answer when it is there changes it for all', async () => {
      await using app = await open()
      for (let round = 0; round < 2; round++) {
        expect((await app.site.get('/text')).headers['x-after']).toBe('1')
        await app.site.filled(1)
      }
    })

    test('logs each answer, once', async () => {
      await using app = await open()
      await app.site.get('/text')
      await app.site.filled(1)
      await app.site.get('/text')
      await app.site.get('/error')
      await app.site.get('/tagged')
      await app.site.filled(2)
      await app.site.get('/tagged', { 'if-none-match': '"of the handler"' })
      await until('all are logged', () => app.story.logged.length >= 5)
      expect(app.story.logged).toEqual(['200 /text', '200 /text', '500 /error', '200 /tagged', '304 /tagged'])
    })

    test('compresses what it can for each who wants it', async () => {
      await using app = await open()
      for (const coding of ['gzip', 'identity', 'gzip', 'identity']) {
        const { headers, body } = await app.site.get('/long', { 'accept-encoding': coding })
        expect(headers['content-encoding']).toBe(coding === 'gzip' ? 'gzip' : undefined)
        expect(String(coding === 'gzip' ? gunzipSync(body) : body)).toBe(longText)
        await app.site.stored()
      }
    })
  })

  describe('what is stale', () => {
    test('is answered at once, and the handler is run behind it, once', async () => {
      await using app = await open({ apps: 2 })
      await app.site.get('/stale', { 'x-who': 'a' })
      await app.site.filled(1)
      const replies = await Promise.all(app.site.crowd(20, '/stale', () => ({ headers: { 'x-who': 'b' } })))
      for (const { text, headers } of replies) expect([text, headers['x-before']]).toEqual(['run 1', 'b'])
      await until('it is run behind', () => app.story.runs.length === 2)
      expect((await app.site.get('/stale')).text).toBe('run 1')
      app.story.gate.open()
      const fresh = await until('there is a new one', () => unlike(app.site, '/stale', 'run 1'))
      expect([fresh.status, fresh.text, fresh.headers['x-before']]).toEqual([200, 'run 2', undefined])
      expect(fresh.headers['set-cookie']).toBe(undefined)
      expect(app.story.runs).toHaveLength(2)
    })

    test('stays when the handler fails behind it, until one does not', async () => {
      await using app = await open()
      await app.site.get('/breaks')
      await app.site.filled(1)
      expect((await app.site.get('/breaks')).text).toBe('run 1')
      await until('the app has heard of it', () => app.story.errors.length === 1)
      expect((await until('there is a new one', () => unlike(app.site, '/breaks', 'run 1'))).text).toBe('run 3')
      expect(app.story.errors).toEqual(['no 2'])
    })

    test.for(['/stream-stale', '/object-stale'])('%s: what is made behind it is whole', async (path) => {
      await using app = await open()
      const first = await app.site.get(path)
      await app.site.filled(1)
      await app.site.get(path)
      await until('it is run behind', () => app.story.runs.length === 2)
      const fresh = await until('there is a new one', () => unlike(app.site, path, first.text))
      expect([fresh.status, fresh.text]).toEqual([first.status, first.text.replace('1', '2')])
      expect(fresh.headers['content-type']).toBe(first.headers['content-type'])
    })
  })

  describe('what voids it', () => {
    test('a POST', async () => {
      await using app = await open()
      expect((await app.site.get('/text')).text).toBe('run 1')
      await app.site.filled(1)
      expect((await app.site.ask('/text', { method: 'POST', body: 'a=1' })).status).toBe(204)
      expect((await app.site.get('/text')).text).toBe('run 2')
    })

    test('purge', async () => {
      await using app = await open()
      await app.site.get('/text')
      await app.site.filled(1)
      const [cache] = app.site.caches
      if (cache !== undefined) await purge(cache, { urls: ['http://site/text'] })
      expect((await app.site.get('/text')).text).toBe('run 2')
    })
  })

  test('a route may have a cache of its own', async () => {
    await using app = await open({ skip: () => true })
    for (let round = 0; round < 2; round++) {
      expect((await app.site.get('/own')).text).toBe('run 1')
      await app.site.filled(1)
    }
    expect((await app.site.get('/text')).text).not.toBe((await app.site.get('/text')).text)
  })

  test('an option that throws is an error of the app', async () => {
    const key = (): string => {
      throw new Error('no key')
    }
    await using app = await open({ key })
    const { status, text, headers } = await app.site.get('/text', { 'x-who': 'a' })
    expect([status, text, headers['x-before']]).toEqual([500, 'sorry: no key', 'a'])
    expect(app.story.runs).toEqual([])
  })
}

/** An answer of another text than this, if that is what there is. */
async function unlike(site: Site, path: string, text: string, asked: Asked = {}): Promise<Reply | false> {
  const reply = await site.get(path, {}, asked)
  return reply.text !== text && reply
}

/** Without what is of one answer alone, or tells how it came. */
function ofTheAnswer({ headers }: Reply): unknown {
  const own = 'age date connection cache-status content-length keep-alive transfer-encoding'.split(' ')
  const isMade = (name: string): boolean => name === 'etag' && headers.etag?.startsWith('W/"herdless-') === true
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !own.includes(name) && !isMade(name)))
}

function dateOf({ headers }: Reply): number {
  return Date.parse(headers.date ?? '')
}

/** What `/error` does, and others at times. */
export function failed(run: number): never {
  throw new Error(`no ${run}`)
}

/** The pieces of `/slow`. */
export async function* slow({ gate }: Story, run: number): AsyncGenerator<string> {
  yield 'run'
  await gate.opened
  yield ` ${run}`
}

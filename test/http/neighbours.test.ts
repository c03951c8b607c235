import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { gunzipSync } from 'node:zlib'
import compression from 'compression'
import cors from 'cors'
import type { RequestHandler } from 'express'
import session from 'express-session'
import helmet from 'helmet'
import morgan from 'morgan'
import serveStatic from 'serve-static'
import { describe, expect, test } from 'vitest'
import { cacheResponses } from '../../src/express/index.ts'
import { until } from '../../tools/until.mjs'
import { fileOf, Gate, siteWith, type Reply } from './support/site.ts'

const long = 'a line of text that can be made smaller\n'.repeat(100)

declare module 'express-session' {
  interface SessionData {
    visits: number
  }
}

function plainOf({ headers, body }: Reply): string {
  return String(headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body)
}

describe('with Express', () => {
  test.for(['before', 'after'])(
    'compression() %s the cache: gzip first, then identity, and the other way',
    async (where) => {
      let runs = 0
      await using site = await siteWith(
        (app, cache) => {
          if (where === 'before') app.use(compression())
          app.use(cacheResponses(cache))
          if (where === 'after') app.use(compression())
          app.use((_req, res) => void res.type('text').send(`${++runs} ${long}`))
        },
        { apps: 2 },
      )
      const tags = new Set<string>()
      for (const path of ['/one', '/two']) {
        const order = path === '/one' ? ['gzip', 'identity'] : ['identity', 'gzip']
        for (let round = 0; round < 2; round++) {
          for (const coding of order) {
            const reply = await site.get(path, { 'accept-encoding': coding })
            expect(reply.headers['content-encoding']).toBe(coding === 'gzip' ? 'gzip' : undefined)
            expect(plainOf(reply).slice(2)).toBe(long)
            // A strong tag would be one of bytes that others are sent in another coding.
            expect(reply.headers.etag).toMatch(/^W\//)
            tags.add(`${path} ${coding} ${reply.headers.etag}`)
            const same = { 'accept-encoding': coding, 'if-none-match': String(reply.headers.etag) }
            expect((await site.get(path, same)).status).toBe(304)
            expect(reply.headers.vary?.toLowerCase()).toContain('accept-encoding')
            expect(reply.cache.includes('hit')).toBe(round === 1 || (where === 'before' && coding === order[1]))
          }
        }
      }
      expect(runs).toBe(where === 'before' ? 2 : 4)
      expect(tags.size).toBe(4)
    },
  )

  test('a session that is made for each client keeps the page from the others', async () => {
    await using site = await siteWith((app, cache) => {
      app.use(session({ secret: 'secret', resave: false, saveUninitialized: true }))
      app.use(cacheResponses(cache))
      app.use((_req, res) => void res.send('page'))
    })
    expect((await site.get()).cache).toBe('herdless; fwd=uri-miss; detail=late:set-cookie')
    const replies = [await site.get(), await site.get(), ...(await Promise.all(site.crowd(20)))]
    const cookies = replies.map(({ headers }) => String(headers['set-cookie']))
    expect(new Set(cookies).size).toBe(22)
    for (const cookie of cookies) expect(cookie).toContain('connect.sid')
    for (const { text } of replies) expect(text).toBe('page')
  })

  test('a session behind the cache keeps its answers from the others', async () => {
    const gate = new Gate()
    await using site = await siteWith((app, cache) => {
      app.use(cacheResponses(cache))
      app.use(session({ secret: 'secret', resave: false, saveUninitialized: false }))
      app.use((async (req, res) => {
        await gate.opened
        req.session.visits = (req.session.visits ?? 0) + 1
        res.send(`${req.sessionID} ${req.session.visits}`)
      }) as RequestHandler)
    })
    const crowd = site.crowd(20)
    await site.missed(20)
    gate.open()
    const replies = await Promise.all(crowd)
    expect(new Set(replies.map(({ text }) => text)).size).toBe(20)
    const [cookie = ''] = replies[0]?.headers['set-cookie'] ?? []
    const again = await site.get('/', { cookie: cookie.split(';')[0] ?? '' })
    expect(again.text).toBe(`${replies[0]?.text.split(' ')[0]} 2`)
  })

  test('cors, helmet and morgan before the cache say what is theirs with each answer', async () => {
    const lines: string[] = []
    let runs = 0
    await using site = await siteWith(
      (app, cache) => {
        app.use(morgan('combined', { stream: { write: (line) => void lines.push(line) } }))
        app.use(helmet())
        app.use(cors({ origin: ['https://a.example', 'https://b.example'], credentials: true }))
        app.use((_req, res, next) => {
          res.setHeader('X-Request', `${lines.length}`)
          next()
        })
        app.use(cacheResponses(cache))
        app.use((_req, res) => void res.set('X-Run', `${++runs}`).send('page'))
      },
      { apps: 2 },
    )
    const replies: Reply[] = []
    for (const origin of ['https://a.example', 'https://b.example', 'https://a.example', 'https://evil.example']) {
      const reply = await site.get('/', { origin, 'user-agent': 'test', referer: 'here' })
      replies.push(reply)
      const allowed = origin.includes('evil') ? undefined : origin
      expect(reply.headers['access-control-allow-origin']).toBe(allowed)
      expect(reply.headers['content-security-policy']).toContain("default-src 'self'")
      expect(reply.headers['x-request']).toBe(`${replies.length - 1}`)
      await until('it is logged', () => lines.length === replies.length)
    }
    expect(replies[2]?.cache).toContain('hit')
    expect(replies[2]?.headers['x-run']).toBe(replies[0]?.headers['x-run'])
    for (const line of lines) expect(line).toMatch(/"GET \/ HTTP\/1.1" 200 4 "here" "test"\n$/)
  })

  test('files of serve-static are stored with what is said of them', async () => {
    const file = await fileOf(long, 'page.txt')
    await using site = await siteWith(
      (app, cache) => void app.use(cacheResponses(cache), serveStatic(dirname(file), { maxAge: '1m' })),
    )
    const first = await site.get('/page.txt')
    await rm(file)
    const { status, headers, text, cache } = await site.get('/page.txt')
    expect([status, text]).toEqual([200, long])
    for (const name of ['etag', 'last-modified', 'content-type', 'cache-control', 'accept-ranges', 'content-length'])
      expect(headers[name]).toBe(first.headers[name])
    expect(cache).toContain('hit')
    expect((await site.get('/page.txt', { range: 'bytes=2-5' })).text).toBe('line')
    expect((await site.get('/page.txt', { 'if-none-match': String(headers.etag) })).status).toBe(304)
    expect((await site.get('/none.txt')).status).toBe(404)
  })

  test('all in their usual order', async () => {
    let runs = 0
    const lines: string[] = []
    await using site = await siteWith(
      (app, cache) => {
        app.use(morgan('tiny', { stream: { write: (line) => void lines.push(line) } }))
        app.use(helmet(), cors(), compression())
        app.use(session({ secret: 'secret', resave: false, saveUninitialized: false }))
        app.get('/page', cacheResponses(cache), (_req, res) => void res.type('text').send(`${++runs} ${long}`))
      },
      { apps: 2 },
    )
    const crowd = await Promise.all(site.crowd(20, '/page', () => ({ headers: { 'accept-encoding': 'gzip' } })))
    for (const reply of [...crowd, await site.get('/page', { 'accept-encoding': 'gzip' }), await site.get('/page')]) {
      expect(plainOf(reply)).toBe(`1 ${long}`)
      expect(reply.headers['access-control-allow-origin']).toBe('*')
      expect(reply.headers['x-frame-options']).toBe('SAMEORIGIN')
      expect(reply.headers['set-cookie']).toBe(undefined)
    }
    expect(runs).toBe(1)
    await until('all are logged', () => lines.length === 22)
  })
})

test('what stands before, and has replaced writeHead, need not know all of its arguments', async () => {
  await using site = await siteWith((app, cache) => {
    app.use((_req, res, next) => {
      const writeHead = res.writeHead.bind(res)
      // As on-headers did up to 1.0: what it is given is an object, or pairs.
      res.writeHead = function (status: number, ...rest: unknown[]) {
        const fields = rest.find((each) => typeof each === 'object') ?? {}
        for (const [name, value] of Array.isArray(fields) ? fields : Object.entries(fields)) res.setHeader(name, value)
        return writeHead(status)
      } as typeof writeHead
      next()
    })
    app.use(cacheResponses(cache), (_req, res) => void res.set('X-One', '1').send('page'))
  })
  for (let round = 0; round < 2; round++) {
    const { headers, status } = await site.get('/', round === 0 ? {} : { range: 'bytes=0-1' })
    expect([status, headers['x-one'], headers['content-type']]).toEqual([
      round === 0 ? 200 : 206,
      '1',
      'text/html; charset=utf-8',
    ])
  }
})

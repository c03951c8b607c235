import type { IncomingMessage } from 'node:http'
import { describe, expect, test } from 'vitest'
import type { CacheInfo } from '../../src/express/index.ts'
import { siteOf } from './support/site.ts'

function isAt(path: string, { url = '' }: IncomingMessage): boolean {
  return url.split('?', 1)[0] === path
}

describe('an option that is a function of the request', () => {
  test('holds for that request, and is the default where it returns undefined', async () => {
    const runs = new Map<string, number>()
    await using site = await siteOf(
      (req, res) => {
        runs.set(req.path, (runs.get(req.path) ?? 0) + 1)
        const status = Number(req.query['status'] ?? 200)
        res.status(status).send(`${runs.get(req.path)} ${req.get('cookie') ?? 'nobody'}`)
      },
      {
        options: {
          methods: (req) => (isAt('/methods', req) ? ['HEAD'] : undefined),
          cookies: (req) => (isAt('/cookies', req) ? 'hide' : undefined),
          authorization: (req) => (isAt('/authorization', req) ? 'share' : undefined),
          honorRequestDirectives: (req) => (isAt('/directives', req) ? true : undefined),
          ignoreQuery: (req) => (isAt('/query', req) ? ['ignored'] : undefined),
          statuses: (req) => (isAt('/statuses', req) ? [404] : undefined),
          undeclared: (req) => (isAt('/undeclared', req) ? 'refuse' : undefined),
        },
      },
    )
    let stored = 0
    /** What becomes of the second of two requests, where the function says something and where it does not. */
    const second = async (path: string, headers: Record<string, string> = {}, query = ['', '']): Promise<string[]> => {
      const said: string[] = []
      for (const each of [path, `/other${path}`]) {
        const first = await site.get(`${each}${query[0]}`, headers)
        if (first.cache.includes('stored')) await site.filled(++stored)
        const next = await site.get(`${each}${query[1]}`, headers)
        if (next.cache.includes('stored')) await site.filled(++stored)
        said.push(next.cache)
      }
      return said
    }
    const hit = expect.stringMatching(/^herdless; hit; ttl=\d+$/)
    expect(await second('/methods')).toEqual(['herdless; fwd=bypass; detail=method', hit])
    expect(await second('/cookies', { cookie: 'a=b' })).toEqual([hit, 'herdless; fwd=bypass; detail=cookie'])
    expect(await second('/authorization', { authorization: 'Basic x' })).toEqual([
      'herdless; fwd=vary-miss; detail=authorization',
      'herdless; fwd=bypass; detail=authorization',
    ])
    expect(await second('/directives', { 'cache-control': 'no-cache' })).toEqual(['herdless; fwd=request; stored', hit])
    expect(await second('/query', {}, ['?ignored=1', '?ignored=2'])).toEqual([hit, 'herdless; fwd=uri-miss; stored'])
    const lost = ['?status=404', '?status=404']
    expect(await second('/statuses', {}, lost)).toEqual([hit, 'herdless; fwd=vary-miss; detail=pass'])
    expect(await second('/undeclared', {})).toEqual(['herdless; fwd=uri-miss; detail=pass', hit])
  })

  test('may look at request fields, which the handler has not read by that', async () => {
    let runs = 0
    await using site = await siteOf((_req, res) => void res.send(`${++runs}`), {
      options: {
        ttl: (req) => (req.headers['x-ttl'] === undefined ? '1m' : '2m'),
        grace: (req) => (req.headers['x-grace'] === undefined ? 0 : '1m'),
        tags: (req) => [`tag:${req.headers['x-tag']}`],
        statuses: (req) => (req.headers['x-statuses'] === undefined ? 'standard' : [200]),
        maxBody: (req) => (req.headers['x-body'] === undefined ? 100 : 200),
        undeclared: (req) => (req.headers['x-undeclared'] === undefined ? 'refuse' : 'key'),
      },
    })
    expect((await site.get('/', { 'x-ttl': '1', 'x-tag': '1' })).cache).toBe('herdless; fwd=uri-miss; stored')
    await site.filled(1)
    expect((await site.get('/', { 'x-body': '1' })).cache).toMatch(/^herdless; hit; ttl=1\d\d$/)
    expect((await site.get()).text).toBe('1')
  })

  test.for(['maxBody', 'undeclared', 'tags', 'ttl', 'honorRequestDirectives', 'cookies'])(
    'that throws (%s) leaves every client an answer',
    async (name) => {
      let runs = 0
      const options = {
        [name]: () => {
          throw new Error(`no ${name}`)
        },
      }
      await using site = await siteOf((_req, res) => void res.send(`${++runs}`), { apps: 2, options })
      const replies = await Promise.all(site.crowd(6, '/', () => ({ headers: { cookie: 'a=b' } })))
      for (const { status } of replies) expect([200, 500]).toContain(status)
      for (const { status, text } of await Promise.all(site.crowd(6))) expect([status, text]).not.toEqual([200, ''])
    },
  )
})

describe('req.cache', () => {
  test('tells a handler why it is run, and for whom', async () => {
    const told: (CacheInfo | undefined)[] = []
    await using site = await siteOf(
      (req, res) => {
        told.push(req.cache)
        if (req.path === '/private') res.set('Cache-Control', 'private')
        res.vary('X-Kind').send('')
      },
      { options: { skip: (req) => isAt('/skipped', req), ttl: 1, grace: '1m' } },
    )
    const forAll = { detail: null, background: false }
    await site.get('/')
    await site.get('/', { 'x-kind': '2' })
    expect(told.splice(0)).toEqual([
      { forwarded: 'uri-miss', ...forAll },
      { forwarded: 'vary-miss', ...forAll },
    ])
    await site.get('/', { cookie: 'a=b' })
    await site.get('/private')
    await site.get('/private')
    expect(told.splice(0)).toEqual([
      { forwarded: 'bypass', detail: 'cookie', background: false },
      { forwarded: 'uri-miss', ...forAll },
      { forwarded: 'vary-miss', detail: 'pass', background: false },
    ])
    await site.get('/skipped')
    await site.ask('/', { method: 'POST' })
    expect(told.splice(0)).toEqual([undefined, undefined])
  })

  test('tells it that its client has been answered already', async () => {
    const told: (CacheInfo | undefined)[] = []
    await using site = await siteOf((req, res) => (told.push(req.cache), void res.send('')), {
      options: { ttl: 1, grace: '1m' },
    })
    await site.get()
    await site.filled(1)
    await site.get()
    await site.filled(2)
    expect(told).toEqual([
      { forwarded: 'uri-miss', detail: null, background: false },
      { forwarded: 'stale', detail: null, background: true },
    ])
  })
})

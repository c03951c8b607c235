import { Agent } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Response } from 'express'
import { describe, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { cacheResponses, type CacheResponsesOptions } from '../../src/express/index.ts'
import { counted, Gate, siteOf, siteWith, type Reply, type Site } from './support/site.ts'

async function saying(headers: Record<string, string>, options: CacheResponsesOptions = {}): Promise<Site> {
  const source = counted((run, _req, res) => res.set(headers).end(`${run}`))
  return await siteOf(source.handler, { options })
}

/** Old at once, and good for a minute more. */
const stale = 'max-age=0, stale-while-revalidate=60'

describe('what a response says of its time', () => {
  const later = new Date(Date.now() + 600_000).toUTCString()
  const earlier = new Date(Date.now() - 600_000).toUTCString()
  const stored: Record<string, string>[] = [
    { 'Cache-Control': 'max-age=60' },
    { 'Cache-Control': 'max-age=0, s-maxage=60' },
    { 'Cache-Control': 'max-age=60, must-revalidate' },
    { 'Cache-Control': 'public' },
    { 'Cache-Control': 'no-store', 'CDN-Cache-Control': 'max-age=60' },
    { Expires: later },
    {},
  ]
  const not: Record<string, string>[] = [
    { 'Cache-Control': 'max-age=0' },
    { 'Cache-Control': 'max-age=60, s-maxage=0' },
    { 'Cache-Control': 'no-cache' },
    { 'Cache-Control': 'max-age=60', 'CDN-Cache-Control': 'no-store' },
    { Expires: earlier },
    { Expires: '0' },
    { 'Cache-Control': 'max-age=60', Age: '61' },
  ]

  test.for(stored)('%j is stored', async (headers) => {
    await using site = await saying(headers)
    for (let round = 0; round < 2; round++) expect((await site.get()).text).toBe('1')
  })

  test.for(not)('%j is not', async (headers) => {
    await using site = await saying(headers)
    for (let round = 1; round <= 2; round++) expect((await site.get()).text).toBe(String(round))
  })

  test.each(['-5', '-99999999999', '1.5', '7 days', ''])('an age of %o is none (RFC 9111 section 5.1)', async (age) => {
    await using site = await saying({ 'Cache-Control': 'max-age=600', Age: age })
    await site.get()
    await site.stored()
    const { headers, cache } = await site.get()
    expect([cache, headers.age]).toEqual([
      expect.stringMatching(/hit; ttl=(599|600)$/),
      expect.stringMatching(/^[01]$/),
    ])
  })

  test('the age that it had counts', async () => {
    await using site = await saying({ 'Cache-Control': 'max-age=600', Age: '500' })
    await site.get()
    const { headers, cache } = await site.get()
    expect(Number(headers.age)).toBeGreaterThanOrEqual(500)
    expect(cache).toMatch(/^herdless; hit; ttl=\d{1,2}$|ttl=100$/)
  })

  test('the time that its body took counts', async () => {
    const gate = new Gate()
    await using site = await siteOf(async (_req, res) => {
      res.set('Cache-Control', 'max-age=60')
      res.write('head')
      await gate.opened
      res.end()
    })
    const first = site.get()
    await site.missed(1)
    const begun = performance.now()
    await until('its body has taken more than a second', () => performance.now() - begun > 1_100)
    const follower = site.get()
    await site.missed(2)
    gate.open()
    await first
    await site.filled(1)
    for (const { headers } of [await follower, await site.get()]) {
      expect(Number(headers.age)).toBeGreaterThanOrEqual(1)
    }
  })
})

describe('options', () => {
  test('ttl is for what says nothing, as a value or by the request', async () => {
    await using site = await saying({}, { ttl: 0 })
    expect((await site.get()).text).not.toBe((await site.get()).text)
    await using some = await saying({}, { ttl: (req) => (req.url === '/long' ? '1h' : undefined) })
    await some.get('/long')
    await some.get('/')
    expect((await some.get('/long')).cache).toMatch(/hit; ttl=3\d{3}$/)
    expect((await some.get('/')).cache).toMatch(/hit; ttl=\d\d$/)
  })

  test('what is stored is old when its ttl is over', async () => {
    await using site = await saying({}, { ttl: 30 })
    expect((await site.get()).text).toBe('1')
    await until('it is old', async () => (await site.get()).text === '2')
  })

  test('a ttl in the options is not for what says something itself', async () => {
    await using site = await saying({ 'Cache-Control': 'max-age=600' }, { ttl: 1 })
    await site.get()
    expect((await site.get()).cache).toMatch(/hit; ttl=(5\d\d|600)$/)
  })

  test('grace is for what says nothing of being served old', async () => {
    await using site = await saying({}, { ttl: 1, grace: '1m' })
    await site.get()
    await until('an old one is served', async () => (await site.get()).cache.startsWith('herdless; hit; ttl=-'))
    await using strict = await saying({ 'Cache-Control': 'must-revalidate' }, { ttl: 1, grace: '1m' })
    await strict.get()
    for (let round = 0; round < 5; round++) expect((await strict.get()).cache).not.toMatch(/ttl=-/)
  })

  test.for<CacheResponsesOptions['staleIfError']>(['1m', () => '1m'])('staleIfError %s', async (staleIfError) => {
    const source = counted((run, _req, res) => res.status(run === 1 ? 200 : 503).end(`${run}`))
    await using site = await siteOf(source.handler, { options: { ttl: 1, ...(staleIfError && { staleIfError }) } })
    await site.get()
    await until('the handler has failed', async () => ((await site.get()).text === '1' ? source.runs > 1 : false))
    const { status, text, cache } = await site.get()
    expect([status, text]).toEqual([200, '1'])
    expect(cache).toMatch(/^herdless; (hit|fwd=stale; fwd-status=503); ttl=-\d+; detail=error$/)
  })
})

describe('stale-while-revalidate', () => {
  test('20 have what is old at once, and one run is behind them', async () => {
    const gate = new Gate()
    const source = counted(async (run, _req, res) => {
      if (run === 2) await gate.opened
      res.set('Cache-Control', run === 1 ? stale : 'max-age=60').send(`${run}`)
    })
    await using site = await siteOf(source.handler, { apps: 2 })
    await site.get()
    const replies = await Promise.all(site.crowd(20))
    for (const { text, cache } of replies) expect([text, cache]).toEqual(['1', expect.stringMatching(/hit; ttl=(-|0)/)])
    await until('it is refreshed', () => source.runs === 2)
    expect((await site.get()).text).toBe('1')
    gate.open()
    await until('there is a new one', async () => (await site.get()).text === '2')
    expect(source.runs).toBe(2)
  })

  test('what is run behind finds a request and a response that it can use as any other', async () => {
    const found: unknown[] = []
    const source = counted(async (run, req, res) => {
      res.set('Cache-Control', run === 1 ? stale : 'max-age=60').type('text')
      res.on('finish', () => found.push('finish'))
      res.on('close', () => found.push('close'))
      await pipeline(Readable.from([`${run}`, 'x'.repeat(200_000)]), res)
      found.push(res.headersSent, res.writableEnded, req.get('host'), res.statusCode)
    })
    await using site = await siteOf(source.handler)
    await site.get()
    await until('the first run has ended', () => found.length === 6)
    found.length = 0
    await site.get()
    await until('the second run has ended', () => found.length === 6)
    expect(found).toEqual(expect.arrayContaining(['finish', 'close', true, true, 'site', 200]))
    await until('there is a new one', async () => (await site.get()).text === `2${'x'.repeat(200_000)}`)
  })

  test.for<[string, (res: Response, next: (error: Error) => void) => unknown]>([
    ['next(error) after its head', (res, next) => (res.write('half'), next(new Error('no more')))],
    ['next(error)', (_res, next) => next(new Error('no'))],
    ['destroy()', (res) => (res.write('half'), res.destroy())],
    [
      'a pipeline that breaks',
      (res) =>
        pipeline(
          Readable.from(
            (function* () {
              yield 'half'
              throw new Error('no more')
            })(),
          ),
          res,
        ).catch(() => {}),
    ],
  ])('one behind that ends with %s harms no client, and the next one is soon', async ([, fail]) => {
    let runs = 0
    await using site = await siteOf((_req, res, next) => {
      if (++runs === 2) return void fail(res, next)
      res.set('Cache-Control', runs === 1 ? stale : 'max-age=60').send(`${runs}`)
    })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    await site.get('/', {}, { agent })
    await site.get('/', {}, { agent })
    // The same connection is used all the time: one that is closed would be an error.
    const next = async (): Promise<string | false> => {
      const { text } = await site.get('/', {}, { agent })
      return text !== '1' && text
    }
    expect(await until('there is a new one', next)).toBe('3')
    agent.destroy()
  })

  test('a refresh does not find its client gone', async () => {
    const found: unknown[] = []
    const source = counted((run, req, res) => {
      const { destroyed, aborted, closed, socket } = req
      found.push({ destroyed, aborted, closed, socket: [socket.destroyed, socket.writable, socket.readyState] })
      res.set('Cache-Control', run === 1 ? stale : 'max-age=60').send(`${run}`)
    })
    await using site = await siteOf(source.handler)
    await site.get()
    await site.get()
    await until('there is a new one', async () => (await site.get()).text === '2')
    const there = { destroyed: false, aborted: false, closed: false, socket: [false, true, 'open'] }
    expect(found).toEqual([there, there])
  })

  test('a client that is gone already does not keep the others from a new one', async () => {
    const source = counted((run, _req, res) =>
      res.set('Cache-Control', run === 1 ? stale : 'max-age=60').send(`${run}`),
    )
    await using site = await siteWith((app, cache) => {
      app.use((req, res, next) => {
        if (req.get('x-gone') === undefined) return next()
        res.once('close', () => next())
        res.destroy()
      })
      app.use(cacheResponses(cache), source.handler)
    })
    await site.get()
    await expect(site.get('/', { 'x-gone': '1' })).rejects.toThrow('socket hang up')
    await until('there is a new one', async () => (await site.get()).text === '2')
  })
})

describe('stale-if-error', () => {
  test.for([500, 502, 503, 504])('what is old is served instead of a %i', async (status) => {
    const source = counted((run, _req, res) => {
      if (run > 1) res.status(status).set('X-Error', 'yes').send('error')
      else res.set('Cache-Control', 'max-age=0, stale-if-error=60').send('page')
    })
    await using site = await siteOf(source.handler, { apps: 2, cache: { failureCooldown: '1m' } })
    await site.get()
    for (const reply of await Promise.all(site.crowd(20))) {
      expect([reply.status, reply.text, reply.headers['x-error']]).toEqual([200, 'page', undefined])
    }
    expect(source.runs).toBeLessThanOrEqual(4)
  })

  test.for([503, 304])('the reason phrase of a %i is not sent with the stored response', async (status) => {
    const source = counted((run, _req, res) => {
      res.set({ 'Cache-Control': 'max-age=0, stale-if-error=60', ETag: '"one"' })
      if (run === 1) res.end('page')
      else res.writeHead(status, 'Out of order').end()
    })
    await using site = await siteOf(source.handler)
    await site.get()
    await site.stored()
    const reply = await site.get()
    expect([reply.status, reply.reason, reply.text]).toEqual([200, 'OK', 'page'])
    expect(reply.cache).toContain(`fwd-status=${status}`)
  })

  test('it is served instead of what a handler throws, and not of a 404', async () => {
    const source = counted((run, _req, res) => {
      if (run === 2) throw new Error('no')
      if (run === 3) return res.status(404).send('none')
      return res.set('Cache-Control', 'max-age=0, stale-if-error=60').send('page')
    })
    await using site = await siteOf(source.handler, { cache: { failureCooldown: 0 } })
    await site.get()
    const replies = []
    while (source.runs < 3) replies.push(await site.get())
    expect(replies.at(-1)?.status).toBe(404)
    for (const { status } of replies.slice(0, -1)) expect(status).toBe(200)
  })

  test('with must-revalidate the error is what is served', async () => {
    const control = 'max-age=0, must-revalidate, stale-if-error=60'
    const source = counted((run, _req, res) =>
      res
        .status(run > 1 ? 500 : 200)
        .set('Cache-Control', control)
        .send(`${run}`),
    )
    await using site = await siteOf(source.handler)
    await site.get()
    expect((await site.get()).status).toBe(500)
  })
})

describe('validation', () => {
  const validated = (tagOf: (run: number) => string): ReturnType<typeof counted> =>
    counted((run, req, res) => {
      const tag = tagOf(run)
      res.set({ 'Cache-Control': 'no-cache', ETag: tag, 'X-Run': `${run}` })
      if (req.headers['if-none-match'] === tag) res.status(304).end()
      else res.end(`body of ${run}`)
    })

  test('no-cache is asked about each time, and a 304 of the handler is a 200 of what is stored', async () => {
    const source = validated(() => '"one"')
    await using site = await siteOf(source.handler, { apps: 2 })
    expect((await site.get()).text).toBe('body of 1')
    for (const run of [2, 3]) {
      const { status, text, headers, cache } = await site.get('/', {}, { app: run % 2 })
      expect([status, text, headers['x-run']]).toEqual([200, 'body of 1', `${run}`])
      expect(cache).toContain('fwd=stale; fwd-status=304')
      expect(headers['content-length']).toBe('9')
    }
  })

  test('an answer that has changed is the next one', async () => {
    const source = validated((run) => `"${run > 2}"`)
    await using site = await siteOf(source.handler)
    await site.get()
    expect((await site.get()).text).toBe('body of 1')
    expect((await site.get()).text).toBe('body of 3')
    expect((await site.get()).text).toBe('body of 3')
  })

  test('a client that has it is told so', async () => {
    const source = validated(() => '"one"')
    await using site = await siteOf(source.handler)
    await site.get()
    const reply = await site.get('/', { 'if-none-match': '"one"' })
    expect([reply.status, reply.text]).toEqual([304, ''])
    expect((await site.get('/', { 'if-none-match': '"two"' })).text).toBe('body of 1')
  })

  test('Express answers 304 by itself to what the cache asks', async () => {
    const source = counted((run, _req, res) =>
      res.set({ 'Cache-Control': 'no-cache', 'X-Run': `${run}` }).json({ same: true }),
    )
    await using site = await siteOf(source.handler)
    const first = await site.get()
    const second = await site.get()
    expect(second.text).toBe(first.text)
    expect(second.headers['content-type']).toBe(first.headers['content-type'])
    expect(second.cache).toContain('fwd-status=304')
  })

  describe('a load that is given up while its handler runs', () => {
    const giveUps: Record<string, (site: Site) => Promise<unknown>> = {
      'by its hard timeout': (site) => until('it is given up', () => site.heard('failure') === 1),
      'by a purge': async (site) => {
        await site.caches[0]?.invalidate('response http://site/')
        await until('it is given up', () => site.heard('failure') === 1)
      },
      'by close()': (site) => site.caches[0]?.close({ timeout: 0 }) ?? Promise.resolve(),
    }
    const answers: Record<string, [(res: Response) => unknown, RegExp]> = {
      304: [(res) => res.status(304).end(), /^herdless; fwd=stale; fwd-status=304/],
      503: [(res) => res.sendStatus(503), /^herdless; fwd=stale; fwd-status=503; ttl=-\d+; detail=error$/],
    }
    test.for(
      Object.keys(giveUps).flatMap((how) => Object.keys(answers).map((status) => [how, status] as [string, string])),
    )('%s and ends with a %s serves its client the stored response', async ([how, status]) => {
      const [answer, told] = answers[status] ?? []
      const gate = new Gate()
      const source = counted(async (run, _req, res) => {
        res.set({ 'Cache-Control': 'max-age=0, stale-if-error=60', ETag: '"one"' })
        if (run === 1) return res.end('page')
        await gate.opened
        return answer?.(res)
      })
      const hardTimeout = how === 'by its hard timeout' ? '2s' : '1m'
      await using site = await siteOf(source.handler, { cache: { hardTimeout } })
      await site.get()
      await site.stored()
      let reply: Reply | undefined
      void site.get().then((answered) => (reply = answered))
      await until('the handler is asked', () => source.runs === 2)
      await giveUps[how]?.(site)
      gate.open()
      const { status: said, text, cache } = await until('its client is answered', () => reply, 60_000)
      expect([said, text]).toEqual([200, 'page'])
      expect(cache).toMatch(told ?? '')
      expect(source.runs).toBe(2)
    })
  })

  test.for<[string, (res: Response) => unknown]>([
    ['which it declares', (res) => res.vary('X-Lang')],
    ['which it does not declare', () => undefined],
  ])('a 304 renews a response that was made of a field %s', async ([, declare]) => {
    const source = counted((run, req, res) => {
      declare(res)
      res.set({ 'Cache-Control': 'no-cache', 'X-Run': `${run}` }).send(`in ${req.get('x-lang')}`)
    })
    await using site = await siteOf(source.handler)
    const asked = async (lang: string): Promise<unknown> => {
      const { text, headers, cache } = await site.get('/', { 'x-lang': lang })
      await site.stored()
      return [text, headers['x-run'], cache.slice('herdless; '.length)]
    }
    const renewed = 'fwd=stale; fwd-status=304; stored'
    expect(await asked('en')).toEqual(['in en', '1', 'fwd=uri-miss; stored'])
    expect(await asked('de')).toEqual(['in de', '2', 'fwd=vary-miss; stored'])
    expect(await asked('en')).toEqual(['in en', '3', renewed])
    expect(await asked('en')).toEqual(['in en', '4', renewed])
    expect(await asked('de')).toEqual(['in de', '5', renewed])
    expect(await asked('de')).toEqual(['in de', '6', renewed])
  })

  test('a 304 whose handler reads another field renews the response for requests that agree in it', async () => {
    const source = counted((run, req, res) => {
      res.set({ 'Cache-Control': 'no-cache', ETag: '"one"', 'X-Run': `${run}` })
      if (req.get('if-none-match') === undefined) return res.send('page')
      return res.status(304).set('X-Lang', req.get('x-lang')).end()
    })
    await using site = await siteOf(source.handler)
    const asked = async (lang: string): Promise<unknown> => {
      const { text, headers, cache } = await site.get('/', { 'x-lang': lang })
      await site.stored()
      return [text, headers['x-lang'], headers['x-run'], cache.slice('herdless; '.length)]
    }
    expect(await asked('en')).toEqual(['page', undefined, '1', 'fwd=uri-miss; stored'])
    expect(await asked('en')).toEqual(['page', 'en', '2', 'fwd=stale; fwd-status=304; stored'])
    expect(await asked('de')).toEqual(['page', undefined, '3', 'fwd=vary-miss; stored'])
    expect(await asked('en')).toEqual(['page', 'en', '4', 'fwd=stale; fwd-status=304; stored'])
  })

  test('20 who ask at once are one question', async () => {
    const gate = new Gate()
    const source = counted(async (run, req, res) => {
      if (run > 1) await gate.opened
      res.set({ 'Cache-Control': 'max-age=0', ETag: '"one"' })
      if (req.headers['if-none-match'] === '"one"') res.status(304).end()
      else res.end('body')
    })
    await using site = await siteOf(source.handler)
    await site.get()
    const before = site.heard('miss')
    const crowd = site.crowd(20)
    await site.missed(before + 20)
    gate.open()
    for (const { text, status } of await Promise.all(crowd)) expect([status, text]).toEqual([200, 'body'])
    expect(source.runs).toBe(2)
  })
})

test.for(['private', 'no-store'])('what is still right but %s from now on is not stored again', async (control) => {
  let runs = 0
  await using site = await siteOf((req, res) => {
    const known = req.headers['if-none-match'] === '"one"'
    runs++
    res.set({ ETag: '"one"', 'Cache-Control': known ? control : 'no-cache' })
    if (known) res.status(304).end()
    else res.send('page')
  })
  expect((await site.get()).cache).toBe('herdless; fwd=uri-miss; stored')
  const again = await site.get()
  expect([again.status, again.text]).toEqual([200, 'page'])
  expect(again.cache).toBe('herdless; fwd=stale; fwd-status=304')
  // It is asked each time.
  expect((await site.get()).text).toBe('page')
  expect(runs).toBe(3)
})

test('a refresh keeps what earlier middleware has said of the answer', async () => {
  const source = counted((run, _req, res) => res.end(`run ${run}`))
  await using site = await siteWith((app, cache) => {
    app.use((_req, res, next) => (res.set('Cache-Control', stale), next()))
    app.use(cacheResponses(cache, { ttl: '1h' }))
    app.use(source.handler)
  })
  const ttlOf = ({ cache }: { readonly cache: string }): number => Number(/ttl=(-?\d+)/.exec(cache)?.[1])
  await site.get()
  const refreshed = await until('the page is refreshed', async () => {
    const reply = await site.get()
    await site.stored()
    return reply.text !== 'run 1' && reply
  })
  expect(refreshed.cache).toContain('hit')
  expect(ttlOf(refreshed)).toBeLessThanOrEqual(0)
})

test('a hit is told as one of the store, or of a copy in this process', async () => {
  await using site = await siteOf((_req, res) => void res.send('page'), { cache: { near: {} } })
  const heard: string[] = []
  for (const cache of site.caches) cache.on('hit', ({ near }) => heard.push(near === true ? 'near' : 'store'))
  await until('a copy is served', async () => (await site.get(), heard.includes('near')))
  expect(heard.slice(0, heard.indexOf('near'))).toContain('store')
  expect(site.caches[0]?.stats()).toMatchObject({ nearHits: heard.filter((each) => each === 'near').length })
})

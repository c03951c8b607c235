import { pipeline, Readable } from 'node:stream'
import type { Request, Response } from 'express'
import { describe, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { startRedis } from '../support/servers.ts'
import { message } from './attacks/raw.ts'
import { counted, Gate, siteOf, siteWith, whole, type Reply } from './support/site.ts'
import { cacheResponses } from '../../src/express/index.ts'

const two = { apps: 2 }
/** By default a waiter waits for a second longer than the hard timeout, and a busy machine may stop this process for longer. */
const longWait = { waitTimeout: '2m' } as const

type Answer = (run: number, res: Response, req: Request) => unknown

/** A handler whose runs are held until each is let go. */
class Held {
  readonly gates: Gate[] = []
  most = 0
  #running = 0
  readonly #answer: Answer

  constructor(answer: Answer) {
    this.#answer = answer
  }

  get runs(): number {
    return this.gates.length
  }

  readonly handler = async (req: Request, res: Response): Promise<void> => {
    const gate = new Gate()
    this.gates.push(gate)
    const run = this.runs
    this.most = Math.max(this.most, ++this.#running)
    await gate.opened
    this.#running--
    await this.#answer(run, res, req)
  }

  /** Lets all go that have begun, and all that will. */
  letGo(): void {
    for (const gate of this.gates) gate.open()
    this.gates.push = (gate) => (gate.open(), Array.prototype.push.call(this.gates, gate))
  }

  async began(count: number): Promise<void> {
    await until(`${count} runs have begun`, () => this.runs >= count)
  }
}

/**
 * Nineteen who ask in the app whose handler runs, and one in another: there, an error counts only for those who asked
 * before that app's claim, and more than one may not have come by then.
 */
async function crowdOf(site: Awaited<ReturnType<typeof siteOf>>, source: Held): Promise<Promise<Reply>[]> {
  const here = site.crowd(19, '/', () => ({ app: 0 }))
  await source.began(1)
  const all = [...here, ...site.crowd(1, '/', () => ({ app: 1 }))]
  await site.missed(20)
  return all
}

function texts(replies: readonly Reply[]): Set<string> {
  return new Set(replies.map(({ status, text }) => `${status} ${text}`))
}

describe('what can be stored', () => {
  test('20 who ask at once in two apps are one run, and each says how it was answered', async () => {
    const source = new Held((run, res) => res.send(`${run}`))
    await using site = await siteOf(source.handler, two)
    const crowd = site.crowd(20)
    await site.missed(20)
    source.letGo()
    const replies = await Promise.all(crowd)
    expect(texts(replies)).toEqual(new Set(['200 1']))
    expect(source.runs).toBe(1)
    expect(replies.filter(({ cache }) => cache === 'herdless; fwd=uri-miss; stored')).toHaveLength(1)
    expect(replies.filter(({ cache }) => cache === 'herdless; fwd=uri-miss; collapsed')).toHaveLength(19)
    for (const app of [0, 1]) expect((await site.get('/', {}, { app })).cache).toMatch(/^herdless; hit; ttl=\d+$/)
  })

  test('a body that is too long for a message reaches those who wait in another app', async () => {
    const body = 'x'.repeat(900_000)
    const source = new Held((run, res) => res.send(`${run} ${body}`))
    await using site = await siteOf(source.handler, two)
    const crowd = site.crowd(20)
    await site.missed(20)
    source.letGo()
    expect(texts(await Promise.all(crowd))).toEqual(new Set([`200 1 ${body}`]))
    expect(source.runs).toBe(1)
  })

  test('20 who want two variants that nobody knew of are a run each, and one for who asked first', async () => {
    const source = new Held((run, res, req) => res.vary('X-Kind').send(`${req.get('x-kind')} ${run}`))
    await using site = await siteOf(source.handler, two)
    const crowd = site.crowd(20, '/', (index) => ({ headers: { 'x-kind': String(index % 4 < 2) } }))
    await site.missed(20)
    source.letGo()
    const replies = await Promise.all(crowd)
    replies.forEach(({ text }, index) => expect(text).toMatch(index % 4 < 2 ? /^true / : /^false /))
    expect(source.runs).toBe(2)
    expect(texts(replies).size).toBe(2)
  })
})

describe('what cannot be stored', () => {
  test('20 who ask at once run side by side as soon as the first one says so', async () => {
    const end = new Gate()
    let runs = 0
    const heads = new Gate()
    await using site = await siteOf(async (_req, res) => {
      const run = ++runs
      if (run === 1) await heads.opened
      res.set('Cache-Control', 'private').write(`${run}`)
      // None ends before all have begun: whoever waited for another's end would wait for ever.
      if (run === 20) end.open()
      await end.opened
      res.end()
    }, two)
    const crowd = site.crowd(20)
    await site.missed(20)
    expect(runs).toBe(1)
    heads.open()
    const replies = await Promise.all(crowd)
    expect(texts(replies)).toEqual(new Set(Array.from({ length: 20 }, (_, index) => `200 ${index + 1}`)))
    expect(replies.filter(({ cache }) => cache === 'herdless; fwd=uri-miss; detail=private')).toHaveLength(1)
  })

  test('the next ones are not made to wait at all, in any app', async () => {
    const source = new Held((run, res) => res.set('Cache-Control', 'no-store').send(`${run}`))
    await using site = await siteOf(source.handler, two)
    const first = site.get()
    await source.began(1)
    source.gates[0]?.open()
    await first
    const crowd = site.crowd(20)
    await source.began(21)
    expect(source.most).toBe(20)
    source.letGo()
    expect(texts(await Promise.all(crowd)).size).toBe(20)
  })

  test('an address whose answers can be stored again is stored again', async () => {
    const source = new Held((run, res) => res.set('Cache-Control', run < 3 ? 'no-store' : 'max-age=60').send(`${run}`))
    source.letGo()
    await using site = await siteOf(source.handler, { options: { passFor: 50 } })
    await site.get()
    await until('it is stored', async () => (await site.get()).cache.includes('hit'))
    expect(source.runs).toBeGreaterThanOrEqual(3)
  })

  test.for<[string, (res: Response) => unknown]>([
    ['too large', (res) => (res.write(Buffer.alloc(600_000)), res.end(Buffer.alloc(600_000)))],
    [
      'with trailers',
      (res) => (res.set('Trailer', 'X-One'), res.write('a'), res.addTrailers({ 'X-One': '1' }), res.end()),
    ],
    ['that read more after the head', (res) => (res.write('a'), res.end(String(res.req.headers['x-late'])))],
  ])('those %s leave the others side by side, too', async ([, answer]) => {
    const source = new Held((_run, res) => answer(res))
    await using site = await siteOf(source.handler, two)
    const crowd = site.crowd(20)
    await site.missed(20)
    source.gates[0]?.open()
    await source.began(20)
    expect(source.most).toBeGreaterThanOrEqual(19)
    source.letGo()
    await Promise.all(crowd)
    expect(source.runs).toBe(20)
  })
})

describe('errors', () => {
  test.for([500, 502, 503, 504])(
    'a %i is one run for all who asked by then, and the next one runs anew',
    async (status) => {
      const source = new Held((run, res) => res.status(status).set('X-Run', `${run}`).send(`error ${run}`))
      await using site = await siteOf(source.handler, two)
      const crowd = await crowdOf(site, source)
      source.letGo()
      const replies = await Promise.all(crowd)
      expect(texts(replies)).toEqual(new Set([`${status} error 1`]))
      for (const { headers } of replies) expect(headers['x-run']).toBe('1')
      expect((await site.get()).text).toBe('error 2')
      expect((await site.get()).text).toBe('error 3')
    },
  )

  test('what a handler throws is one run, and those who wait in another app get it, too', async () => {
    const source = new Held((run) => {
      throw new Error(`no ${run}`)
    })
    await using site = await siteWith((app, cache) => {
      app.use(cacheResponses(cache))
      app.use(source.handler)
      app.use(((error: Error, _req: Request, res: Response, _next: () => void) => {
        res.status(500).send(`sorry: ${error.message}`)
      }) as never)
    }, two)
    const crowd = await crowdOf(site, source)
    source.letGo()
    expect(texts(await Promise.all(crowd))).toEqual(new Set(['500 sorry: no 1']))
    expect((await site.get()).text).toBe('sorry: no 2')
  })

  test('an error that sets a cookie is for its own client', async () => {
    const source = new Held((run, res) => res.cookie('run', `${run}`).status(500).send(`${run}`))
    await using site = await siteOf(source.handler, two)
    const crowd = site.crowd(20)
    await site.missed(20)
    source.letGo()
    const replies = await Promise.all(crowd)
    expect(new Set(replies.map(({ headers }) => String(headers['set-cookie']))).size).toBe(20)
  })
})

describe('a first one that does not get to its end', () => {
  test('one whose client goes away before the head leaves the others their answer', async () => {
    const source = new Held((run, res) => void (res.destroyed || res.send(`${run}`)))
    await using site = await siteOf(source.handler, two)
    await using raw = await site.raw()
    raw.send(message(['GET / HTTP/1.1', 'Host: site']))
    await source.began(1)
    const crowd = site.crowd(20)
    await site.missed(21)
    raw.drop()
    source.letGo()
    expect(texts(await Promise.all(crowd))).toEqual(new Set(['200 1']))
    expect(source.runs).toBe(1)
  })

  // By pipes and other ways of writing, in this process: leader.test.ts.
  test('one whose client goes away within the body goes on for the others, in another app too', async () => {
    // Longer than what the connection takes.
    const pieces = (run: number): string[] => [`${run}`, ...Array.from({ length: 60 }, () => 'x'.repeat(100_000))]
    const source = new Held((run, res) => void pipeline(Readable.from(pieces(run)), res, () => undefined))
    await using site = await siteOf(source.handler, { ...two, options: { maxBody: 8_000_000 } })
    await using raw = await site.raw()
    raw.send(message(['GET / HTTP/1.1', 'Host: site']))
    await source.began(1)
    const crowd = site.crowd(4)
    await site.missed(5)
    source.letGo()
    await raw.head()
    await raw.piece()
    raw.drop()
    expect(texts(await Promise.all(crowd))).toEqual(new Set([`200 1${'x'.repeat(6_000_000)}`]))
    expect(source.runs).toBe(1)
  })

  test('one whose client goes away within the body, and which stops then, is cut off for the others too', async () => {
    const source = new Held((run, res) => {
      res.write(`${run}`)
      if (run > 1) res.end(' whole')
    })
    await using site = await siteOf(source.handler, { cache: { hardTimeout: '5s' } })
    const asked = message(['GET / HTTP/1.1', 'Host: site'])
    await using first = await site.raw()
    first.send(asked)
    await source.began(1)
    await using other = await site.raw()
    other.send(asked)
    await site.missed(2)
    source.letGo()
    for (const raw of [first, other]) {
      await raw.head()
      await raw.piece()
    }
    first.drop()
    await expect(other.rest()).rejects.toThrow(Error)
    expect((await site.get()).text).toBe('2 whole')
  })

  test('a client that waits and goes away takes nothing from anybody', async () => {
    const source = new Held((run, res) => res.send(`${run}`))
    await using site = await siteOf(source.handler, two)
    const crowd = site.crowd(10)
    await site.missed(10)
    const raws = await Promise.all([site.raw(0), site.raw(1)])
    for (const raw of raws) raw.send(message(['GET / HTTP/1.1', 'Host: site']))
    await site.missed(12)
    for (const raw of raws) raw.drop()
    source.letGo()
    expect(texts(await Promise.all(crowd))).toEqual(new Set(['200 1']))
    expect(source.runs).toBe(1)
  })

  test('a handler that never answers is replaced when its time is over', async () => {
    const source = new Held((run, res) => (run === 1 ? new Promise(() => {}) : res.send(`${run}`)))
    source.letGo()
    await using site = await siteOf(source.handler, { ...two, cache: { hardTimeout: 200, ...longWait } })
    const answers: string[] = []
    for (const reply of site.crowd(20)) void reply.then(({ text }) => answers.push(text)).catch(() => {})
    await until('all but one are answered', () => answers.length === 19, 60_000)
    expect(new Set(answers)).toEqual(new Set(['2']))
    expect(source.runs).toBe(2)
    expect((await site.get()).cache).toContain('hit')
  })

  test('a waiter whose time is over is told to come back, and its handler does not run', async () => {
    const source = new Held((run, res) => res.send(`${run}`))
    await using site = await siteOf(source.handler, { ...two, options: { waitTimeout: '2s' } })
    const first = site.get()
    await source.began(1)
    const put: Reply[] = []
    for (const reply of site.crowd(5)) void reply.then((answered) => put.push(answered)).catch(() => {})
    await until('all waiters are put off', () => put.length === 5, 60_000)
    for (const { status, text, headers, cache } of put) {
      expect([status, headers['retry-after'], text]).toEqual([503, '1', ''])
      expect(cache).toBe('herdless; fwd=uri-miss; detail=wait')
    }
    source.letGo()
    expect((await first).text).toBe('1')
    expect((await site.get()).cache).toContain('hit')
    expect(source.runs).toBe(1)
  })

  test('a waiter whose time is over is served the stale page, where that may be served instead of an error', async () => {
    const source = new Held((run, res) => res.set('Cache-Control', 'max-age=0, stale-if-error=60').send(`${run}`))
    await using site = await siteOf(source.handler, { options: { waitTimeout: '2s' } })
    const first = site.get()
    await source.began(1)
    source.gates[0]?.open()
    await first
    await site.filled(1)
    const second = site.get()
    await source.began(2)
    expect((await site.get()).cache).toMatch(/^herdless; hit; ttl=-?\d+; detail=wait$/)
    source.letGo()
    expect((await second).text).toBe('2')
  })

  test('those who wait for what breaks off run it one after the other', async () => {
    const source = new Held((run, res) => (run <= 8 ? res.socket?.destroy() : res.send(`${run}`)))
    source.letGo()
    await using site = await siteOf(source.handler, two)
    const settled = await Promise.allSettled(site.crowd(20))
    const cut = settled.filter(({ status }) => status === 'rejected')
    const whole = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
    expect(cut).toHaveLength(8)
    expect(texts(whole)).toEqual(new Set(['200 9']))
    expect([source.runs, source.most]).toEqual([9, 1])
  })

  test('whoever was put off has no handler run, though it is its turn later', async () => {
    const source = new Held((run, res) => res.send(`${run}`))
    await using site = await siteWith((app, cache) => {
      const key = (): string => 'the same'
      app.get('/impatient', cacheResponses(cache, { key, waitTimeout: 300 }), source.handler)
      app.get('/patient', cacheResponses(cache, { key }), source.handler)
    }, two)
    const first = site.get('/patient')
    await source.began(1)
    const impatient = site.get('/impatient', {}, { app: 1 })
    await site.missed(2)
    const patient = site.get('/patient', {}, { app: 1 })
    await site.missed(3)
    expect((await impatient).cache).toBe('herdless; fwd=uri-miss; detail=wait')
    await site.caches[0]?.invalidate('response the same')
    await source.began(2)
    source.letGo()
    expect((await patient).text).toBe('2')
    expect((await first).text).toBe('1')
    expect(source.runs).toBe(2)
  })

  test.for([
    ['has been answered by somebody else', (res: Response): unknown => res.sendStatus(408)],
    ['has gone', (res: Response): unknown => res.destroy()],
  ] as const)('whoever %s meanwhile has no handler run when its turn comes', async ([, answer]) => {
    const source = new Held((run, res) => res.send(`${run}`))
    const waiting: Response[] = []
    await using site = await siteWith((app, cache) => {
      app.use((_req, res, next) => (waiting.push(res), next()))
      app.get('/', cacheResponses(cache), source.handler)
    }, two)
    const first = site.get()
    await source.began(1)
    const late = site.get('/', {}, { app: 1 }).catch(() => 'gone')
    await site.missed(2)
    const patient = site.get('/', {}, { app: 1 })
    await site.missed(3)
    answer(waiting[1] as Response)
    await late
    await site.caches[0]?.invalidate('response http://site/')
    await source.began(2)
    source.letGo()
    expect((await patient).text).toBe('2')
    expect((await first).text).toBe('1')
    expect(source.runs).toBe(2)
  })

  test('a client that has gone does not count among those who wait', async () => {
    const source = new Held((run, res) => res.send(`${run}`))
    await using site = await siteOf(source.handler, { options: { maxWaiters: 2 } })
    const first = site.get()
    await source.began(1)
    const asked = message(['GET / HTTP/1.1', 'Host: site'])
    for (let round = 0; round < 3; round++) {
      await using raw = await site.raw()
      raw.send(asked)
      await site.missed(2 + round)
      raw.drop()
    }
    const patient = site.get()
    await site.missed(5)
    source.letGo()
    expect(texts(await Promise.all([first, patient]))).toEqual(new Set(['200 1']))
  })

  test.for<[string, (req: Request, told: () => void) => unknown]>([
    ['close of the response', (req, told) => req.res?.on('close', told)],
    ['close of the request', (req, told) => req.on('close', told)],
    ['aborted', (req, told) => req.on('aborted', told)],
    ['close of the connection', (req, told) => req.socket.on('close', told)],
  ])('what a handler answers because its client has gone is for nobody: %s', async ([, listen]) => {
    const gate = new Gate()
    const tables: Gate[] = []
    let told = 0
    // It is told because its client has gone, not because its time is over.
    const cache = { hardTimeout: '10m', waitTimeout: '11m' } as const
    const handler = async (req: Request, res: Response): Promise<void> => {
      const table = new Gate()
      tables.push(table)
      const rows: number[] = []
      listen(req, table.open)
      void gate.opened.then(() => (rows.push(1), table.open()))
      await table.opened
      told++
      res.json(rows)
    }
    await using site = await siteOf(handler, { cache })
    const asked = message(['GET / HTTP/1.1', 'Host: site'])
    await using alone = await site.raw()
    alone.send(asked)
    await until('it runs', () => tables.length === 1)
    alone.drop()
    // Nobody else waits: it is told, and somebody else has it run again.
    await until('it is told', () => told === 1)
    await using leader = await site.raw()
    leader.send(asked)
    await until('it runs again', () => tables.length === 2)
    const others = site.crowd(3)
    await site.missed(5)
    leader.drop()
    gate.open()
    expect(texts(await Promise.all(others))).toEqual(new Set(['200 [1]']))
    expect((await site.get()).text).toBe('[1]')
    expect(tables).toHaveLength(2)
  })

  test('handlers of one source run as its limit allows, and what cannot begin is put off', async () => {
    const source = new Held((run, res) => res.send(`${run}`))
    const cache = { sources: { render: { concurrency: 1, maxQueued: 1 } } }
    await using site = await siteOf(source.handler, { cache, options: { source: 'render' } })
    const first = site.get('/1')
    await source.began(1)
    const second = site.get('/2')
    await until('it queues', () => site.heard('queued') === 2)
    const put = await site.get('/3')
    expect(put.status).toBe(503)
    expect([put.headers['retry-after'], put.cache]).toEqual(['1', 'herdless; fwd=uri-miss; detail=overloaded'])
    expect(source.runs).toBe(1)
    source.letGo()
    expect([(await first).text, (await second).text]).toEqual(['1', '2'])
    expect(source.most).toBe(1)
  })

  test('no more than so many wait', async () => {
    const source = new Held((run, res) => res.status(500).send(`${run}`))
    await using site = await siteOf(source.handler, { options: { maxWaiters: 3 } })
    const crowd = site.crowd(3)
    await site.missed(3)
    await source.began(1)
    const put = await site.get()
    expect([put.status, put.headers['retry-after'], put.cache]).toEqual([
      503,
      '1',
      'herdless; fwd=uri-miss; detail=overloaded',
    ])
    const other = site.get('/other')
    await source.began(2)
    source.letGo()
    expect(texts(await Promise.all(crowd))).toEqual(new Set(['500 1']))
    expect((await other).text, 'at another address there is room').toBe('2')
    for (const { status } of await Promise.all(site.crowd(3))) expect(status, 'and there is again').toBe(500)
  })

  test('one that is late is answered by its own run, and keeps nothing', async () => {
    const late = new Gate()
    const source = counted(async (run, _req, res) => {
      if (run === 1) await late.opened
      res.send(`${run}`)
    })
    await using site = await siteOf(source.handler, { cache: { hardTimeout: 100, ...longWait } })
    const first = site.get()
    await until('it has begun', () => source.runs === 1)
    expect((await site.get()).text).toBe('2')
    late.open()
    expect((await first).text).toBe('1')
    expect((await site.get()).text).toBe('2')
    expect(source.runs).toBe(2)
  })
})

describe('when Redis goes away', () => {
  test('in the middle, everybody has an answer, by no more than a run for each app', async () => {
    await using server = await startRedis()
    const source = new Held((run, res) => res.send(`${run}`))
    // Longer than a busy machine takes for a command before Redis goes away.
    const cache = { commandTimeout: '3s' } as const
    await using site = await siteOf(source.handler, { ...two, cache, redis: () => server.connect() })
    const crowd = site.crowd(20)
    await site.missed(20)
    await source.began(1)
    await server.kill()
    source.letGo()
    const replies = await whole(crowd)
    expect(replies).toHaveLength(20)
    for (const { status } of replies) expect(status).toBe(200)
    expect(source.runs).toBeLessThanOrEqual(3)
  })

  test('before, those of an app are a few runs, and what cannot be shared is not', async () => {
    await using server = await startRedis()
    const source = new Held((run, res, req) => {
      if (req.path === '/private') res.cookie('run', `${run}`)
      res.send(`${run}`)
    })
    const cache = { commandTimeout: 300 }
    await using site = await siteOf(source.handler, { cache, redis: () => server.connect() })
    await server.kill()
    const shared = site.crowd(20)
    await site.missed(20)
    source.letGo()
    expect(await whole(shared)).toHaveLength(20)
    expect(source.runs).toBeLessThanOrEqual(3)
    const own = await whole(site.crowd(20, '/private'))
    expect(texts(own).size).toBe(20)
    expect(new Set(own.map(({ headers }) => String(headers['set-cookie']))).size).toBe(20)
  })

  test('those who differ are told apart', async () => {
    await using server = await startRedis()
    const source = new Held((_run, res, req) => res.vary('X-Kind').send(`${req.get('x-kind')}`))
    source.letGo()
    await using site = await siteOf(source.handler, { cache: { commandTimeout: 300 }, redis: () => server.connect() })
    await server.kill()
    const replies = await Promise.all(site.crowd(20, '/', (index) => ({ headers: { 'x-kind': String(index % 2) } })))
    replies.forEach(({ text }, index) => expect(text).toBe(String(index % 2)))
  })

  test('what is too much for the handlers is put off', async () => {
    await using server = await startRedis()
    const source = new Held((run, res) => res.send(`${run}`))
    const cache = { commandTimeout: 300, maxConcurrentLoads: 1, maxQueuedLoads: 1 }
    await using site = await siteOf(source.handler, { cache, redis: () => server.connect() })
    await server.kill()
    const first = site.get('/1')
    await source.began(1)
    const put: Reply[] = []
    const rest = ['/2', '/3', '/4'].map(async (path) => {
      const reply = await site.get(path)
      if (reply.status === 503) put.push(reply)
      return reply
    })
    await until('two of them are put off', () => put.length === 2)
    for (const { cache } of put) expect(cache).toBe('herdless; fwd=uri-miss; detail=overloaded')
    source.letGo()
    const replies = await Promise.all([first, ...rest])
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(2)
    expect([source.runs, source.most]).toEqual([2, 1])
  })

  test('a cache that is closed lets every request go to the handler', async () => {
    const source = new Held((run, res) => res.send(`${run}`))
    source.letGo()
    await using site = await siteOf(source.handler)
    await site.get()
    await site.caches[0]?.close()
    expect((await site.get()).text).toBe('2')
  })
})

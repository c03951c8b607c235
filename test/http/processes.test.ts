import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import type { FleetProcess } from '../support/fleet-process.ts'
import { message } from './attacks/raw.ts'
import { SiteProcesses, type ProcessSite, type Run } from './support/process-site.ts'
import { whole, type Asked, type Reply } from './support/visitor.ts'

let processes: SiteProcesses
beforeAll(async () => void (processes = await SiteProcesses.open()))
afterAll(() => processes[Symbol.asyncDispose]())

/** What a run answers that only it does; long enough, if asked for, to come in many packets. */
function textOf({ number, path, read }: Run, length = 0): string {
  return `${path} ${read.join()} by run ${number}`.padEnd(length, '.')
}

/** Statuses and bodies, each once. */
function told(replies: readonly Reply[]): Set<string> {
  return new Set(replies.map(({ status, text }) => `${status} ${text}`))
}

/** Requests to all processes but one. */
function elsewhere(site: ProcessSite, leader: number): (index: number) => Asked {
  const others = site.ports.map((_, app) => app).filter((app) => app !== leader)
  return (index) => ({ app: others[index % others.length] ?? 0 })
}

const get = message(['GET / HTTP/1.1', 'Host: site'])

describe('what can be stored', () => {
  test('200 who ask at once in four processes are given the answer of one run', async () => {
    await using site = await processes.site()
    const crowd = site.crowd(200)
    const run = await site.run(1)
    await site.missed(200, 3)
    await run.answer({ body: textOf(run) })
    const replies = await Promise.all(crowd)
    expect(told(replies)).toEqual(new Set([`200 ${textOf(run)}`]))
    expect(replies.filter(({ cache }) => cache === 'herdless; fwd=uri-miss; stored')).toHaveLength(1)
    expect(replies.filter(({ cache }) => cache === 'herdless; fwd=uri-miss; collapsed')).toHaveLength(199)
    expect(replies.filter(({ headers }) => /^\d+$/.test(headers.age ?? ''))).toHaveLength(199)
    for (let round = 0; round < 2; round++) {
      for (const { text, cache } of await site.everywhere('/')) {
        expect(text).toBe(textOf(run))
        expect(cache).toMatch(/^herdless; hit; ttl=\d+$/)
      }
    }
    expect(site.runs).toHaveLength(1)
  })

  test('100 who ask for French and German at once in four processes are given what they ask for', async () => {
    await using site = await processes.site({ reads: ['accept-language'] })
    const languages = ['fr', 'de']
    const languageOf = (index: number): string => languages[(index >> 2) % 2] ?? ''
    const asked = (index: number): Asked => ({ headers: { 'accept-language': languageOf(index) } })
    const crowd = site.crowd(100, '/', asked)
    await site.missed(100, 3)
    site.letGo((run) => ({ headers: { Vary: 'Accept-Language' }, body: textOf(run) }))
    for (const replies of [await Promise.all(crowd), await Promise.all(site.crowd(100, '/', asked))]) {
      for (const [index, { text }] of replies.entries()) expect(text).toContain(`/ ${languageOf(index)} by run`)
      expect(told(replies).size).toBe(2)
    }
    expect(site.runs).toHaveLength(2)
  })
})

describe('what is for one client alone', () => {
  interface Kind {
    readonly headers?: (run: Run) => Record<string, string>
    readonly asked?: (index: number) => Record<string, string>
    readonly reads?: readonly string[]
  }

  const kinds: Record<string, Kind> = {
    'Set-Cookie': { headers: ({ number }) => ({ 'Set-Cookie': `run=${number}`, 'Cache-Control': 'max-age=60' }) },
    private: { headers: () => ({ 'Cache-Control': 'max-age=60, private' }) },
    'what a cookie says': {
      asked: (index) => ({ cookie: `user=${index}` }),
      headers: () => ({ 'Cache-Control': 'public, max-age=60' }),
      reads: ['cookie'],
    },
    'what Authorization says': {
      asked: (index) => ({ authorization: `Bearer ${index}` }),
      reads: ['authorization'],
    },
    'Authorization that somebody else has read': { asked: (index) => ({ authorization: `Bearer ${index}` }) },
  }

  test.for(Object.entries(kinds))('%s: 100 in four processes run side by side, each for its own', async ([, kind]) => {
    const { headers = () => ({}), asked = (): Record<string, string> => ({}), reads = [] } = kind
    const responses = { cookies: 'show', authorization: 'share', passFor: '1m' } as const
    await using site = await processes.site({ reads, responses })
    const crowd = site.crowd(100, '/', (index) => ({ headers: asked(index) }))
    const first = await site.run(1)
    // Those who differ by what it reads run beside it at once, others when it has said for whom its answer is.
    await (reads.includes('cookie') ? site.run(100) : site.missed(100, 3))
    expect(site.runs).toHaveLength(reads.includes('cookie') ? 100 : 1)
    await first.write('the ', headers(first))
    // None ends before all have begun: whoever waited for another's end would wait for ever.
    await site.run(100)
    await first.answer({ body: textOf(first) })
    site.letGo((run) => ({ headers: headers(run), body: `the ${textOf(run)}` }), 2)
    const replies = await Promise.all(crowd)
    expect(site.runs).toHaveLength(100)
    expect(told(replies).size).toBe(100)
    for (const [index, reply] of replies.entries()) {
      const run = site.runs.find((each) => `the ${textOf(each)}` === reply.text)
      expect(run?.read).toEqual(reads.map((name) => asked(index)[name]))
      const cookies = reply.headers['set-cookie'] ?? []
      expect(cookies.every((cookie) => cookie === `run=${run?.number}`)).toBe(true)
    }
    const late = await Promise.all(site.crowd(4))
    for (const { text } of late) expect(text).not.toMatch(/user|Bearer/)
    for (const each of told(late)) expect(told(replies)).not.toContain(each)
  })
})

describe('a process that dies or is blocked while its handler answers', () => {
  test('killed within the body: its own are cut off, all others are given the whole of one more run', async () => {
    await using site = await processes.site()
    await using client = await site.raw(0)
    client.send(get)
    const leader = await site.run(1)
    const crowd = site.crowd(60, '/', elsewhere(site, 0))
    const own = site.crowd(20, '/', () => ({ app: 0 }))
    await site.missed(81, 3)
    await leader.write('half')
    await client.head()
    expect(String(await client.piece())).toBe('half')
    await leader.process.kill()
    await expect(client.rest()).rejects.toThrow('The connection ended')
    const next = await site.run(2)
    await next.answer({ body: textOf(next, 100_000) })
    expect(told(await Promise.all(crowd))).toEqual(new Set([`200 ${textOf(next, 100_000)}`]))
    expect(await whole(own)).toEqual([])
    for (const { text } of await site.everywhere('/')) expect(text).toBe(textOf(next, 100_000))
    expect(site.runs).toHaveLength(2)
  })

  test('killed before the head: all others are given the answer of one more run', async () => {
    await using site = await processes.site()
    const own = site.crowd(1)
    const leader = await site.run(1)
    const crowd = site.crowd(60, '/', elsewhere(site, 0))
    await site.missed(61, 3)
    await leader.process.kill()
    const next = await site.run(2)
    await next.answer({ body: textOf(next) })
    expect(told(await Promise.all(crowd))).toEqual(new Set([`200 ${textOf(next)}`]))
    expect(await whole(own)).toEqual([])
    expect(told(await site.everywhere('/'))).toEqual(new Set([`200 ${textOf(next)}`]))
    expect(site.runs).toHaveLength(2)
  })

  test('one that is blocked is replaced, and what it says late is kept nowhere, in its own copies neither', async () => {
    // No lease of a process that is merely busy ends within this time.
    await using site = await processes.site({ cache: { leaseTtl: '5s' } })
    const late = site.ask('/', { app: 1 })
    const leader = await site.run(1)
    const crowd = site.crowd(60, '/', elsewhere(site, 1))
    const others = site.processes.filter((process) => process !== leader.process)
    await site.missed(60, 3, others)
    leader.process.pause()
    const next = await site.run(2)
    await next.answer({ body: textOf(next) })
    expect(told(await Promise.all(crowd))).toEqual(new Set([`200 ${textOf(next)}`]))
    const answered = leader.answer({ body: textOf(leader) })
    leader.process.resume()
    await answered
    expect((await late).text).toBe(textOf(leader))
    for (let round = 0; round < 2; round++)
      expect(told(await site.everywhere('/'))).toEqual(new Set([`200 ${textOf(next)}`]))
    expect(site.runs).toHaveLength(2)
  })
})

describe('a handler that fails', () => {
  const says: Record<string, (run: Run) => Promise<void>> = {
    'answers 500 and says that it is fresh': (run) =>
      run.answer({ status: 500, headers: { 'Cache-Control': 'max-age=60' }, body: textOf(run) }),
    'calls next(error)': (run) => run.fail('by run 1'),
  }

  test.for(Object.keys(says))('%s: 100 in four processes are given that, and the next one is not', async (way) => {
    await using site = await processes.site()
    const own = site.ask('/')
    const leader = await site.run(1)
    const crowd = site.crowd(100)
    await site.missed(101, 3)
    await says[way]?.(leader)
    const { status, text } = await own
    expect([status, text]).toEqual([500, expect.stringContaining('by run 1')])
    expect(told(await Promise.all(crowd))).toEqual(new Set([`500 ${text}`]))
    site.letGo((run) => ({ body: textOf(run) }))
    for (const { text } of await site.everywhere('/')) expect(text).toMatch(/by run 2$/)
    expect(site.runs).toHaveLength(2)
  })
})

describe('what is changed in one process while another fills', () => {
  const changes: Record<string, (site: ProcessSite, app: number) => Promise<Reply>> = {
    'a POST': (site, app) => site.ask('/', { app, method: 'POST' }),
    'a purge': (site, app) => site.purge(app, '/'),
  }

  test.for(Object.keys(changes))(
    '%s: whoever asks once it is answered is given what was made after',
    async (change) => {
      await using site = await processes.site()
      const early = site.crowd(4)
      const before = await site.run(1)
      await site.missed(4, 3)
      await before.write('what was ')
      const changed = changes[change]?.(site, 2)
      if (change === 'a POST') await (await site.run(2)).answer({ body: 'changed' })
      expect((await changed)?.status).toBe(change === 'a POST' ? 200 : 204)
      const late = site.crowd(40)
      await site.missed(44, 3)
      await before.answer({ body: 'before' })
      site.letGo((run) => ({ body: textOf(run) }), 2)
      for (const { text } of await Promise.all(late)) expect(text).toMatch(/^\/ {2}by run \d$/)
      const answers = (await Promise.all(early)).map(({ text }) => text)
      expect(answers.filter((text) => text === 'what was before')).toHaveLength(1)
      const after = told(await site.everywhere('/'))
      expect(after.size).toBe(1)
      expect(after).not.toContain('200 what was before')
    },
  )

  test('a process that is blocked meanwhile serves none of its copies when it goes on', async () => {
    await using site = await processes.site()
    site.letGo((run) => ({ body: textOf(run) }))
    const keeper = site.processes[1] as FleetProcess
    await until('it serves a copy of its own', async () => {
      await site.everywhere('/')
      return (await site.heard('near', [keeper])) > 0
    })
    keeper.pause()
    expect((await site.ask('/', { method: 'POST' })).text).toBe(textOf(await site.run(2)))
    const late = site.crowd(5, '/', () => ({ app: 1 }))
    keeper.resume()
    expect(told(await Promise.all(late))).toEqual(new Set([`200 ${textOf(await site.run(3))}`]))
  })

  test('again and again, at random: nobody is ever given what was older when he asked', async () => {
    await using site = await processes.site()
    let version = 0
    site.letGo(async (run) => {
      if (run.method === 'POST') return { body: `changed to ${++version}` }
      const body = `version ${version}`
      await pause(Math.random() * 5)
      return { body }
    })
    let done = 0
    let isOver = false
    const asking = async (app: number): Promise<number> => {
      let asked = 0
      for (; !isOver; asked++) {
        const least = done
        const { text, status } = await site.ask('/', { app })
        expect(status).toBe(200)
        expect(Number(/^version (\d+)$/.exec(text)?.[1])).toBeGreaterThanOrEqual(least)
      }
      return asked
    }
    const all = Promise.all([0, 1, 2, 3, 0, 1, 2, 3].map(asking))
    all.catch(() => undefined)
    try {
      for (let change = 1; change <= 60; change++) {
        const app = change % 4
        if (change % 3 === 0) {
          version++
          await site.purge(app, '/')
        } else await site.ask('/', { app, method: 'POST' })
        done = version
        if (change % 2 === 0) await site.everywhere('/')
      }
    } finally {
      isOver = true
    }
    for (const asked of await all) expect(asked).toBeGreaterThan(0)
    expect(await site.heard('near')).toBeGreaterThan(0)
  })
})

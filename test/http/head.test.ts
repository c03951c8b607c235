import { describe, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import type { CacheResponsesOptions } from '../../src/express/index.ts'
import type { CacheOptions } from '../../src/index.ts'
import { everyFrame } from './support/every-frame.ts'
import { Gate, siteOn, type Reply, type Site } from './support/site.ts'

const head = { method: 'HEAD' }

describe.each(everyFrame)('%s', (_name, make) => {
  /** A site whose page counts the runs of its handler, and the methods that the handler saw. */
  async function open(
    cacheControl: string,
    { options = {}, cache = {}, gate }: { options?: CacheResponsesOptions; cache?: CacheOptions; gate?: Gate } = {},
  ) {
    const runs: string[] = []
    const page = async (method: string) => {
      const run = runs.push(method)
      await gate?.opened
      return { text: `run ${run}`, cacheControl }
    }
    const site = await siteOn((each) => make(page, each, options), { cache })
    return { site, runs, [Symbol.asyncDispose]: () => site[Symbol.asyncDispose]() }
  }

  /** The first answer to a GET that is not `run 1`. */
  async function refreshed(site: Site): Promise<Reply> {
    return await until('the page is refreshed', async () => {
      const reply = await site.get()
      await site.stored()
      return reply.text !== 'run 1' && reply
    })
  }

  test.for([
    ['stale-while-revalidate', 'max-age=0, stale-while-revalidate=60', {}],
    ['grace', 'public', { ttl: 1, grace: '1m' }],
    ['stale-while-revalidate and conditions', 'max-age=0, stale-while-revalidate=60', {}, { 'if-none-match': '"a"' }],
  ] as const)(
    'a HEAD within %s gets the stale head and empties no page',
    async ([, cacheControl, options, headers = {}]) => {
      await using app = await open(cacheControl, { options })
      await app.site.get()
      await app.site.stored()
      for (let round = 0; round < 3; round++) {
        const { status, text, headers: said } = await app.site.get('/', headers, head)
        expect([status, text, said['content-length']]).toEqual([200, '', '5'])
        await app.site.stored()
      }
      expect(await refreshed(app.site)).toMatchObject({ status: 200, text: expect.stringMatching(/^run \d$/) })
      expect(new Set(app.runs)).toEqual(new Set(['GET']))
    },
  )

  test('a HEAD on an empty cache fills nothing', async () => {
    await using app = await open('max-age=60')
    for (let round = 0; round < 2; round++) {
      const { status, text } = await app.site.get('/', {}, head)
      expect([status, text]).toEqual([200, ''])
    }
    const run = app.runs.length + 1
    expect((await app.site.get()).text).toBe(`run ${run}`)
    await app.site.stored()
    const hit = await app.site.get()
    expect([hit.text, hit.cache]).toEqual([`run ${run}`, expect.stringContaining('hit')])
  })

  test('concurrent GETs never get the answer to a HEAD', async () => {
    const gate = new Gate()
    await using app = await open('max-age=60', { gate })
    const before = app.site.get('/', {}, head)
    await until('the handler runs for HEAD', () => app.runs.length === 1)
    const crowd = app.site.crowd(4)
    await until('the handler runs for GET', () => app.runs.length === 2)
    const after = app.site.get('/', {}, head)
    await until('the handler runs for the second HEAD', () => app.runs.length === 3)
    gate.open()
    for (const { status, text } of [await before, await after]) expect([status, text]).toEqual([200, ''])
    for (const { text } of await Promise.all(crowd)) expect(text).toBe('run 2')
    await app.site.stored()
    expect((await app.site.get()).text).toBe('run 2')
  })

  test('a HEAD on a page that must be revalidated replaces nothing', async () => {
    await using app = await open('max-age=0, must-revalidate, stale-if-error=60')
    await app.site.get()
    await app.site.stored()
    for (let round = 0; round < 2; round++) {
      const { status, text } = await app.site.get('/', {}, head)
      expect([status, text]).toEqual([200, ''])
      await app.site.stored()
    }
    expect((await app.site.get()).text).toMatch(/^run \d$/)
  })

  test('a HEAD refreshes nothing ahead of time', async () => {
    await using app = await open('max-age=60', { cache: { refreshAhead: 0.000001 } })
    await app.site.get()
    await app.site.stored()
    for (let round = 0; round < 3; round++) {
      expect((await app.site.get('/', {}, head)).text).toBe('')
      await app.site.stored()
    }
    expect((await app.site.get()).text).toBe('run 1')
  })
})

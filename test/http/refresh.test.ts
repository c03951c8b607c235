import { createServer, type Server } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import express, { type RequestHandler } from 'express'
import { describe, expect, test } from 'vitest'
import { until } from '../../tools/until.mjs'
import { cachedServer, cacheResponses } from '../../src/express/index.ts'
import type { Cache } from '../../src/index.ts'
import { counted, Gate, siteOf, siteOn, siteWith } from './support/site.ts'

/** Stale at once, and served for a minute more. */
const stale = 'max-age=0, stale-while-revalidate=60'

/** A page in front of a catch-all, behind a cache. */
const places: Record<string, (cache: Cache, page: RequestHandler, rest: RequestHandler) => Server> = {
  'in front of a route': (cache, page, rest) => createServer(express().get('/', cacheResponses(cache), page).use(rest)),
  'in front of an app': (cache, page, rest) => cachedServer(express().get('/', page).use(rest), cache),
}

describe('a refresh whose page is purged meanwhile', () => {
  test.for(Object.keys(places))('runs its handler once and stores nothing, %s', async (place) => {
    const gate = new Gate()
    let hasEnded = false
    const source = counted(async (run, _req, res) => {
      res
        .set('Cache-Control', run === 1 ? `${stale}, stale-if-error=60` : 'max-age=60')
        .once('finish', () => (hasEnded = run === 2))
      if (run === 2) await gate.opened
      res.send(`row ${run}`)
    })
    const rest = counted((_run, _req, res) => res.set('Cache-Control', 'max-age=60').send('home'))
    await using site = await siteOn(async (cache) => places[place]?.(cache, source.handler, rest.handler) as Server)
    await site.get()
    await site.stored()
    expect((await site.get()).text).toBe('row 1')
    await until('the handler runs behind it', () => source.runs === 2)
    await site.caches[0]?.invalidate('response http://site/')
    await until('its load is repeated', () => site.heard('load') === 3)
    await site.stored()
    expect([source.runs, rest.runs]).toEqual([2, 0])
    gate.open()
    await until('it has ended', () => hasEnded)
    const missed = site.heard('miss')
    expect((await site.get()).text).toBe('row 3')
    expect(site.heard('miss') - missed).toBe(1)
    expect((await site.get()).cache).toContain('hit')
  })
})

test('a page that may no longer be stored is refreshed for nobody while its address is passed', async () => {
  const source = counted((run, _req, res) => res.set('Cache-Control', run === 1 ? stale : 'private').send(`${run}`))
  await using site = await siteOf(source.handler, { options: { passFor: '1h' } })
  await site.get()
  await site.stored()
  const before = site.heard('load')
  for (let round = 1; round <= 5; round++) {
    expect((await site.get()).text).toBe('1')
    await until('it would be refreshed', () => site.heard('load') === before + round)
    await site.stored()
  }
  expect(source.runs).toBe(2)
})

test.for(['private', 'max-age=60'])(
  'a refresh that finds %s and a long body ends as any other run',
  async (control) => {
    const ends: string[] = []
    const source = counted(async (run, _req, res) => {
      res.set('Cache-Control', run === 1 ? stale : control)
      for (const event of ['finish', 'close']) res.on(event, () => ends.push(`${run} ${event}`))
      await pipeline(Readable.from(['x'.repeat(run === 1 ? 1 : 200_000), 'y'.repeat(run === 1 ? 1 : 200_000)]), res)
      ends.push(`${run} over`)
    })
    await using site = await siteOf(source.handler, { options: { maxBody: 100_000 } })
    await site.get()
    await site.stored()
    expect((await site.get()).text).toBe('xy')
    await until('both are over', () => ends.length === 6)
    expect(new Set(ends)).toEqual(new Set(['1 finish', '1 close', '1 over', '2 finish', '2 close', '2 over']))
    expect(ends.indexOf('2 finish')).toBeLessThan(ends.indexOf('2 close'))
  },
)

test('a refresh remembers which lines of earlier middleware its handler removes', async () => {
  const source = counted((run, _req, res) => {
    res.removeHeader('X-Frame-Options')
    res.set('Cache-Control', run === 1 ? stale : 'max-age=60').send(`${run}`)
  })
  await using site = await siteWith((app, cache) => {
    app.use((_req, res, next) => (res.set('X-Frame-Options', 'DENY'), next()))
    app.use(cacheResponses(cache), source.handler)
  })
  expect((await site.get()).headers).not.toHaveProperty('x-frame-options')
  await site.stored()
  const refreshed = await until('there is a new one', async () => {
    const reply = await site.get()
    return reply.text === '2' && reply
  })
  expect(refreshed.cache).toContain('hit')
  expect(refreshed.headers).not.toHaveProperty('x-frame-options')
})

test('a refresh whose handler reads a property that earlier middleware has set finds it, and stores nothing', async () => {
  const found: unknown[] = []
  const source = counted((run, req, res) => {
    if (run > 1) found.push(Reflect.get(req, 'user'))
    res.set('Cache-Control', run === 1 ? stale : 'max-age=60').send(`${run}`)
  })
  await using site = await siteWith((app, cache) => {
    app.use((req, _res, next) => (Object.assign(req, { user: 'ada' }), next()))
    app.use(cacheResponses(cache, { passFor: '1h' }), source.handler)
  })
  await site.get()
  await site.stored()
  expect((await site.get()).text).toBe('1')
  await until('it is refreshed', () => found.length === 1)
  await site.stored()
  const { text, cache } = await site.get()
  expect([text, cache]).toEqual(['3', expect.stringContaining('detail=pass')])
  expect(found).toEqual(['ada', 'ada'])
})

import client from 'prom-client'
import { describe, expect, test } from 'vitest'
import { Events } from '../../../src/core/observe/events.ts'
import type { CacheOptions } from '../../../src/index.ts'
import { collectMetrics, type MetricsOptions } from '../../../src/prometheus/index.ts'
import { settled } from '../../support/fake-clock.ts'
import { answerOf, answersOf, asked, valued } from '../support/answer.ts'
import { fleet } from '../support/fleet.ts'
import { allLoading, loading, Source } from '../support/source.ts'

/** The samples of a scrape by name and labels, without those that are 0. */
async function scraped(register: client.Registry): Promise<Record<string, number>> {
  const lines = (await register.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  const samples = lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))] as const)
  return Object.fromEntries(samples.filter(([name, value]) => value !== 0 && !name.includes('_bucket')))
}

/** A fleet whose first cache is collected, and what a scrape then says. */
function observed(options: CacheOptions = {}) {
  const made = fleet({ namespace: 'shop', ...options })
  const register = new client.Registry()
  collectMetrics(made.a, { client, register })
  return { ...made, register, scrape: () => scraped(register) }
}

describe('prom-client collects', () => {
  test('callers, loads and their time, hits, copies in this process, waits for others, and failures by code', async () => {
    const { a, b, clock, scrape } = observed({ near: {} })
    const { source } = await allLoading([a, a])
    await clock.advance(250)
    await source.resolve(0, 'v')
    for (let hit = 0; hit < 3; hit++) await a.getOrLoad('k', source.loader)
    await asked(b.getOrLoad('l', source.loader))
    answerOf(a.getOrLoad('l', source.loader))
    await clock.advance(2_000)
    await source.reject(1, new Error('down'))
    expect(await scrape()).toEqual({
      'herdless_hits_total{namespace="shop"}': 3,
      'herdless_near_hits_total{namespace="shop"}': 2,
      'herdless_misses_total{namespace="shop"}': 3,
      'herdless_loads_total{namespace="shop",leased="true"}': 1,
      'herdless_fills_total{namespace="shop"}': 1,
      'herdless_fill_bytes_total{namespace="shop"}': 3,
      'herdless_load_seconds_sum{namespace="shop"}': 0.25,
      'herdless_load_seconds_count{namespace="shop"}': 1,
      'herdless_waits_total{namespace="shop"}': 1,
      'herdless_wait_seconds_sum{namespace="shop"}': 2,
      'herdless_wait_seconds_count{namespace="shop"}': 1,
      'herdless_answer_seconds_sum{namespace="shop"}': 2.5,
      'herdless_answer_seconds_count{namespace="shop"}': 3,
      'herdless_failures_total{namespace="shop",code="LOAD_FAILED"}': 1,
    })
  })

  test('a caller that waits for another process as a miss, and as no hit', async () => {
    const { a, b, clock, scrape } = observed({ ttl: '1m' })
    const { source } = await loading(b)
    const answers = []
    for (let caller = 0; caller < 20; caller++) {
      answers.push(answerOf(a.getOrLoad('k', source.loader)))
      await clock.advance(10)
    }
    await source.resolve(0, 'v')
    expect(answers).toEqual(answers.map(() => valued('v')))
    const samples = await scrape()
    expect(samples).toMatchObject({ 'herdless_misses_total{namespace="shop"}': 20 })
    expect(samples).not.toHaveProperty(['herdless_hits_total{namespace="shop"}'])
  })

  test('a caller that is served a stale value after its soft timeout as a miss, and as no stale hit', async () => {
    const { a, clock, scrape } = observed({ ttl: '1s', grace: '1m', softTimeout: 200 })
    await a.set('k', 'old')
    await clock.advance(2_000)
    const answer = answerOf(a.getOrLoad('k', new Source<string>().loader))
    await clock.advance(200)
    expect(answer).toEqual(valued('old'))
    const samples = await scrape()
    expect(samples).toMatchObject({ 'herdless_misses_total{namespace="shop"}': 1 })
    expect(samples).not.toHaveProperty(['herdless_stale_hits_total{namespace="shop"}'])
  })

  test('permits of a source, the age of the oldest, and the loads that wait for one', async () => {
    const { a, clock, scrape, source } = observed({ sources: { pg: { concurrency: 1 } }, source: 'pg' })
    answersOf(['k', 'l', 'm'].map((key) => a.getOrLoad(key, source.loader)))
    await clock.advance(5_000)
    const held = await scrape()
    expect(held).toMatchObject({
      'herdless_held_permits{namespace="shop",source="pg"}': 1,
      'herdless_waiting_loads{namespace="shop",source="pg"}': 2,
    })
    const oldest = held['herdless_oldest_permit_seconds{namespace="shop",source="pg"}']
    expect(oldest).toBeGreaterThan(4)
    expect(oldest).toBeLessThanOrEqual(5)
    for (let run = 0; run < 3; run++) await source.resolve(run, 'v')
    const after = await scrape()
    expect(after).not.toHaveProperty(['herdless_held_permits{namespace="shop",source="pg"}'])
    expect(after).not.toHaveProperty(['herdless_waiting_loads{namespace="shop",source="pg"}'])
  })

  test('stale hits and refreshes', async () => {
    const { a, clock, scrape } = observed({ ttl: '10s', grace: '1m', refreshAhead: 0.5 })
    await a.set('k', 'v')
    await clock.advance(6_000)
    await a.getOrLoad('k', () => 'w')
    await settled()
    await clock.advance(20_000)
    await a.getOrLoad('k', () => 'x')
    await settled()
    expect(await scrape()).toMatchObject({
      'herdless_hits_total{namespace="shop"}': 1,
      'herdless_refreshes_ahead_total{namespace="shop"}': 1,
      'herdless_stale_hits_total{namespace="shop"}': 1,
      'herdless_loads_total{namespace="shop",leased="true"}': 2,
    })
  })

  test('invalidations, and loads that they void', async () => {
    const { a, scrape } = observed()
    const { source } = await loading(a)
    await a.invalidate('k')
    await a.invalidateTags(['t'])
    await a.set('l', 'v')
    await settled()
    await source.resolve(0, 'v')
    const samples = await scrape()
    expect(samples).toMatchObject({
      'herdless_invalidations_total{namespace="shop",by="key"}': 2,
      'herdless_invalidations_total{namespace="shop",by="tags"}': 1,
    })
    const lost = samples['herdless_lost_leases_total{namespace="shop"}'] ?? 0
    const refused = samples['herdless_refused_fills_total{namespace="shop"}'] ?? 0
    expect(lost + refused).toBe(1)
  })

  test('a store that falls silent, and its return', async () => {
    const { a, ways, clock, scrape } = observed({ onInvalidateFailure: 'replay' })
    ways.a.mode = 'silent'
    answerOf(a.getOrLoad('k', () => 'v'))
    await clock.advance(600)
    await asked(a.invalidate('k'))
    expect(await scrape()).toMatchObject({
      'herdless_degraded{namespace="shop"}': 1,
      'herdless_store_failures_total{namespace="shop"}': expect.any(Number) as number,
      'herdless_loads_total{namespace="shop",leased="false"}': 1,
      'herdless_kept_invalidations{namespace="shop"}': 1,
    })
    ways.a.thaw()
    await clock.advance(1_000)
    const after = await scrape()
    expect(after).not.toHaveProperty(['herdless_degraded{namespace="shop"}'])
    expect(after).not.toHaveProperty(['herdless_kept_invalidations{namespace="shop"}'])
  })

  test('values that cannot be decoded, and loads that are refused', async () => {
    const broken = { encode: () => Buffer.from('x'), decode: () => JSON.parse('{') as unknown }
    const { a, ways, clock, scrape } = observed({ codec: broken, maxConcurrentLoads: 1, maxQueuedLoads: 0 })
    await a.set('k', 'v')
    await a.peek('k')
    ways.a.mode = 'silent'
    const sources = [new Source(), new Source()]
    for (const [index, { loader }] of sources.entries()) answerOf(a.getOrLoad(`k${index}`, loader))
    await clock.advance(600)
    expect(await scrape()).toMatchObject({
      'herdless_garbage_total{namespace="shop"}': 1,
      'herdless_overloads_total{namespace="shop"}': 1,
    })
  })

  test('nothing that names a key, and zeros before anything has happened', async () => {
    const { a, register } = observed()
    const before = await register.metrics()
    expect(before).toContain('herdless_hits_total{namespace="shop"} 0')
    expect(before).toContain('herdless_failures_total{namespace="shop",code="LOAD_FAILED"} 0')
    expect(before).toContain('herdless_degraded{namespace="shop"} 0')
    expect(before).not.toContain('herdless_push_up{')
    const secret = 'secret-key'
    answerOf(a.getOrLoad(secret, () => Promise.reject(new Error(secret))))
    await a.getOrLoad(secret, () => 'v').catch(() => null)
    await a.invalidateTags([secret])
    expect(await register.metrics()).not.toContain(secret)
  })

  test('several caches into one register, each under its namespace', async () => {
    const register = new client.Registry()
    const [shop, users] = [fleet({ namespace: 'shop' }).a, fleet({ namespace: 'users' }).a]
    collectMetrics(shop, { client, register })
    collectMetrics(users, { client, register })
    await shop.set('k', 'v')
    for (let hit = 0; hit < 2; hit++) await shop.getOrLoad('k', () => 'w')
    await users.getOrLoad('k', () => 'w')
    expect(await scraped(register)).toMatchObject({
      'herdless_hits_total{namespace="shop"}': 2,
      'herdless_misses_total{namespace="users"}': 1,
    })
  })

  test('whether outcomes are pushed, once the store has said so', async () => {
    const events = new Events('shop')
    const register = new client.Registry()
    const on: Events['on'] = (name, listener) => events.on(name, listener)
    collectMetrics({ on, stats: () => events.stats('cache') }, { client, register })
    events.emit('push', { up: true })
    expect(await scraped(register)).toEqual({ 'herdless_push_up{namespace="shop"}': 1 })
    events.emit('push', { up: false })
    expect(await register.metrics()).toContain('herdless_push_up{namespace="shop"} 0')
  })

  test('no longer than until it is stopped', async () => {
    const { a } = fleet({ namespace: 'shop' })
    const register = new client.Registry()
    const stop = collectMetrics(a, { client, register })
    await a.set('k', 'v')
    stop()
    stop()
    await a.getOrLoad('k', () => 'w')
    expect(await scraped(register)).toEqual({ 'herdless_invalidations_total{namespace="shop",by="key"}': 1 })
  })

  test('under a prefix and with buckets of the user, and by default in its own register', async () => {
    const { a, clock } = fleet({ namespace: 'shop' })
    try {
      collectMetrics(a, { client, prefix: 'cache_', buckets: [0.1, 1] })
      const { source } = await loading(a)
      await clock.advance(250)
      await source.resolve(0, 'v')
      const text = await client.register.metrics()
      const buckets = text.split('\n').filter((line) => line.startsWith('cache_load_seconds_bucket'))
      expect(buckets).toEqual([
        'cache_load_seconds_bucket{le="0.1",namespace="shop"} 0',
        'cache_load_seconds_bucket{le="1",namespace="shop"} 1',
        'cache_load_seconds_bucket{le="+Inf",namespace="shop"} 1',
      ])
      expect(text).not.toContain('herdless_')
    } finally {
      client.register.clear()
    }
  })
})

test.for([
  ['no client', {}],
  ['something else for a client', { client: { Counter: 1 } }],
  ['a register that is none', { client, register: {} }],
  ['a prefix with a hyphen', { client, prefix: 'my-cache_' }],
  ['buckets out of order', { client, buckets: [1, 0.5] }],
  ['no buckets', { client, buckets: [] }],
  ['a bucket that is no number', { client, buckets: ['1'] }],
  ['an option that there is not', { client, registry: client.register }],
] as [string, unknown][])('%s is a TypeError, and nothing is registered', ([, options]) => {
  const { a } = fleet()
  expect(() => collectMetrics(a, options as MetricsOptions)).toThrow(TypeError)
  expect(client.register.getMetricsAsArray()).toEqual([])
})

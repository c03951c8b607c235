import { hostname } from 'node:os'
import { describe, expect, test } from 'vitest'
import { createCache, locked, memoryLock, type HeldLease } from '../../../src/index.ts'
import { settled } from '../../support/fake-clock.ts'
import { answerOf, asked, valued } from '../support/answer.ts'
import { fleet } from '../support/fleet.ts'
import { loading, Source, throwing } from '../support/source.ts'

async function all(leases: AsyncIterable<HeldLease>): Promise<HeldLease[]> {
  const found: HeldLease[] = []
  for await (const lease of leases) found.push(lease)
  return found
}

describe('explain tells', () => {
  test('of a key that is not there that nobody knows why, and that nothing goes on', async () => {
    const { a } = fleet()
    expect(await a.explain('k')).toEqual({
      key: 'k',
      state: 'missing',
      because: ['There is no value: it was never stored, or has expired, or was invalidated or evicted'],
      value: null,
      load: null,
      rest: null,
      here: {
        flight: 'none',
        callers: 0,
        loadsWithoutLease: 0,
        storeAway: null,
        keptInvalidation: false,
        mode: 'cache',
      },
    })
  })

  test('how old a value is, how long it is fresh and then served, its size and its tags', async () => {
    const { a, b, clock, source } = fleet({ grace: '1m', prefixes: ':' })
    answerOf(a.getOrLoad('x:k', source.loader, { ttl: '10s', tags: ['t', '^u'] }))
    await clock.advance(250)
    await source.resolve(0, 'v')
    await clock.advance(4_000)
    expect(await b.explain('x:k')).toMatchObject({
      state: 'fresh',
      because: ['There is a value, written 4000 ms ago and fresh for another 6000 ms'],
      value: { age: 4_000, ttl: 6_000, grace: 60_000, size: 3, loadTime: 250, tags: ['t', '^u'], voidedBy: [] },
    })
    await clock.advance(8_000)
    expect(await b.explain('x:k')).toMatchObject({
      state: 'stale',
      because: ['There is a value, but its ttl ended 2000 ms ago; it may be served for another 58000 ms'],
      value: { age: 12_000, ttl: 0, grace: 58_000 },
    })
    await clock.advance(60_000)
    expect(await b.explain('x:k')).toMatchObject({
      state: 'missing',
      because: ['There is a value, but its ttl ended 62000 ms ago, and so did its grace'],
      value: { ttl: 0, grace: 0 },
    })
  })

  test('that the grace of this cache is shorter than that of the value', async () => {
    const { a, ways, clock } = fleet({ ttl: '10s', grace: '1h' })
    const strict = createCache({ store: ways.b, clock, grace: '1s' })
    await a.set('k', 'v')
    await clock.advance(12_000)
    expect((await a.explain('k')).state).toBe('stale')
    expect(await strict.explain('k')).toMatchObject({
      state: 'missing',
      because: ['There is a value, but its ttl ended 2000 ms ago, and the grace of this cache is 1000 ms'],
    })
    expect((await strict.peek('k')).state).toBe('missing')
  })

  test('which tags and prefixes have voided a value', async () => {
    const { a, b } = fleet({ prefixes: ':' })
    await a.set('x:k', 'v', { tags: ['t', '^u', 'w'] })
    await a.invalidateTags(['t', '^u'])
    await a.invalidatePrefix('x:')
    const { state, value, because } = await b.explain('x:k')
    expect(state).toBe('missing')
    expect(value?.voidedBy).toEqual([
      { by: 'tag', name: 't' },
      { by: 'tag', name: '^u' },
      { by: 'prefix', name: 'x:' },
    ])
    expect(because[0]).toContain(
      'void: invalidated since its load began, or lost by the store: tag "t", tag "^u", prefix',
    )
  })

  test('that a value cannot be decoded, fresh or stale, and counts no garbage', async () => {
    const codec = { encode: () => Buffer.from('x'), decode: throwing(new Error('no')) }
    const { a, clock } = fleet({ codec, ttl: '1s', grace: '1m' })
    await a.set('k', 'v')
    for (const after of [0, 2_000]) {
      await clock.advance(after)
      expect(await a.explain('k')).toMatchObject({
        state: 'missing',
        because: ['There is a value that this codec cannot decode'],
        value: { size: 1 },
      })
    }
    expect(a.stats().garbage).toBe(0)
    expect((await a.peek('k')).state).toBe('missing')
  })

  test('that a value is older than one that could not be stored, which callers of this process were given', async () => {
    const { a, b, clock } = fleet()
    await b.set('k', 'old')
    await clock.advance(1)
    await a.refresh('k', () => Symbol('cannot be stored'))
    const told = await a.explain('k')
    expect(told).toMatchObject({ state: 'missing', value: { size: 5 } })
    expect(told.because[0]).toContain('has given its callers a newer one, which could not be stored')
    expect((await b.explain('k')).state).toBe('fresh')
  })

  test('that the value is an error', async () => {
    const { a, clock } = fleet({ errorKind: () => 'answer', ttl: '10s', grace: '1m' })
    await a.getOrLoad('k', () => Promise.reject(new Error('no such row'))).catch(() => null)
    expect(await a.explain('k')).toMatchObject({
      state: 'fresh',
      because: [expect.stringMatching(/^There is an answer, the error ".*no such row", written 0 ms ago/)],
    })
    await clock.advance(11_000)
    expect(await a.explain('k')).toMatchObject({
      state: 'stale',
      because: [expect.stringContaining('There is an answer')],
    })
  })

  test('who loads, who waits, and what this process does', async () => {
    const { a, b, c, clock, source } = fleet({ leaseTtl: '9s' })
    for (const cache of [a, a, b, b, b]) answerOf(cache.getOrLoad('k', source.loader))
    await clock.advance(4_000)
    const told = await a.explain('k')
    expect(told).toMatchObject({
      state: 'missing',
      load: {
        key: 'k',
        holder: { host: hostname(), pid: process.pid },
        age: 4_000,
        left: 8_000,
        renewals: 1,
        waiting: 1,
      },
      here: { flight: 'loading', callers: 2 },
    })
    expect(told.because[1]).toContain(`Process ${process.pid} on ${hostname()} has loaded it for 4000 ms`)
    expect((await b.explain('k')).here).toMatchObject({ flight: 'waiting', callers: 3 })
    expect((await c.explain('k')).here).toMatchObject({ flight: 'none', callers: 0 })
    await source.resolve(0, 'v')
    expect(await a.explain('k')).toMatchObject({ state: 'fresh', load: null, here: { flight: 'none', callers: 0 } })
  })

  test('that a load has failed, and that this process rests', async () => {
    const { a, b, clock } = fleet({ ttl: '1s', grace: '1m', failureCooldown: '5s' })
    await a.set('k', 'v')
    await clock.advance(2_000)
    await a.getOrLoad('k', () => Promise.reject(new Error('down')))
    await settled()
    const told = await a.explain('k')
    expect(told).toMatchObject({
      state: 'stale',
      rest: { state: 'failed', left: 5_000, error: { code: 'LOAD_FAILED', key: 'k', cause: { message: 'down' } } },
      here: { flight: 'resting' },
    })
    expect(told.because.slice(1)).toEqual([
      'Its last load failed, and that is the answer for another 5000 ms: Loading "k" failed: down',
      'A load failed: until its cool-down is over, this process asks for no refresh',
    ])
    expect((await b.explain('k')).here.flight).toBe('none')
    await clock.advance(6_000)
    expect((await a.explain('k')).rest).toBeNull()
  })

  test('that its loader said doNotStore()', async () => {
    const { a, b } = fleet()
    await a.getOrLoad('k', ({ doNotStore }) => doNotStore())
    await settled()
    expect(await b.explain('k')).toMatchObject({
      state: 'missing',
      because: [
        expect.any(String),
        'Its last value was not to be stored, or could not be: for another 1000 ms nobody queues',
      ],
      rest: { state: 'pass', left: 1_000 },
    })
  })

  test('that the store is away, and who loads without a lease', async () => {
    const { a, ways, clock } = fleet({ maxConcurrentLoads: 1 })
    ways.a.mode = 'silent'
    await loading(a)
    await clock.advance(600)
    const told = await a.explain('k')
    expect(told).toMatchObject({
      state: 'unknown',
      because: ['The store did not answer within 500 ms'],
      here: { callers: 1, loadsWithoutLease: 1, storeAway: { code: 'STORE_UNAVAILABLE' } },
    })
  })

  test('that an invalidation is kept, although the store still has the value', async () => {
    const { a, b, ways } = fleet({ onInvalidateFailure: 'replay' })
    await a.set('k', 'v')
    ways.a.mode = 'failing'
    await a.invalidate('k')
    ways.a.mode = 'answering'
    const told = await a.explain('k')
    expect(told).toMatchObject({ state: 'missing', value: { size: 3 }, here: { keptInvalidation: true } })
    expect(told.because[0]).toContain('the store has yet to be told')
    expect(await b.explain('k')).toMatchObject({ state: 'fresh', here: { keptInvalidation: false } })
  })

  test('of a store that cannot be inspected what can be read', async () => {
    const { a, ways, clock } = fleet()
    Object.defineProperty(ways.b, 'inspection', { value: undefined })
    const b = createCache({ store: ways.b, clock })
    await a.set('k', 'v')
    expect(await b.explain('k')).toMatchObject({ state: 'fresh', value: { size: 3 }, load: null })
    expect(await b.breakLease('k', 'x'.repeat(16))).toBe(false)
  })
})

describe('leases', () => {
  test('are listed with their keys, those of other namespaces apart', async () => {
    const { a, b, ways, clock } = fleet({ namespace: 'shop' })
    const other = createCache({ store: ways.c, clock, namespace: 'shop:2' })
    const sources = [new Source(), new Source(), new Source()] as const
    answerOf(a.getOrLoad('k', sources[0].loader))
    answerOf(b.getOrLoad('a:b', sources[1].loader))
    await asked(other.getOrLoad('k', sources[2].loader))
    const found = await all(b.leases())
    expect(found.map(({ key, waiting }) => [key, waiting])).toEqual([
      ['k', 0],
      ['a:b', 0],
    ])
    expect((await all(other.leases())).map(({ key }) => key)).toEqual(['k'])
    expect(found[0]).toEqual((await a.explain('k')).load)
  })

  test('can be left in the middle, and fail with the store', async () => {
    const { a, ways, clock } = fleet()
    for (const key of ['k', 'l']) answerOf(a.getOrLoad(key, new Source().loader))
    await settled()
    for await (const { key } of a.leases()) {
      expect(key).toBe('k')
      break
    }
    ways.a.mode = 'silent'
    const listed = answerOf(all(a.leases()))
    await clock.advance(600)
    expect(listed).toMatchObject({ state: 'error', error: { code: 'STORE_UNAVAILABLE' } })
  })

  test('of a plain key-value store cannot be listed', async () => {
    const cache = createCache({ store: locked({ get: async () => null, set: async () => undefined }, memoryLock()) })
    await expect(all(cache.leases())).rejects.toThrow(TypeError)
  })

  test('of a cache that is closed are not told', async () => {
    const { a } = fleet()
    await a.close()
    expect(() => a.leases()).toThrow('The cache is closed')
    await expect(a.explain('k')).rejects.toMatchObject({ code: 'CLOSED' })
    await expect(a.breakLease('k', 'x'.repeat(16))).rejects.toMatchObject({ code: 'CLOSED' })
  })
})

describe('breakLease', () => {
  test('has the holder aborted, and those who wait ask again at once', async () => {
    const { a, b, c, clock } = fleet()
    const { source, answer: first } = await loading(a)
    const second = await asked(b.getOrLoad('k', source.loader))
    const { load } = await c.explain('k')
    expect(await c.breakLease('k', load?.token as string)).toBe(true)
    await clock.advance(1)
    expect(source.run(0).context.signal.reason).toMatchObject({ code: 'LEASE_LOST' })
    expect(source.runs).toHaveLength(2)
    source.run(0).resolve('late')
    await source.resolve(1, 'v')
    expect([first, second]).toEqual([valued('v'), valued('v')])
    expect(await c.peek('k')).toMatchObject({ value: 'v' })
  })

  test('leaves the load of another token alone', async () => {
    const { a, b } = fleet()
    const { source, answer } = await loading(a)
    expect(await b.breakLease('k', 'x'.repeat(16))).toBe(false)
    await source.resolve(0, 'v')
    expect(answer).toEqual(valued('v'))
    expect(source.runs).toHaveLength(1)
  })

  test('takes nothing but a token, and says which store has failed', async () => {
    const { a, ways } = fleet()
    for (const token of ['', 'short', 7, undefined]) {
      await expect(a.breakLease('k', token as string)).rejects.toThrow(TypeError)
    }
    await expect(a.explain('')).rejects.toThrow(TypeError)
    ways.a.mode = 'failing'
    await expect(a.breakLease('k', 'x'.repeat(16))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', key: 'k' })
  })
})

import { describe, expect, test } from 'vitest'
import { createCache, memoryStore, type CacheOptions } from '../../../src/index.ts'
import type { FleetMode, Mode } from '../../../src/core/contract/mode.ts'
import type { StoreUser } from '../../../src/core/contract/store.ts'
import { FakeClock, settled } from '../../support/fake-clock.ts'
import { allAsked } from '../support/answer.ts'
import { Source } from '../support/source.ts'
import { UnreliableStore } from '../support/unreliable-store.ts'

/** A cache, and one of another process on the same store. */
function opened(options: CacheOptions = {}) {
  const clock = new FakeClock()
  const shared = memoryStore({ clock })
  const store = new UnreliableStore(shared)
  const cache = createCache({ store, clock, ttl: '1h', ...options })
  const other = createCache({ store: shared, clock, ttl: '1h', grace: '1h' })
  return { cache, other, clock, store, source: new Source<string>() }
}

describe('a cache that is off', () => {
  test('joins the calls of its process for one key, and asks no store', async () => {
    const { cache, store, source } = opened()
    await cache.set('k', 'stored')
    store.sent.length = 0
    cache.mode = 'off'
    expect([cache.mode, cache.stats().mode]).toEqual(['off', 'off'])
    const answers = await allAsked(Array.from({ length: 5 }, () => cache.getOrLoad('k', source.loader)))
    expect(source.runs).toHaveLength(1)
    await source.resolve(0, 'loaded')
    expect(answers).toEqual(Array.from({ length: 5 }, () => ({ state: 'value', value: 'loaded' })))
    expect(await cache.getOrLoad('k', () => 'again')).toBe('again')
    expect(await cache.refresh('k', () => 'refreshed')).toBe('refreshed')
    expect(await cache.getOrLoadMany(['k', 'l'], (keys) => keys.map((key) => `of ${key}`))).toEqual(['of k', 'of l'])
    expect(await cache.getOrLoadEntry('k', () => 1)).toEqual({ value: 1, state: 'loaded', age: 0, ttl: 0, tags: [] })
    expect(await cache.wrap(async () => 'wrapped', { key: 'w' })()).toBe('wrapped')
    expect(await cache.peek('k')).toEqual({ state: 'missing' })
    expect(store.sent).toEqual([])
  })

  test('gives a caller that asks after a load began the next one, as while the store is away', async () => {
    const { cache, source } = opened()
    cache.mode = 'off'
    const answers = await allAsked([cache.getOrLoad('k', source.loader)])
    answers.push(...(await allAsked([cache.getOrLoad('k', source.loader), cache.getOrLoad('k', source.loader)])))
    expect(source.runs).toHaveLength(1)
    await source.resolve(0, 'first')
    expect(source.runs).toHaveLength(2)
    await source.resolve(1, 'second')
    expect(answers.map((answer) => 'value' in answer && answer.value)).toEqual(['first', 'second', 'second'])
  })

  test('carries out invalidations in the store, and sets as one', async () => {
    const { cache, other } = opened()
    const missing = { state: 'missing' }
    for (const key of ['a', 'b', 'c', 'd']) await other.set(key, 'old', { tags: [`tag ${key}`], grace: '1h' })
    cache.mode = 'off'
    await cache.invalidate('a')
    await cache.set('b', 'new')
    await cache.invalidateTags(['tag c'])
    await cache.expire('d')
    expect([await other.peek('a'), await other.peek('b'), await other.peek('c')]).toEqual([missing, missing, missing])
    expect(await other.peek('d')).toMatchObject({ state: 'stale' })
    await cache.clear()
    expect(await other.peek('d')).toEqual(missing)
    cache.mode = 'cache'
    expect(await cache.getOrLoad('b', () => 'loaded')).toBe('loaded')
  })

  test('neither serves the copies that it has, nor makes any, nor finds them again once it is back', async () => {
    const { cache, other } = opened({ near: {} })
    await cache.getOrLoad('k', () => 'first')
    await cache.getOrLoad('k', () => 'never')
    expect(await cache.getOrLoad('k', () => 'never')).toBe('first')
    expect(cache.stats().nearHits).toBe(1)
    cache.mode = 'off'
    expect(await cache.getOrLoad('k', () => 'second')).toBe('second')
    expect(await cache.getOrLoad('k', () => 'third')).toBe('third')
    await other.set('k', 'fourth')
    cache.mode = 'cache'
    expect(await cache.getOrLoad('k', () => 'never')).toBe('fourth')
    expect(cache.stats().nearHits).toBe(1)
  })

  test('has no bridge: what it has loaded is given to nobody who asks later', async () => {
    const { cache, store } = opened({ bridge: '10s', near: undefined })
    store.mode = 'failing'
    expect(await cache.getOrLoad('k', () => 'bridged')).toBe('bridged')
    expect(await cache.getOrLoad('k', () => 'never')).toBe('bridged')
    cache.mode = 'off'
    expect(await cache.getOrLoad('k', () => 'off')).toBe('off')
    cache.mode = 'cache'
    expect(await cache.getOrLoad('k', () => 'back')).toBe('back')
  })

  test('loads for callers who want an error while the store is away', async () => {
    const { cache } = opened({ onStoreFailure: 'throw' })
    cache.mode = 'off'
    expect(await cache.getOrLoad('k', () => 'loaded')).toBe('loaded')
  })

  test('keeps the limit of loads without a lease', async () => {
    const { cache, source } = opened({ maxConcurrentLoads: 1, maxQueuedLoads: 0 })
    cache.mode = 'off'
    const answers = await allAsked(['a', 'b'].map((key) => cache.getOrLoad(key, source.loader)))
    await source.resolve(0, 'a')
    expect(answers).toMatchObject([{ value: 'a' }, { error: { code: 'OVERLOADED' } }])
  })

  test('is off from the beginning, if its options say so', async () => {
    const { cache, store } = opened({ mode: 'off' })
    expect(await cache.getOrLoad('k', () => 1)).toBe(1)
    expect(store.sent).toEqual([])
  })

  test('says so when it is explained, where the value that there is is not used', async () => {
    const { cache } = opened()
    await cache.set('k', 'stored')
    cache.mode = 'off'
    const { state, because, value, here } = await cache.explain('k')
    expect([state, here.mode, value !== null]).toEqual(['missing', 'off', true])
    expect(because[0]).toBe('The cache is off: calls of this process load for themselves, and the store is not read')
  })

  test('refuses what is no mode', () => {
    const { cache } = opened()
    expect(() => (cache.mode = 'on' as Mode)).toThrow(
      new TypeError("Expected `cache.mode` to be 'cache' or 'observe' or 'off', got \"on\" (string)"),
    )
  })
})

describe('a call under way when the cache is switched off', () => {
  test('is given what its load here returns, which is not stored, and the lease is given back', async () => {
    const { cache, other, store, source } = opened()
    const answers = await allAsked([cache.getOrLoad('k', source.loader)])
    cache.mode = 'off'
    await source.resolve(0, 'loaded')
    expect(answers).toEqual([{ state: 'value', value: 'loaded' }])
    expect(store.count('fill')).toBe(0)
    expect(await other.getOrLoad('k', () => 'by the other')).toBe('by the other')
  })

  test('stops waiting for another process as soon as it would ask again, and loads', async () => {
    const { cache, other, clock } = opened()
    const [hung, source] = [new Source<string>(), new Source<string>()]
    const theirs = await allAsked([other.getOrLoad('k', hung.loader)])
    const answers = await allAsked([cache.getOrLoad('k', source.loader), cache.getOrLoad('k', source.loader)])
    expect(source.runs).toHaveLength(0)
    cache.mode = 'off'
    await clock.advance(500)
    expect(source.runs).toHaveLength(1)
    await source.resolve(0, 'loaded')
    expect(answers).toMatchObject([{ value: 'loaded' }, { value: 'loaded' }])
    expect(theirs).toMatchObject([{ state: 'pending' }])
    hung.runs[0]?.resolve('theirs')
  })

  test('loads if its read is answered only then', async () => {
    const { cache, store } = opened({ near: {} })
    await cache.set('k', 'stored')
    const go = store.hold('read', 'after')
    const answer = cache.getOrLoad('k', () => 'loaded')
    await settled()
    cache.mode = 'off'
    go()
    // It was asked before the switch.
    expect(await answer).toBe('stored')
    cache.mode = 'cache'
    expect(cache.stats().nearHits).toBe(0)
    await cache.getOrLoad('k', () => 'never')
    expect(cache.stats().nearHits).toBe(0)
  })
})

describe('a cache that is made to observe', () => {
  test('counts what it would have saved from then on, until it caches again', async () => {
    const { cache, other } = opened()
    await cache.getOrLoad('k', () => 'stored')
    cache.mode = 'observe'
    for (const value of [1, 2, 3]) {
      expect(await cache.getOrLoad('k', () => value)).toBe(value)
      await settled()
    }
    expect(cache.stats()).toMatchObject({ mode: 'observe', hits: 2, misses: 2, loads: 2 })
    await cache.invalidate('k')
    expect(await other.peek('k')).toEqual({ state: 'missing' })
    await cache.getOrLoad('k', () => 4)
    await settled()
    expect(cache.stats()).toMatchObject({ hits: 2, misses: 3, loads: 3 })
    cache.mode = 'cache'
    expect(await cache.getOrLoad('k', () => 'new')).toBe('new')
    await cache.close()
  })

  test('tells of an invalidation once', async () => {
    const { cache } = opened()
    cache.mode = 'observe'
    const told: unknown[] = []
    cache.on('invalidate', ({ key }) => told.push(key))
    cache.on('clearing', () => told.push('clearing'))
    await cache.invalidate('k')
    await cache.set('k', 1)
    await cache.clear()
    expect(told).toEqual(['k', 'k'])
  })
})

/** A store in which an operator can set the mode of the fleet. */
class OperatedStore extends UnreliableStore {
  operator: FleetMode | null = null
  looks = 0
  asked = ''
  readonly users: StoreUser[] = []

  override open(user?: StoreUser): void {
    if (user !== undefined) this.users.push(user)
    super.open(user)
  }

  answer = (): Promise<FleetMode | null> => Promise.resolve(this.operator)

  async fleetMode(namespace: string): Promise<FleetMode | null> {
    this.looks++
    this.asked = namespace
    if (this.mode === 'failing') throw new Error('away')
    return await this.answer()
  }
}

describe('the mode of the fleet', () => {
  function operated(options: CacheOptions = {}, operator: FleetMode | null = null) {
    const clock = new FakeClock()
    const store = Object.assign(new OperatedStore(memoryStore({ clock })), { operator })
    const cache = createCache({ store, clock, namespace: 'shop', ...options })
    const told: Mode[] = []
    cache.on('mode', ({ mode }) => told.push(mode))
    return { cache, clock, store, told }
  }

  const off: FleetMode = { mode: 'off', left: 60_000 }

  test('is looked at when a cache is opened', async () => {
    const { cache, store } = operated({}, off)
    await settled()
    expect([cache.mode, store.asked]).toEqual(['off', 'shop:'])
  })

  test('is heard at once from a message, or when messages come again', async () => {
    const { cache, store } = operated()
    await settled()
    store.operator = off
    store.users[0]?.modeChanged()
    await settled()
    expect(cache.mode).toBe('off')
    store.operator = null
    store.users[0]?.pushed(true)
    await settled()
    expect(cache.mode).toBe('cache')
  })

  test('is found within five seconds without a message, and costs a command in five seconds', async () => {
    const { cache, clock, store } = operated()
    await settled()
    const looks = store.looks
    store.operator = off
    await clock.advance(5_000)
    expect([cache.mode, store.looks - looks]).toEqual(['off', 1])
    expect(await cache.getOrLoad('k', () => 1)).toBe(1)
    expect(store.looks - looks).toBe(1)
  })

  test('ends at its time, also if the store cannot be asked then', async () => {
    const { cache, clock, store, told } = operated()
    store.operator = off
    store.users[0]?.modeChanged()
    await settled()
    store.mode = 'failing'
    await clock.advance(59_000)
    expect(cache.mode).toBe('off')
    await clock.advance(1_001)
    expect(cache.mode).toBe('cache')
    expect(told).toEqual(['off', 'cache'])
  })

  test('holds together with that of the process: the one that is further from caching', async () => {
    const { cache, store, told } = operated({ mode: 'observe' })
    const set = async (mode: FleetMode['mode'] | null): Promise<Mode> => {
      store.operator = mode === null ? null : { mode, left: 60_000 }
      store.users[0]?.modeChanged()
      await settled()
      return cache.mode
    }
    expect([await set('off'), await set('cache'), await set(null)]).toEqual(['off', 'observe', 'observe'])
    cache.mode = 'off'
    expect([cache.mode, await set('observe')]).toEqual(['off', 'off'])
    cache.mode = 'cache'
    expect(cache.mode).toBe('observe')
    expect([await set(null), cache.mode]).toEqual(['cache', 'cache'])
    expect(told).toEqual(['off', 'observe', 'off', 'observe', 'cache'])
  })

  test('is that of an answer to a later question, whatever comes first', async () => {
    const { cache, store } = operated()
    await settled()
    const answers: ((mode: FleetMode | null) => void)[] = []
    store.answer = () => new Promise((resolve) => answers.push(resolve))
    store.users[0]?.modeChanged()
    store.users[0]?.modeChanged()
    answers[1]?.(off)
    answers[0]?.(null)
    await settled()
    expect(cache.mode).toBe('off')
  })

  test('is not looked at any more once the cache is closed', async () => {
    const { cache, clock, store } = operated()
    await cache.close()
    const looks = store.looks
    await clock.advance(60_000)
    expect(store.looks).toBe(looks)
  })
})

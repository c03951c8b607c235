import { describe, expect, test } from 'vitest'
import type { Entry } from '../../../src/core/contract/store.ts'
import { createCache, type Cache, type CacheOptions } from '../../../src/index.ts'
import type { Copies, TrackedCopies, Watch } from '../../../src/store/index.ts'
import { MemoryStore } from '../../../src/memory/store.ts'
import { FakeClock, settled } from '../../support/fake-clock.ts'
import { answerOf, valued } from '../support/answer.ts'
import { never } from '../support/source.ts'

/** A store that tells what goes, until it ceases to; its reads can be held up on their way back, and it can fall silent. */
class WatchedStore extends MemoryStore {
  override readonly near = undefined
  reads = 0
  until = Number.POSITIVE_INFINITY
  keptFor: number[] = []
  silent = false
  watching: Copies[] = []
  #gate: Promise<void> | null = null

  override async read(key: string): Promise<Entry | null> {
    this.reads++
    const entry = await this.#said(() => super.read(key))
    if (this.#gate !== null) await this.#gate
    return entry
  }

  override ping(): Promise<void> {
    return this.#said(() => super.ping())
  }

  override invalidate(key: string): Promise<void> {
    return this.#said(() => super.invalidate(key))
  }

  override invalidateTags(tags: readonly string[]): Promise<void> {
    return this.#said(() => super.invalidateTags(tags))
  }

  #said<T>(answer: () => Promise<T>): Promise<T> {
    return this.silent ? new Promise(() => undefined) : answer()
  }

  override watch(namespace: string, copies: Copies): Watch {
    const promised = (): number => this.until
    const watch = super.watch(namespace, copies)
    this.watching.push(copies)
    return {
      get until() {
        return promised()
      },
      keep: (ms) => void this.keptFor.push(ms),
      close: () => watch.close(),
    }
  }

  watchForeign(namespace: string, copies: TrackedCopies): Watch {
    return this.watch(namespace, copies)
  }

  /** Holds answers up; returns what lets them go. */
  hold(): () => void {
    let open!: () => void
    this.#gate = new Promise((resolve) => (open = resolve))
    return () => {
      this.#gate = null
      open()
    }
  }
}

/** Two caches on one store, as it were in two processes; the first of them keeps copies. */
function opened(options: CacheOptions = {}): { clock: FakeClock; store: WatchedStore; near: Cache; far: Cache } {
  const clock = new FakeClock()
  const store = new WatchedStore({ max: 1_000, maxSize: 1_000_000, ttl: 60_000, values: 'shared' }, clock)
  const near = createCache({ store, clock, ttl: '1m', near: {}, ...options })
  const far = createCache({ store, clock, ttl: '1m', prefixes: options.prefixes })
  return { clock, store, near, far }
}

/** A cache that has a copy of `k`. */
async function copied(value: unknown = { n: 1 }, options: CacheOptions = {}) {
  const all = opened(options)
  await all.far.set('k', value, { tags: ['t'] })
  await all.near.getOrLoad('k', never)
  all.store.reads = 0
  return all
}

describe('the near tier', () => {
  test('serves a copy without asking the store, for as long as it says', async () => {
    const { clock, store, near } = await copied({ n: 1 }, { near: { ttl: '5s' } })
    expect(await near.getOrLoad('k', never)).toEqual({ n: 1 })
    await clock.advance(4_999)
    expect(await near.getOrLoad('k', never)).toEqual({ n: 1 })
    expect(store.reads).toBe(0)
    await clock.advance(1)
    expect(await near.getOrLoad('k', never)).toEqual({ n: 1 })
    expect(store.reads).toBe(1)
    expect(await near.getOrLoad('k', never)).toEqual({ n: 1 })
    expect(store.reads).toBe(1)
    expect(store.keptFor, 'it says for how long it keeps them').toContain(5_000)
  })

  test('counts the ttl of a value from when it was read, however late the answer comes', async () => {
    const { clock, store, near, far } = opened()
    await far.set('k', 'old', { ttl: 100 })
    const answer = store.hold()
    const read = answerOf(near.getOrLoad('k', never))
    await clock.advance(80)
    answer()
    await settled()
    await clock.advance(19)
    expect([read, store.reads, await near.getOrLoad('k', never)]).toEqual([valued('old'), 1, 'old'])
    expect(store.reads).toBe(1)
    await clock.advance(1)
    expect(await near.getOrLoad('k', () => 'new')).toBe('new')
  })

  test('serves nothing beyond its ttl, and no stale value', async () => {
    const { clock, store, near, far } = opened({ grace: '1m', near: { ttl: '1h' } })
    await far.set('k', 'old', { ttl: '2s', grace: '1m' })
    expect(await near.getOrLoad('k', never)).toBe('old')
    await clock.advance(2_000)
    store.reads = 0
    expect(await near.getOrLoad('k', () => 'new')).toBe('old')
    expect(store.reads).toBeGreaterThan(0)
    await settled()
    expect(await near.getOrLoad('k', never)).toBe('new')
  })

  test.for([
    ['set', (cache: Cache) => cache.set('a:k', 'new')],
    ['invalidated', (cache: Cache) => cache.invalidate('a:k')],
    ['invalidated by a tag', (cache: Cache) => cache.invalidateTags(['t'])],
    ['invalidated by its prefix', (cache: Cache) => cache.invalidatePrefix('a:')],
    ['invalidated with all others', (cache: Cache) => cache.clear()],
  ] as const)('lets a copy go whose key is %s elsewhere, and here', async ([, change]) => {
    for (const who of ['far', 'near'] as const) {
      const all = opened({ prefixes: ':' })
      await all.far.set('a:k', 'old', { tags: ['t'] })
      expect(await all.near.getOrLoad('a:k', never)).toBe('old')
      await change(all[who])
      expect(await all.near.getOrLoad('a:k', () => 'new')).toBe('new')
    }
  })

  test('lets copies go by the tags that they have, and not by those of values before them', async () => {
    const { near, far, store } = await copied('old')
    await far.set('k', 'new', { tags: ['other'] })
    expect(await near.getOrLoad('k', never)).toBe('new')
    store.reads = 0
    await far.invalidateTags(['t'])
    expect(await near.getOrLoad('k', never)).toBe('new')
    expect(store.reads).toBe(0)
    await far.invalidateTags(['other'])
    expect(await near.getOrLoad('k', () => 'newest')).toBe('newest')
  })

  test('keeps nothing that goes while it is on its way', async () => {
    for (const change of [
      (cache: Cache) => cache.invalidate('k'),
      (cache: Cache) => cache.set('k', 'new'),
      (cache: Cache) => cache.invalidateTags(['t']),
    ]) {
      const { store, near, far } = opened()
      await far.set('k', 'old', { tags: ['t'] })
      const go = store.hold()
      const asked = near.getOrLoad('k', never)
      await settled()
      expect(store.reads).toBe(1)
      await change(far)
      go()
      expect(await asked).toBe('old')
      expect(await near.getOrLoad('k', () => 'new')).toBe('new')
    }
  })

  test('keeps nothing that is on its way when others may have changed it, and names the load of a copy', async () => {
    const { store, near, far } = opened({ near: { foreign: true } })
    await far.set('k', 'old')
    const go = store.hold()
    const reading = near.getOrLoad('k', () => 'loaded')
    await settled()
    const [copies] = store.watching as [TrackedCopies]
    expect(copies.doubt('herdless:k')).toBeNull()
    go()
    expect(await reading).toBe('old')
    expect(copies.doubt('herdless:k')).toBeNull()
    await near.getOrLoad('k', () => 'loaded')
    expect(copies.doubt('herdless:k')).toBe((await store.read('herdless:k'))?.token)
    expect(copies.doubt('another:k')).toBeNull()
  })

  test('keeps nothing that is on its way when something may have been missed', async () => {
    const { store, near, far } = opened()
    await far.set('k', 'v')
    const go = store.hold()
    const asked = near.getOrLoad('k', never)
    await settled()
    for (const copies of store.watching) copies.dropAll()
    go()
    await asked
    store.reads = 0
    await near.getOrLoad('k', never)
    expect(store.reads).toBe(1)
  })

  test('serves and keeps nothing while the store does not promise to tell', async () => {
    const { clock, store, near } = await copied('v')
    store.until = clock.now()
    await near.getOrLoad('k', never)
    await near.getOrLoad('k', never)
    expect(store.reads).toBe(2)
    store.until = Number.POSITIVE_INFINITY
    await near.getOrLoad('k', never)
    expect(store.reads, 'what was found without the promise was not kept').toBe(3)
    await near.getOrLoad('k', never)
    expect(store.reads).toBe(3)
  })

  test('serves nothing older than what this process has seen', async () => {
    const { clock, store, near } = await copied('old')
    // What it is told is still on its way.
    for (const copies of store.watching) Object.assign(copies, { drop: () => undefined })
    expect(await near.refresh('k', () => 'new')).toBe('new')
    expect(await near.getOrLoad('k', never)).toBe('new')

    // It learns of the next one from a read that it must not keep.
    store.until = clock.now()
    await store.set('herdless:k', 'another token 16', {
      payload: Buffer.from('"newer"'),
      ttl: 60_000,
      grace: 0,
      loadTime: 0,
      inlineLimit: 0,
    })
    expect(await near.getOrLoad('k', never)).toBe('newer')
    store.until = Number.POSITIVE_INFINITY
    expect(await near.getOrLoad('k', never)).toBe('newer')
  })

  test('gives all callers the same value, frozen with all that it holds', async () => {
    const { near } = await copied({ list: [{ n: 1 }], none: null })
    const value = await near.getOrLoad<{ list: { n: number }[] }>('k', never)
    expect(await near.getOrLoad('k', never)).toBe(value)
    expect(() => value.list.push({ n: 2 })).toThrow(TypeError)
    expect(() => ((value.list[0] as { n: number }).n = 2)).toThrow(TypeError)
    expect(await near.getOrLoad('k', never)).toEqual({ list: [{ n: 1 }], none: null })
  })

  test.for([
    ['a Map', { map: new Map([['a', 1]]) }, (value: { map: Map<string, number> }) => value.map.clear()],
    ['a Date', { on: new Date(5) }, (value: { on: Date }) => value.on.setTime(6)],
    ['a Buffer', Buffer.from('abc'), (value: Buffer) => value.fill(0)],
  ] as const)('gives each caller its own of what cannot be frozen: %s', async ([, value, spoil]) => {
    const { store, near } = await copied(value)
    const got = await near.getOrLoad<never>('k', never)
    expect(got).toEqual(value)
    ;(spoil as (value: unknown) => void)(got)
    expect(await near.getOrLoad('k', never)).toEqual(value)
    expect(store.reads).toBe(0)
  })

  test('gives each caller its own if it shall clone, and the same, as it is, if it shall share', async () => {
    const cloned = (await copied({ n: 1 }, { near: { values: 'cloned' } })).near
    const own = await cloned.getOrLoad<{ n: number }>('k', never)
    own.n = 2
    expect(await cloned.getOrLoad('k', never)).toEqual({ n: 1 })

    const shared = (await copied({ n: 1 }, { near: { values: 'shared' } })).near
    const all = await shared.getOrLoad<{ n: number }>('k', never)
    all.n = 2
    expect(await shared.getOrLoad('k', never)).toBe(all)
  })

  test('keeps no more than it may, the least recently used going first', async () => {
    const { store, near, far } = opened({ near: { max: 2 } })
    for (const key of ['a', 'b', 'c']) await far.set(key, key, { tags: ['t'] })
    for (const key of ['a', 'b', 'a', 'c']) await near.getOrLoad(key, never)
    store.reads = 0
    for (const key of ['c', 'a']) await near.getOrLoad(key, never)
    expect(store.reads).toBe(0)
    await near.getOrLoad('b', never)
    expect(store.reads).toBe(1)
    await far.invalidateTags(['t'])
    expect(await near.getOrLoad('c', () => 'new')).toBe('new')
  })

  test('keeps no more bytes than it may', async () => {
    const { store, near, far } = opened({ near: { maxSize: 1_000 } })
    await far.set('large', 'x'.repeat(1_000))
    await far.set('small', 'x')
    for (const key of ['small', 'large', 'small', 'large']) await near.getOrLoad(key, never)
    expect(store.reads, 'the small one once, the large one each time').toBe(3)
  })

  test('refreshes ahead, though the store is not asked', async () => {
    const { clock, store, near, far } = opened({ refreshAhead: 0.5, near: { ttl: '1h' } })
    await far.set('k', 'old', { ttl: '10s' })
    await near.getOrLoad('k', never)
    store.reads = 0
    await clock.advance(4_900)
    expect(await near.getOrLoad('k', never)).toBe('old')
    await settled()
    expect(store.reads).toBe(0)
    await clock.advance(100)
    expect(await near.getOrLoad('k', () => 'new')).toBe('old')
    await settled()
    expect(await near.getOrLoad('k', never)).toBe('new')
  })

  test('checks a call no less than the store would be asked for it', async () => {
    const { near } = await copied('v')
    const aborted = AbortSignal.abort(new Error('gone'))
    await expect(near.getOrLoad('k', never, { signal: aborted })).rejects.toThrow('gone')
    await expect(near.getOrLoad('k', undefined as never)).rejects.toThrow(TypeError)
    await expect(near.getOrLoad('k', never, { tll: 1 } as never)).rejects.toThrow('Unknown option `tll`')
    expect(await near.getOrLoad('k', never, { ttl: '2m' })).toBe('v')
    await near.close()
    await expect(near.getOrLoad('k', never)).rejects.toMatchObject({ code: 'CLOSED' })
  })

  test('tells its hits from those of the store', async () => {
    const { near } = opened()
    const told: unknown[] = []
    near.on('hit', (event) => told.push(event))
    await near.set('k', 'v')
    for (let call = 0; call < 3; call++) await near.getOrLoad('k', never)
    expect(told).toEqual([{ key: 'k' }, { key: 'k', near: true }, { key: 'k', near: true }])
    expect(near.stats()).toMatchObject({ hits: 3, nearHits: 2, misses: 0 })
  })
})

describe('the near tier, while the store is away', () => {
  /** A cache with a copy of `k` whose store has fallen silent, and is known to be. */
  async function away(options: CacheOptions = {}) {
    const all = await copied('old', { near: { ttl: '20s' }, ...options })
    all.store.silent = true
    all.store.until = all.clock.now()
    const degraded = new Promise((resolve) => all.near.on('degraded', resolve))
    const first = answerOf(all.near.getOrLoad('k', () => 'loaded'))
    await all.clock.advance(500)
    await degraded
    return { ...all, first }
  }

  test('serves the copies that it has, until their time is over', async () => {
    const { clock, near, first } = await away()
    expect(first).toEqual({ state: 'value', value: 'old' })
    expect(await near.getOrLoad('k', never)).toBe('old')
    await clock.advance(20_000)
    expect(await near.getOrLoad('k', () => 'loaded')).toBe('loaded')
  })

  test('keeps what it loads, so that the source is asked once in a while', async () => {
    const { clock, near } = await away()
    let loads = 0
    const load = (): string => `loaded ${++loads}`
    for (let call = 0; call < 3; call++) expect(await near.getOrLoad('other', load)).toBe('loaded 1')
    await clock.advance(20_000)
    expect(await near.getOrLoad('other', load)).toBe('loaded 2')
  })

  test.for([
    ['that was invalidated here', (cache: Cache) => cache.invalidate('k')],
    ['of which a tag was invalidated here', (cache: Cache) => cache.invalidateTags(['t'])],
  ] as const)('serves nothing %s, though the store could not be told', async ([, invalidate]) => {
    const { clock, near } = await away()
    const answer = answerOf(invalidate(near))
    await clock.advance(500)
    expect(answer).toMatchObject({ state: 'error', error: { code: 'STORE_UNAVAILABLE' } })
    expect(await near.getOrLoad('k', () => 'loaded')).toBe('loaded')
  })

  test('keeps no load that was invalidated here before it ended', async () => {
    const { clock, near } = await away()
    let end!: (value: string) => void
    const loading = near.getOrLoad('other', () => new Promise<string>((resolve) => (end = resolve)))
    await settled()
    const failed = answerOf(near.invalidate('other'))
    await clock.advance(500)
    expect(failed).toMatchObject({ state: 'error' })
    end('old')
    expect(await loading).toBe('old')
    expect(await near.getOrLoad('other', () => 'new')).toBe('new')
  })

  test('serves no copy to whoever wants an error instead of a load without the store', async () => {
    const { near } = await away({ onStoreFailure: 'throw' })
    await expect(near.getOrLoad('k', never)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  })
})

describe('the option `near`', () => {
  test('is refused where the store could not tell what goes', () => {
    const store = new MemoryStore({ max: 1, maxSize: 1_000, ttl: 60_000, values: 'shared' }, new FakeClock())
    Object.assign(store, { watch: undefined })
    expect(() => createCache({ store, near: {} })).toThrow('for `near`')
  })

  test.for([
    [{ mx: 1 }, 'Unknown option `mx` of `near`'],
    [{ max: 0 }, 'Expected `max` to be a whole number of at least 1'],
    [{ ttl: '5 m' }, 'Expected `ttl`'],
    [{ values: 'copied' }, "Expected `values` to be 'frozen' or 'cloned' or 'shared'"],
    [true, 'Expected the options of `near` to be an object'],
  ] as const)('refuses %j', ([near, message]) => {
    expect(() => createCache({ near: near as never })).toThrow(message)
  })
})

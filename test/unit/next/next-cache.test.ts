import { setTimeout as pause } from 'node:timers/promises'
import { queryObjects } from 'node:v8'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createCache, memoryStore, type Cache, type Store } from '../../../src/index.ts'
import { nextCache, type CacheEntry, type NextCacheHandler } from '../../../src/next/index.ts'

let made = 0
let processes = 0
let namespace = 0

/** What a process of Next has on a store: a function of another text is one of another process. */
function process(store: Store, cache = createCache({ store, namespace: `n${namespace}` })): NextCacheHandler {
  const text = `process ${++processes}`
  const make = (): Cache => {
    made++
    return cache
  }
  return nextCache(Object.assign(make, { toString: () => text }))
}

function entry(text: string, more: Partial<CacheEntry> = {}): Promise<CacheEntry> {
  const timestamp = performance.timeOrigin + performance.now()
  const value = new Response(text).body as CacheEntry['value']
  return Promise.resolve({ value, tags: ['t'], stale: 60, timestamp, expire: 600, revalidate: 60, ...more })
}

async function text(found: CacheEntry | undefined): Promise<string | undefined> {
  return found && (await new Response(found.value).text())
}

let store: Store
let a: NextCacheHandler
let b: NextCacheHandler

beforeEach(() => {
  made = 0
  namespace++
  store = memoryStore()
  a = process(store)
  b = process(store)
})
afterEach(() => {
  vi.unstubAllEnvs()
  vi.useRealTimers()
})

describe('an entry of `use cache`', () => {
  test('is rendered by the one that asks first; all others are given it', async () => {
    expect(await a.get('k', [])).toBeUndefined()
    const other = b.get('k', [])
    await a.set('k', entry('v'))
    expect(await text(await other)).toBe('v')
    expect(await text(await a.get('k', []))).toBe('v')
    expect(await b.getExpiration(['t'])).toBe(Infinity)
  })

  test('that is stale is rendered by one, and passed off as fresh to others', async () => {
    await a.get('k', [])
    await a.set('k', entry('old', { revalidate: 0 }))
    await pause(5)
    const both = await Promise.all([a.get('k', []), b.get('k', [])])
    const now = performance.timeOrigin + performance.now()
    const stale = both.filter((each) => each !== undefined && now > each.timestamp + each.revalidate * 1_000)
    expect(await Promise.all(both.map(text))).toEqual(['old', 'old'])
    expect(stale.map((each) => each?.revalidate)).toEqual([-1])
  })

  test('is gone after `updateTag`, and stale after `revalidateTag` with a profile', async () => {
    await a.get('k', [])
    await a.set('k', entry('1'))
    await b.updateTags(['t'], { expire: 600 })
    expect(await a.get('k', [])).toMatchObject({ revalidate: -1 })
    await a.set('k', entry('2'))
    await b.updateTags(['t'])
    expect(await a.get('k', [])).toBeUndefined()
  })

  test('rendered before an update of its tags is not stored', async () => {
    await a.get('k', [])
    await b.updateTags(['t'])
    await a.set('k', entry('old'))
    expect(await b.get('k', [])).toBeUndefined()
  })

  test('of a path that was revalidated is not found from there, and from elsewhere it is', async () => {
    await a.get('k', ['_N_T_/x'])
    await a.set('k', entry('v'))
    await b.updateTags(['_N_T_/x'])
    expect(await b.get('k', ['_N_T_/x'])).toBeUndefined()
    expect(await text(await a.get('k', ['_N_T_/y']))).toBe('v')
  })

  test('that fails to render leaves nobody waiting', async () => {
    await a.get('k', [])
    const other = b.get('k', [])
    await a.set('k', Promise.reject(new Error('down')))
    expect(await other).toBeUndefined()
    // Next tells nobody if it never calls `set`; when it asks again, that rendering is over.
    expect(await a.get('l', [])).toBeUndefined()
    const waiting = b.get('l', [])
    expect(await a.get('l', [])).toBeUndefined()
    expect(await waiting).toBeUndefined()
    // Whoever waited for one that never calls would wait for ten seconds.
  }, 8_000)

  test('that fails to render leaves nothing in the memory of its process', async () => {
    vi.useFakeTimers()
    const cache = createCache()
    const { constructor } = await cache.begin('k')
    const leads = (): number => queryObjects(constructor as () => void) as number
    const c = process(memoryStore(), cache)
    for (let number = 0; number < 50; number++) await c.get(`k${number}`, [])
    expect(leads()).toBeGreaterThanOrEqual(50)
    await vi.advanceTimersByTimeAsync(25_000)
    // Those of other tests may still be there.
    expect(leads()).toBeLessThan(50)
  })

  test('that nobody had asked for is stored, unless its tags were updated since it was rendered', async () => {
    await a.set('k', entry('v'))
    expect(await text(await b.get('k', []))).toBe('v')
    const pending = entry('old', { tags: ['u'] })
    await b.updateTags(['u'])
    await a.set('l', pending)
    expect(await b.get('l', [])).toBeUndefined()
  })
})

describe('a page', () => {
  const page = {
    kind: 'APP_PAGE',
    html: '<p>1</p>',
    rscData: Buffer.from('1'),
    headers: { 'x-next-cache-tags': 't,_N_T_/p' },
  }
  const control = { cacheControl: { revalidate: 60, expire: 600 } }

  test('is rendered once, and gone after `revalidatePath`', async () => {
    const [one, other] = [new a(), new b()]
    expect(await one.get('/p', { kind: 'APP_PAGE' })).toBeNull()
    const waiting = other.get('/p', { kind: 'APP_PAGE' })
    await one.set('/p', page, control)
    expect(await waiting).toMatchObject({ value: page, cacheControl: control.cacheControl })
    await other.revalidateTag('_N_T_/p')
    expect(await one.get('/p', { kind: 'APP_PAGE' })).toBeNull()
  })

  test('that is stale is so for one, by the time that Next takes it for', async () => {
    const [one, other] = [new a(), new b()]
    await one.get('/p', { kind: 'APP_PAGE' })
    await one.set('/p', page, control)
    await one.revalidateTag(['t'], { expire: 600 })
    const both = await Promise.all([one, other].map((each) => each.get('/p', { kind: 'APP_PAGE' })))
    const ages = both.map((each) => Date.now() - (each?.lastModified ?? 0))
    expect(ages.filter((age) => age > 60_000)).toHaveLength(1)
    expect(ages.filter((age) => age < 10_000)).toHaveLength(1)
  })
})

test('a value that is no function is refused at once', () => {
  expect(() => nextCache(createCache() as never)).toThrow('Expected `nextCache` to be given a function')
})

test('a build asks for no cache; a process makes one, however often Next makes handlers', async () => {
  vi.stubEnv('NEXT_PHASE', 'phase-production-build')
  expect(await a.get('k', [])).toBeUndefined()
  await a.set('k', entry('v'))
  await a.updateTags(['t'])
  expect([await new a().get('/p', {}), made]).toEqual([null, 0])
  vi.unstubAllEnvs()
  for (const handler of [new a(), new a()]) await handler.get('/p', {})
  expect(made).toBe(1)
})

test('a cache that is closed costs no page', async () => {
  const cache: Cache = createCache({ store })
  const handler = process(store, cache)
  await cache.close()
  expect(await handler.get('k', [])).toBeUndefined()
  await handler.set('k', entry('v'))
})

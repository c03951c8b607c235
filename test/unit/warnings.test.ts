import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { openCache } from '../../src/core/cache/open-cache.ts'
import type { Store, StoreUser } from '../../src/core/contract/store.ts'
import type { Cache, CacheOptions } from '../../src/index.ts'
import { memoryStore } from '../../src/index.ts'
import { warnOfTrouble } from '../../src/warnings.ts'
import { FakeClock, settled } from '../support/fake-clock.ts'
import { UnreliableStore } from './support/unreliable-store.ts'

let codes: unknown[] = []
let texts: unknown[] = []
/** How many caches were opened. */
let opened = 0

beforeEach(() => {
  codes = []
  texts = []
  vi.stubEnv('NODE_ENV', 'development')
  vi.spyOn(process, 'emitWarning').mockImplementation((text, options) => {
    texts.push(text)
    codes.push((options as { code: string }).code)
  })
})

afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

/** A store that says itself whether it pushes outcomes. */
class PushingStore extends UnreliableStore {
  user: StoreUser | undefined

  override open(user?: StoreUser): void {
    this.user = user
    super.open(user)
  }
}

function watched(options: CacheOptions = {}): { cache: Cache; store: PushingStore; clock: FakeClock } {
  const clock = new FakeClock()
  const store = new PushingStore(memoryStore({ clock }))
  const unexpected = (): Store => expect.unreachable('it has a store')
  const namespace = `warned-${++opened}`
  return { cache: openCache({ namespace, ...options, store, clock }, unexpected, warnOfTrouble), store, clock }
}

describe('a store that fails', () => {
  test('is warned of once, whatever it does then', async () => {
    const { cache, store, clock } = watched()
    store.mode = 'failing'
    await cache.getOrLoad('a', () => 1)
    await cache.getOrLoad('b', () => 1)
    store.mode = 'silent'
    const silent = cache.getOrLoad('c', () => 1)
    await clock.advance(600)
    await silent
    expect(codes).toEqual(['HERDLESS_STORE_UNAVAILABLE'])
  })

  test('is not warned of while an event that says so is heard, and is when it is not', async () => {
    const { cache, store } = watched()
    store.mode = 'failing'
    const offs = [cache.on('degraded', () => {}), cache.on('storeFailure', () => {})]
    await cache.getOrLoad('a', () => 1)
    offs[0]?.()
    await cache.getOrLoad('b', () => 1)
    expect(codes).toEqual([])
    offs[1]?.()
    cache.on('miss', () => {})
    await cache.getOrLoad('c', () => 1)
    expect(codes).toEqual(['HERDLESS_STORE_UNAVAILABLE'])
  })

  test('is not warned of by a cache that is closed', async () => {
    const { cache, store } = watched()
    let finish!: () => void
    const loading = cache.getOrLoad('a', () => new Promise<void>((resolve) => (finish = resolve)))
    await settled()
    const closing = cache.close()
    store.mode = 'failing'
    finish()
    await loading.catch(() => {})
    await closing
    expect(codes).toEqual([])
  })
})

describe('lost push', () => {
  test('is warned of after five seconds', async () => {
    const { store, clock } = watched()
    store.user?.pushed(false)
    await clock.advance(4_900)
    expect(codes).toEqual([])
    await clock.advance(200)
    expect(codes).toEqual(['HERDLESS_PUSH_LOST'])
  })

  test('is not warned of if it is soon back', async () => {
    const { store, clock } = watched()
    for (const up of [false, true, false]) {
      store.user?.pushed(up)
      await clock.advance(4_000)
    }
    store.user?.pushed(true)
    await clock.advance(10_000)
    expect(codes).toEqual([])
  })

  test('is warned of only when the store answers again', async () => {
    const { cache, store, clock } = watched()
    cache.on('storeFailure', () => {})
    store.mode = 'silent'
    const call = cache.getOrLoad('a', () => 1)
    await clock.advance(600)
    await call
    store.user?.pushed(false)
    await clock.advance(20_000)
    expect(codes).toEqual([])
    store.thaw()
    await clock.advance(6_000)
    expect(codes).toEqual(['HERDLESS_PUSH_LOST'])
  })

  test('leaves no timer behind a closed cache', async () => {
    const { cache, store, clock } = watched()
    store.user?.pushed(false)
    await cache.close()
    expect(clock.pending).toBe(0)
    await clock.advance(10_000)
    expect(codes).toEqual([])
  })
})

describe('a lease that is lost', () => {
  /** Runs a load during which the process is blocked until its lease is over. */
  async function standStill({ cache, clock }: ReturnType<typeof watched>): Promise<void> {
    let isFirst = true
    const load = async (): Promise<void> => {
      if (isFirst) await clock.block(10_500)
      isFirst = false
    }
    const call = cache.refresh('a', load)
    await clock.advance(1_000)
    await call
  }

  test('since the process was blocked is warned of the second time', async () => {
    const scene = watched()
    const lost: unknown[] = []
    await standStill(scene)
    expect(codes).toEqual([])
    await standStill(scene)
    expect(codes).toEqual(['HERDLESS_LEASE_LOST'])
    scene.cache.on('lost', (event) => lost.push(event))
    await standStill(scene)
    expect(lost).toMatchObject([{ key: 'a', blocked: expect.any(Number), error: { code: 'LEASE_LOST' } }])
    expect((lost as { error: Error }[])[0]?.error.message).toMatch(/because this process was blocked for \d+ ms$/)
  })

  test('since it was invalidated is not warned of', async () => {
    const { cache, clock } = watched()
    const reasons: unknown[] = []
    for (let time = 0; time < 3; time++) {
      let isFirst = true
      const call = cache.getOrLoad(`key ${time}`, async ({ signal }) => {
        if (isFirst) await new Promise((resolve) => signal.addEventListener('abort', resolve))
        if (isFirst) reasons.push(signal.reason)
        isFirst = false
      })
      await settled()
      await cache.invalidate(`key ${time}`)
      await clock.advance(1_000)
      await call
    }
    expect(reasons).toMatchObject(Array(3).fill({ code: 'LEASE_LOST' }))
    expect(codes).toEqual([])
  })
})

describe('a key', () => {
  test.each(['user:undefined', 'undefined', 'a:NaN:b', 'a/[object Object]', 'list|undefined|7'])(
    'with a part that was hardly meant, as %s has, is warned of once',
    async (key) => {
      const { cache } = watched()
      await cache.getOrLoad(key, () => 1)
      await cache.getOrLoad(`${key}:undefined`, () => 1)
      expect(codes).toEqual(['HERDLESS_KEY'])
    },
  )

  test('with such a word within another, or of a wrapped function or a response, is none', async () => {
    const { cache } = watched()
    const keys = ['undefined-behaviour', 'page:NaNcy', 'user:null', 'response https://a.test/undefined']
    for (const key of keys) await cache.getOrLoad(key, () => 1)
    await cache.wrap((...ids: unknown[]) => ids.length, { key: 'find' })(undefined, Number.NaN, undefined)
    expect(codes).toEqual([])
  })
})

describe('a value that cannot be stored', () => {
  class User {}
  class Order {}

  test('is warned of once for each class, with what to do', async () => {
    const { cache } = watched({ maxValueSize: 100 })
    for (const key of ['a', 'b']) await cache.getOrLoad(key, () => ({ user: new User() }))
    expect(codes).toEqual(['HERDLESS_UNSTORABLE'])
    for (const key of ['c', 'd']) await cache.getOrLoad(key, () => [new Order()])
    for (const key of ['e', 'f']) await cache.getOrLoad(key, () => 'x'.repeat(100))
    expect(codes).toEqual(Array(3).fill('HERDLESS_UNSTORABLE'))
    expect(texts[0]).toContain('Cannot store an instance of User at value.user. Until')
    expect(texts[0]).toContain(
      'return plain data (`{ ...row }`, `.lean()`, `.get({ plain: true })`, `instanceToPlain`)',
    )
    expect(texts[2]).toContain('store less, or raise `maxValueSize`')
  })

  test('is not warned of where it is heard, or is an error', async () => {
    const { cache } = watched()
    cache.on('unstorable', () => {})
    await cache.getOrLoad('a', () => new User())
    const strict = watched({ unstorable: 'throw' })
    await expect(strict.cache.getOrLoad('a', () => new User())).rejects.toThrow('an instance of User')
    expect(codes).toEqual([])
  })
})

describe('caches of one namespace', () => {
  test('that are opened and not closed are warned of, once', () => {
    for (let index = 0; index < 19; index++) watched({ namespace: 'ever more' })
    expect(codes).toEqual([])
    for (let index = 0; index < 30; index++) watched({ namespace: 'ever more' })
    expect(codes).toEqual(['HERDLESS_CACHES'])
  })

  test('that are closed, of several namespaces, or of tests are none too many', async () => {
    for (let index = 0; index < 30; index++) {
      const { cache } = watched({ namespace: 'one after the other' })
      await cache.close()
      watched({ namespace: `number ${index}` })
    }
    vi.stubEnv('NODE_ENV', 'test')
    for (let index = 0; index < 30; index++) watched({ namespace: 'of tests' })
    expect(codes).toEqual([])
  })
})

describe('a ttl', () => {
  test('that is a number is warned of in each place where it is new', async () => {
    const places: ((cache: Cache) => unknown)[] = [
      (cache) => cache.getOrLoad('a', () => 1, { ttl: 99 }),
      (cache) => cache.refresh('a', () => 1, { ttl: 99 }),
      (cache) => cache.set('a', 1, { ttl: 99 }),
      (cache) => cache.wrap(() => 1, { key: 'one', ttl: 99 }),
      (cache) => cache.getOrLoad('a', () => 1, { ttl: Date.now() }),
    ]
    for (const place of places) {
      codes = []
      await place(watched().cache)
      expect([String(place), codes]).toEqual([String(place), ['HERDLESS_TTL']])
    }
    watched({ ttl: 60 })
    expect(codes).toEqual(['HERDLESS_TTL', 'HERDLESS_TTL'])
  })

  test('that is a number is no matter in production and in tests', () => {
    for (const stage of ['production', 'test']) {
      vi.stubEnv('NODE_ENV', stage)
      watched({ ttl: 60 })
    }
    expect(codes).toEqual([])
  })

  test('that a loader names is not warned of, since it may be what is left of another', async () => {
    await watched().cache.getOrLoad('a', ({ ttl }) => ttl(5))
    expect(codes).toEqual([])
  })
})

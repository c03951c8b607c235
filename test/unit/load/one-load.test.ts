import { describe, expect, test } from 'vitest'
import { createCache, memoryStore } from '../../../src/index.ts'
import { FakeClock, settled } from '../../support/fake-clock.ts'
import { allAsked, answerOf, asked, pending, valued } from '../support/answer.ts'
import { fleet, type Fleet } from '../support/fleet.ts'
import { allLoading, loading } from '../support/source.ts'

describe('a missing value', () => {
  test('is loaded once for all callers of all processes', async () => {
    const { all, source } = fleet()
    const answers = await allAsked(
      all.flatMap((cache) => Array.from({ length: 3_000 }, () => cache.getOrLoad('k', source.loader))),
    )
    expect(source.runs).toHaveLength(1)
    await source.resolve(0, 'v')
    expect(answers).toEqual(Array.from({ length: 9_000 }, () => valued('v')))
    expect(source.runs).toHaveLength(1)
  })

  test('is loaded once for those who come while it is loaded', async () => {
    const { a, b, clock, source } = fleet()
    const answers = [answerOf(a.getOrLoad('k', source.loader))]
    for (let count = 0; count < 10; count++) {
      await clock.advance(100)
      answers.push(answerOf((count % 2 === 0 ? a : b).getOrLoad('k', source.loader)))
    }
    await settled()
    await source.resolve(0, 'v')
    expect(answers).toEqual(Array.from({ length: 11 }, () => valued('v')))
    expect(source.runs).toHaveLength(1)
  })

  test('is loaded once however long that takes, for the lease is renewed', async () => {
    const { a, b, clock } = fleet({ leaseTtl: '3s', hardTimeout: '5m' })
    const { source, answers } = await allLoading([a, b])
    await clock.advance(240_000)
    expect(source.runs).toHaveLength(1)
    await source.resolve(0, 'v')
    expect(answers).toEqual([valued('v'), valued('v')])
  })

  test('is loaded once per key, however many are asked for at once', async () => {
    const clock = new FakeClock()
    const cache = createCache({ store: memoryStore({ clock, max: 10_000 }), clock })
    // 100 000 of them are asked for in test/integration/crowd.test.ts.
    const keys = Array.from({ length: 10_000 }, (_, index) => `key ${index}`)
    let loads = 0
    const loader = async ({ key }: { key: string }): Promise<string> => {
      loads++
      await settled()
      return key
    }
    expect(await Promise.all(keys.map((key) => cache.getOrLoad(key, loader)))).toEqual(keys)
    expect(loads).toBe(10_000)
  })

  test('is not loaded for a lease that ran out on its way: another may have it by now (rule 3)', async () => {
    const { a, b, ways, clock } = fleet({ leaseTtl: 300, commandTimeout: 500 })
    const letGo = ways.a.hold('claim', 'after')
    const { source, answer: late } = await loading(a)
    await clock.advance(300)
    const other = await asked(b.getOrLoad('k', source.loader))
    expect(source.runs).toHaveLength(1)
    letGo()
    await clock.advance(1)
    expect(source.runs).toHaveLength(1)
    await source.resolve(0, 'v')
    expect([late, other]).toMatchObject([{ value: 'v' }, { value: 'v' }])
  })

  test('is not looked for again by those who join a load in their own process', async () => {
    const { a, ways } = fleet()
    const { source } = await loading(a)
    ways.a.sent.length = 0
    for (let count = 0; count < 10; count++) answerOf(a.getOrLoad('k', source.loader))
    await settled()
    expect(ways.a.sent).toEqual([])
  })
})

describe('a loaded value', () => {
  test('is there for everybody until its ttl ends, and then loaded again', async () => {
    const { a, b, c, clock } = fleet({ ttl: '10s' })
    let count = 0
    const loader = () => ++count
    expect(await a.getOrLoad('k', loader)).toBe(1)
    await clock.advance(9_999)
    expect(await b.getOrLoad('k', loader)).toBe(1)
    await clock.advance(1)
    expect(await c.getOrLoad('k', loader)).toBe(2)
    expect(await a.getOrLoad('k', loader)).toBe(2)
  })

  test('lives as long as the call says, and the loader has the last word', async () => {
    const { a, clock } = fleet({ ttl: '10s' })
    let count = 0
    const loader = () => ++count
    await a.getOrLoad('by call', loader, { ttl: '20s' })
    await a.getOrLoad('by loader', ({ ttl }) => (ttl('30s'), loader()), { ttl: '20s' })
    await clock.advance(19_999)
    expect([await a.getOrLoad('by call', loader), await a.getOrLoad('by loader', loader)]).toEqual([1, 2])
    await clock.advance(1)
    expect([await a.getOrLoad('by call', loader), await a.getOrLoad('by loader', loader)]).toEqual([3, 2])
    await clock.advance(10_000)
    expect(await a.getOrLoad('by loader', loader)).toBe(4)
  })

  test('of a ttl that ends before anybody is told is still what they waited for (rule 6)', async () => {
    const { all, clock } = fleet({ ttl: 1 })
    const { source, answers } = await allLoading(all)
    source.run(0).resolve('v')
    await clock.advance(5)
    expect(answers).toEqual(Array.from({ length: 3 }, () => valued('v')))
    expect(source.runs).toHaveLength(1)
  })

  test('that is too large for a message, and expires before it is read, is still what they waited for (rule 6)', async () => {
    const { all, clock, ways } = fleet({ ttl: 1 })
    ways.b.messages = 'too large'
    const { source, answers } = await allLoading(all)
    const letGo = ways.b.hold('read', 'before')
    source.run(0).resolve('v')
    await clock.advance(5)
    expect(answers[1]).toEqual(pending)
    letGo()
    await settled()
    expect(answers).toEqual(Array.from({ length: 3 }, () => valued('v')))
    expect(source.runs).toHaveLength(1)
  })

  test('of a ttl that ends between two questions is still what they waited for, where nobody is told (rule 6)', async () => {
    const { a, b, clock, ways } = fleet({ ttl: 1 })
    ways.b.messages = 'never promised'
    const { source, answers } = await allLoading([a, b])
    await clock.advance(5)
    source.run(0).resolve('v')
    await clock.advance(1_000)
    expect(answers).toEqual([valued('v'), valued('v')])
    expect(source.runs).toHaveLength(1)
  })

  describe('of a ttl that ends before those have read it who have joined its wait', () => {
    /** One caller in `a` loads, two wait in `b`: one has its load waited for, the other joins, and then reads too late. */
    async function joined(meanwhile: (fleet: Fleet) => Promise<unknown> = async () => undefined) {
      const all = fleet({ ttl: 1, tags: ['t'] })
      const { a, b, clock, ways } = all
      const { source, answers } = await allLoading([a, b])
      answers.push(await asked(b.getOrLoad('k', source.loader)))
      const letGo = ways.b.hold('read', 'before')
      source.run(0).resolve('v')
      await clock.advance(5)
      await meanwhile(all)
      letGo()
      await settled()
      return { source, answers }
    }

    test('is still what they waited for (rule 6)', async () => {
      const { source, answers } = await joined()
      expect(answers).toEqual(Array.from({ length: 3 }, () => valued('v')))
      expect(source.runs).toHaveLength(1)
    })

    test.for<[string, (fleet: Fleet) => Promise<unknown>]>([
      ['the key', ({ a }) => a.invalidate('k')],
      ['its tag', ({ a }) => a.invalidateTags(['t'])],
      ['the key softly', ({ a }) => a.expire('k')],
      ['its tag softly', ({ a }) => a.invalidateTags(['t'], { soft: true })],
    ])('is not, where %s was invalidated meanwhile (rule 4)', async ([, meanwhile]) => {
      const { source, answers } = await joined(meanwhile)
      expect(source.runs).toHaveLength(2)
      await source.resolve(1, 'new')
      expect(answers.map((answer) => 'value' in answer && answer.value)).toEqual(['v', 'v', 'new'])
    })
  })

  test('is another object for each process and for each later call', async () => {
    const { a, b } = fleet()
    const loaded = await a.getOrLoad('k', () => ({ list: [1] }))
    loaded.list.push(2)
    const [mine, theirs] = [
      await a.getOrLoad('k', () => ({ list: [9] })),
      await b.getOrLoad('k', () => ({ list: [9] })),
    ]
    expect([mine, theirs]).toEqual([{ list: [1] }, { list: [1] }])
    mine.list.push(3)
    expect(await a.getOrLoad('k', () => ({ list: [9] }))).toEqual({ list: [1] })
  })

  test('is not seen under the same key of another namespace', async () => {
    const clock = new FakeClock()
    const store = memoryStore({ clock })
    const [shop, blog] = ['shop', 'blog'].map((namespace) => createCache({ store, clock, namespace }))
    expect(await shop?.getOrLoad('k', () => 'goods')).toBe('goods')
    expect(await blog?.getOrLoad('k', () => 'posts')).toBe('posts')
    await blog?.invalidate('k')
    expect(await shop?.peek('k')).toMatchObject({ state: 'fresh', value: 'goods' })
    expect(await blog?.peek('k')).toEqual({ state: 'missing' })
  })

  test('of an empty cache is missing for peek, then fresh, then stale, then missing again', async () => {
    const { a, b, clock } = fleet({ ttl: '10s', grace: '20s' })
    expect(await b.peek('k')).toEqual({ state: 'missing' })
    await a.getOrLoad('k', () => 'v')
    await clock.advance(4_000)
    expect(await b.peek('k')).toEqual({ state: 'fresh', value: 'v', age: 4_000, ttl: 6_000 })
    await clock.advance(6_000)
    expect(await b.peek('k')).toEqual({ state: 'stale', value: 'v', age: 10_000, ttl: 0 })
    await clock.advance(20_000)
    expect(await b.peek('k')).toEqual({ state: 'missing' })
  })
})

describe('each load', () => {
  test('has a fence that grows from one to the next, whichever process loads (rule 15)', async () => {
    const { a, b, c } = fleet()
    const fences: (bigint | null)[] = []
    for (const cache of [a, b, a, c, b]) {
      await cache.getOrLoad('k', ({ fence }) => fences.push(fence))
      await cache.invalidate('k')
    }
    expect(new Set(fences).size).toBe(5)
    expect(fences).toEqual(fences.toSorted((x, y) => ((x ?? 0n) < (y ?? 0n) ? -1 : 1)))
  })

  test('is told its key, and that there is no older value', async () => {
    const { a } = fleet()
    const { source } = await loading(a)
    expect(source.run(0).context).toMatchObject({ key: 'k', stale: null })
    expect(source.run(0).context.signal.aborted).toBe(false)
  })
})

// oxfmt-ignore
const strangeKeys = ['\0', '\n', ' ', '{', '}', '{}', '}{', 'a{b}c', ':', '%', '💥', '__proto__', 'constructor', 'toString',
  'é', 'e\u0301', 'k'.repeat(65_536)]

test.for(strangeKeys)('a key may be %j, and is no other key', async (key) => {
  const { a, b } = fleet()
  expect(await a.getOrLoad('other', () => 'other')).toBe('other')
  expect(await a.getOrLoad(key, () => 'v')).toBe('v')
  expect(await b.getOrLoad(key, () => 'wrong')).toBe('v')
  await b.invalidate(key)
  expect(await a.getOrLoad(key, () => 'new')).toBe('new')
  expect(await b.getOrLoad('other', () => 'wrong')).toBe('other')
})

import { describe, expect, test, vi } from 'vitest'
import { createCache, memoryStore, type Cache, type CacheEvents } from '../../../src/index.ts'
import { FakeClock, settled } from '../../support/fake-clock.ts'
import { answerOf, asked, valued } from '../support/answer.ts'
import { fleet, type Fleet } from '../support/fleet.ts'
import { loading } from '../support/source.ts'
import { UnreliableStore } from '../support/unreliable-store.ts'

const done = valued(undefined)

/** A fleet whose invalidations are kept where they fail, and what `a` tells of them. */
function keeping() {
  const all = fleet({ onInvalidateFailure: 'replay' })
  const heard: unknown[] = []
  for (const name of ['kept', 'replayed'] as const) {
    all.a.on(name, (event: CacheEvents['kept'] | CacheEvents['replayed']) => {
      const { error, ...rest } = { error: undefined, ...event }
      heard.push([name, rest, ...(error === undefined ? [] : [error.code])])
    })
  }
  let loads = 0
  const value = async (cache: Cache, key = 'k'): Promise<unknown> => {
    const answer = await asked(cache.getOrLoad(key, () => `load ${++loads}`))
    return answer.state === 'value' ? answer.value : answer
  }
  /** Has something done that the store refuses, and lets it answer again. */
  const refused = async (write: () => Promise<void>): Promise<void> => {
    all.ways.a.mode = 'failing'
    await write()
    all.ways.a.mode = 'answering'
  }
  return { ...all, heard, value, refused }
}

/** `a` has lost its store, and has noticed. */
async function silent({ a, ways, clock }: Fleet): Promise<void> {
  ways.a.mode = 'silent'
  answerOf(a.peek('k'))
  await clock.advance(500)
}

describe('with `onInvalidateFailure` set to replay, an invalidation', () => {
  test('during an outage resolves, and is carried out when the store is back (rule 12)', async () => {
    const all = keeping()
    const { a, b, ways, heard, value, clock } = all
    expect(await value(b)).toBe('load 1')
    await silent(all)
    expect(await asked(a.invalidate('k'))).toEqual(done)
    expect(await value(b)).toBe('load 1')
    ways.a.thaw()
    await settled()
    expect(await value(b)).toBe('load 2')
    await clock.advance(1_000)
    expect(heard).toEqual([
      ['kept', { invalidations: 1 }, 'STORE_UNAVAILABLE'],
      ['replayed', { invalidations: 1, after: 0 }],
    ])
  })

  test('keeps its own process from reading what it has declared void (rule 4)', async () => {
    const all = keeping()
    const { a, ways, value, clock } = all
    expect(await value(a)).toBe('load 1')
    ways.a.mode = 'failing'
    await a.invalidate('k')
    ways.a.mode = 'answering'
    // The store answers, and still has the old value.
    expect(await value(a)).toBe('load 2')
    expect(await value(a, 'another')).toBe('load 3')
    await clock.advance(250)
    expect(await value(a)).toBe('load 4')
    expect(await value(a)).toBe('load 4')
  })

  test('that fails alone is tried again until it succeeds, four times a second', async () => {
    const { a, b, ways, heard, value, clock } = keeping()
    expect(await value(b)).toBe('load 1')
    ways.a.mode = 'failing'
    await a.invalidate('k')
    await clock.advance(1_000)
    expect(ways.a.count('invalidate')).toBe(5)
    ways.a.mode = 'answering'
    await clock.advance(250)
    expect(ways.a.count('invalidate')).toBe(6)
    await clock.advance(1_000)
    expect(ways.a.count('invalidate')).toBe(6)
    expect(await value(b)).toBe('load 2')
    expect(heard.at(-1)).toEqual(['replayed', { invalidations: 1, after: 1_250 }])
  })

  test('is carried out after those before it, a key once', async () => {
    const all = keeping()
    const { a, ways, clock, heard } = all
    await silent(all)
    const sent = vi.spyOn(ways.a, 'invalidate')
    for (const key of ['one', 'two', 'one', 'three']) await a.invalidate(key)
    ways.a.thaw()
    await clock.advance(0)
    expect(sent.mock.calls.map(([key]) => key)).toEqual(['herdless:two', 'herdless:one', 'herdless:three'])
    expect(heard.at(-1)).toEqual(['replayed', { invalidations: 3, after: 0 }])
  })

  test('of a key on a server that answers does not wait for those of a server that does not', async () => {
    const clock = new FakeClock()
    const way = new UnreliableStore(memoryStore({ clock }))
    way.sharded = true
    const cache = createCache({ store: way, clock, onInvalidateFailure: 'replay', warnings: false })
    await cache.set('alive', 'old')
    let isAlive = false
    const invalidate = way.invalidate.bind(way)
    way.invalidate = (name) =>
      isAlive && name === 'herdless:alive' ? invalidate(name) : Promise.reject(new Error('ECONNREFUSED'))
    for (let key = 0; key < 150; key++) await cache.invalidate(`dead ${key}`)
    await cache.invalidate('alive')
    isAlive = true
    await clock.advance(250)
    expect((await cache.peek('alive')).state).toBe('missing')
  })

  test('that is soft is carried out as such, unless a hard one of its key is kept, which wins', async () => {
    const all = keeping()
    const { a, ways, clock } = all
    await silent(all)
    const sent = vi.spyOn(ways.a, 'invalidate')
    await a.expire('soft')
    await a.expire('both')
    await a.invalidate('both')
    await a.invalidate('turned')
    await a.expire('turned')
    ways.a.thaw()
    await clock.advance(0)
    expect(sent.mock.calls).toEqual([
      ['herdless:soft', 'soft'],
      ['herdless:both', 'hard'],
      ['herdless:turned', 'hard'],
    ])
  })

  test('that is hard is not made moot by a soft one that succeeds', async () => {
    const { a, b, clock, refused } = keeping()
    await b.set('k', 'old', { grace: '1m' })
    await refused(() => a.invalidate('k'))
    await a.expire('k')
    expect((await b.explain('k')).value).toBe(null)
    await clock.advance(1_000)
    expect((await b.explain('k')).value).toBe(null)
  })

  test('that is soft keeps its own process from reading the key until it is carried out', async () => {
    const { a, b, value, clock, refused } = keeping()
    await b.set('k', 'old', { grace: '1m' })
    await refused(() => a.expire('k'))
    expect(await value(a)).toBe('load 1')
    await clock.advance(250)
    expect((await b.explain('k')).value).toMatchObject({ ttl: 0, age: 250 })
    expect(await b.getOrLoad('k', () => 'new', { grace: '1m' })).toBe('old')
  })

  test('is moot once its key has been set', async () => {
    const { a, b, value, clock, refused } = keeping()
    await refused(() => a.invalidate('k'))
    await a.set('k', 'set')
    await clock.advance(1_000)
    expect(await value(a)).toBe('set')
    expect(await value(b)).toBe('set')
  })

  test('outlasts a write that was sent before it and is answered after it (rule 4)', async () => {
    const { a, b, ways, value, clock, refused } = keeping()
    const answer = ways.a.hold('set', 'after')
    const set = await asked(a.set('k', 'set before'))
    await refused(() => a.invalidate('k'))
    answer()
    await settled()
    expect(set).toEqual(done)
    expect(await value(a)).toBe('load 1')
    await clock.advance(250)
    expect(await value(b)).toBe('load 2')
  })

  test('of so many keys that they cannot be kept is rejected', async () => {
    const all = keeping()
    const { a } = all
    await silent(all)
    await Promise.all(Array.from({ length: 10_000 }, (_, index) => a.invalidate(`key ${index}`)))
    await a.invalidate('key 0')
    await expect(a.invalidate('one more')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', key: 'one more' })
  })

  test('that is still kept when the cache closes is tried once more, and reported if that fails', async () => {
    const { a, b, ways, clock } = keeping()
    ways.a.mode = ways.b.mode = 'failing'
    await a.invalidate('k')
    await b.invalidate('k')
    await b.invalidate('l')
    ways.a.mode = 'answering'
    await expect(a.close()).resolves.toBeUndefined()
    await expect(b.close()).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: 'The cache is closed, and 2 kept invalidations were not carried out',
    })
    expect(ways.b.closed).toBe(1)
    expect(clock.pending).toBe(0)
  })

  test('voids what was loaded here before it, even if the store accepts it (rule 4)', async () => {
    const { a, clock, refused } = keeping()
    const { source, answer: before } = await loading(a)
    await refused(() => a.invalidate('k'))
    const after = await asked(a.getOrLoad('k', source.loader))
    source.run(0).resolve('old')
    await source.resolve(1, 'new')
    expect([before, after]).toEqual([valued('old'), valued('new')])
    await clock.advance(250)
    const later = await asked(a.getOrLoad('k', source.loader))
    await source.resolve(2, 'newer')
    expect(later).toEqual(valued('newer'))
  })
})

describe('with it, an invalidation of tags or a prefix', () => {
  const tagged = { tags: ['x'] }

  test('during an outage resolves, and is carried out when the store is back (rule 12)', async () => {
    const all = keeping()
    const { a, b, ways, heard, clock } = all
    await b.set('k', 'old', tagged)
    await b.set('other', 'old', { tags: ['y'] })
    await silent(all)
    expect(await asked(a.invalidateTags(['x', 'z']))).toEqual(done)
    expect((await b.peek('k')).state).toBe('fresh')
    ways.a.thaw()
    await clock.advance(1_000)
    expect([(await b.peek('k')).state, (await b.peek('other')).state]).toEqual(['missing', 'fresh'])
    expect(heard).toEqual([
      ['kept', { invalidations: 1 }, 'STORE_UNAVAILABLE'],
      ['kept', { invalidations: 2 }, 'STORE_UNAVAILABLE'],
      ['replayed', { invalidations: 2, after: 0 }],
    ])
  })

  test('keeps its own process from reading what it has declared void, and nothing else (rule 4)', async () => {
    const { a, b, value, clock, refused } = keeping()
    await b.set('k', 'old', tagged)
    await b.set('other', 'old', { tags: ['y'] })
    await refused(() => a.invalidateTags(['x']))
    // The store answers, and still has the old value.
    expect([await value(a), await value(a, 'other')]).toEqual(['load 1', 'old'])
    expect(await a.getOrLoadMany(['k', 'other'], (keys) => keys.map(() => 'loaded'))).toEqual(['load 1', 'old'])
    await clock.advance(250)
    expect(await value(a)).toBe('load 2')
  })

  test('of a claim: a fresh or a stale value, and one that another process loads (rule 4)', async () => {
    const { a, b, value, clock, refused } = keeping()
    const { source } = await loading(b, tagged)
    await refused(() => a.invalidateTags(['x']))
    const waiting = await asked(a.getOrLoad('k', () => 'of a'))
    await source.resolve(0, 'old')
    expect(waiting).toEqual(valued('of a'))
    await b.set('stale', 'old', { ...tagged, ttl: 100, grace: '1m' })
    await clock.advance(100)
    expect(await value(a, 'stale')).toBe('load 1')
  })

  test.for(['prefix', 'everything'])('of %s is kept likewise', async (what) => {
    const { a, b, ways, clock } = fleet({ onInvalidateFailure: 'replay', prefixes: '/' })
    await b.set('p/k', 'old')
    ways.a.mode = 'failing'
    await (what === 'prefix' ? a.invalidatePrefix('p/') : a.clear())
    ways.a.mode = 'answering'
    expect(await a.getOrLoad('p/k', () => 'new')).toBe('new')
    expect(await b.getOrLoad('p/k', () => 'newer')).toBe('old')
    await clock.advance(250)
    expect(await b.getOrLoad('p/k', () => 'newest')).toBe('newest')
  })

  test('voids what was loaded here before it, for those who ask after it (rule 4)', async () => {
    const { a, b, clock, refused } = keeping()
    const { source, answer: before } = await loading(a, tagged)
    await refused(() => a.invalidateTags(['x']))
    const after = await asked(a.getOrLoad('k', source.loader, tagged))
    await source.resolve(0, 'old')
    expect(before).toEqual(valued('old'))
    expect((await b.peek('k')).state).toBe('missing')
    await source.resolve(1, 'new')
    expect(after).toEqual(valued('new'))
    await clock.advance(250)
    expect((await a.peek('k')).state).not.toBe('stale')
  })

  test('that is carried out while a value is read keeps that value from the caller (rule 4)', async () => {
    const { a, b, ways, clock, refused } = keeping()
    await b.set('k', 'old', tagged)
    await refused(() => a.invalidateTags(['x']))
    const go = ways.a.hold('read', 'after')
    const answer = await asked(a.getOrLoad('k', () => 'new'))
    await clock.advance(250)
    go()
    await settled()
    expect(answer).toEqual(valued('new'))
  })

  test('that is soft is not made hard, and a hard one that is kept wins', async () => {
    const { a, b, ways, clock } = keeping()
    await b.set('soft', 'old', { ...tagged, grace: '1m' })
    await b.set('hard', 'old', { tags: ['y'], grace: '1m' })
    ways.a.mode = 'failing'
    await a.invalidateTags(['x'], { soft: true })
    await a.invalidateTags(['y'])
    ways.a.mode = 'answering'
    await a.invalidateTags(['y'], { soft: true })
    await clock.advance(250)
    const answers = ['soft', 'hard'].map((key) => b.getOrLoad(key, () => 'new', { grace: '1m' }))
    expect(await Promise.all(answers)).toEqual(['old', 'new'])
  })

  test('with a bound counts it from when it was asked for, and is hard once that is over', async () => {
    const { a, ways, clock, refused } = keeping()
    const sent = vi.spyOn(ways.a, 'invalidate')
    for (const within of ['1s', '100ms'] as const) {
      await refused(() => a.expire('k', { within }))
      await clock.advance(250)
    }
    expect(sent.mock.calls.map(([, how]) => how)).toEqual([1_000, 750, 100, 'hard'])
  })

  test('that succeeds makes one that is kept moot', async () => {
    const { a, b, value, clock, refused } = keeping()
    await refused(() => a.invalidateTags(['x']))
    await a.invalidateTags(['x'])
    await b.set('k', 'set', tagged)
    expect(await value(a)).toBe('set')
    await clock.advance(1_000)
    expect(await value(a)).toBe('set')
  })
})

test.for([
  ['a key', (cache: Cache) => cache.invalidate('k')],
  ['a tag', (cache: Cache) => cache.invalidateTags(['x'])],
  ['everything', (cache: Cache) => cache.clear()],
] as const)(
  'with it, a value that was read while %s was invalidated in vain is no near copy (rule 4)',
  async ([, invalidate]) => {
    const { a, b, ways } = fleet({ onInvalidateFailure: 'replay', near: {} })
    await b.set('k', 'old', { tags: ['x'] })
    let refuse!: () => void
    const refused = new Promise<void>((resolve) => (refuse = resolve))
    ways.a.invalidate = ways.a.invalidateTags = () => refused.then(() => Promise.reject(new Error('READONLY')))
    const invalidated = await asked(invalidate(a))
    const answer = ways.a.hold('read', 'after')
    const read = await asked(a.getOrLoad('k', () => 'unread'))
    refuse()
    await settled()
    expect(invalidated).toEqual(done)
    answer()
    await settled()
    expect(read).toEqual(valued('old'))
    expect(await a.getOrLoad('k', () => 'new')).toBe('new')
  },
)

test('without it, a failed invalidation is rejected and nothing of it is kept (rule 12)', async () => {
  const { a, ways, clock } = fleet()
  ways.a.mode = 'failing'
  await expect(a.invalidate('k')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', key: 'k' })
  ways.a.mode = 'answering'
  await clock.advance(1_000)
  expect(ways.a.count('invalidate')).toBe(1)
  await expect(a.close()).resolves.toBeUndefined()
})

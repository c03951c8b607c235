import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createCache, memoryStore, type Cache, type CacheOptions, type HeldLease } from '../../../src/index.ts'
import { FakeClock, settled } from '../../support/fake-clock.ts'
import { allAsked, asked, pending, valued } from '../support/answer.ts'
import { fleet, told } from '../support/fleet.ts'
import { loading, never, Source, throwing } from '../support/source.ts'

/** Two deployments that share a store, and a second process of the new one. */
function rollout({
  old = 1,
  young = 2,
  ...options
}: CacheOptions & { old?: string | number; young?: string | number } = {}) {
  const clock = new FakeClock()
  const store = memoryStore({ clock })
  const cache = (version: string | number): Cache => createCache({ store, clock, version, ttl: '5m', ...options })
  return { clock, before: cache(old), after: cache(young), other: cache(young) }
}

const there = (value: unknown): object => ({ state: 'fresh', value })
const missing = { state: 'missing' }

describe('two deployments with different versions', () => {
  test('neither see nor evict the values of each other', async () => {
    const { before, after, other } = rollout()
    expect(await before.getOrLoad('k', () => 'old')).toBe('old')
    expect(await after.getOrLoad('k', () => 'new')).toBe('new')
    await before.refresh('k', () => 'older')
    expect(await other.getOrLoad('k', () => 'none')).toBe('new')
    expect(await before.peek('k')).toMatchObject(there('older'))
    expect([after.stats(), other.stats()]).toMatchObject([
      { loads: 1, garbage: 0 },
      { loads: 0, garbage: 0 },
    ])
  })

  test('load side by side, and neither waits for the other', async () => {
    const { before, after } = rollout()
    const [old, young] = [new Source<string>(), new Source<string>()]
    const answers = await allAsked([before.getOrLoad('k', old.loader), after.getOrLoad('k', young.loader)])
    await young.resolve(0, 'new')
    expect(answers).toEqual([pending, valued('new')])
    await old.resolve(0, 'old')
    expect(answers[0]).toEqual(valued('old'))
  })

  test.for(['before', 'after'] as const)('are both reached by an invalidation of a key %s', async (by) => {
    const deployments = rollout({ near: {} })
    const { before, after, other } = deployments
    const ask = async (value: string): Promise<unknown[]> =>
      Promise.all([before, after, other].map((cache) => cache.getOrLoad('k', () => value)))
    await ask('first')
    await ask('first')
    await deployments[by].invalidate('k')
    expect(await ask('second')).toEqual(['second', 'second', 'second'])
  })

  test.for(['before', 'after'] as const)(
    'are both reached by a set %s, whose own version keeps its value',
    async (by) => {
      const deployments = rollout()
      const { before, after } = deployments
      for (const cache of [before, after]) await cache.getOrLoad('k', () => 'loaded')
      await deployments[by].set('k', 'set')
      const other = by === 'before' ? after : before
      expect(await deployments[by].peek('k')).toMatchObject(there('set'))
      expect(await other.peek('k')).toEqual(missing)
    },
  )

  test('make the values of each other stale by expire', async () => {
    const { before, after } = rollout({ grace: '1h' })
    await before.set('k', 'old')
    await after.getOrLoad('k', () => 'new')
    await after.expire('k')
    expect(await before.peek('k')).toMatchObject({ state: 'stale', value: 'old' })
    expect(await after.peek('k')).toMatchObject({ state: 'stale', value: 'new' })
    await expect(before.expire('k', { version: 2 })).resolves.toBeUndefined()
  })

  test('do not fill a value whose load began before the other one invalidated its key (rule 4)', async () => {
    const { before, after } = rollout()
    const { source, answer: first } = await loading(before)
    await after.invalidate('k')
    const second = await asked(before.getOrLoad('k', source.loader))
    await source.resolve(0, 'too old')
    expect([first, second]).toEqual([pending, pending])
    await source.resolve(1, 'new')
    expect([first, second]).toEqual(Array(2).fill(valued('new')))
  })

  test('forget the errors of each other, too, when one invalidates the key', async () => {
    const { before, after } = rollout({ failureCooldown: '1m' })
    await expect(before.getOrLoad('k', throwing(new Error('down')))).rejects.toThrow('down')
    await after.invalidate('k')
    expect(await before.getOrLoad('k', () => 'up')).toBe('up')
  })

  test('are both reached by tags, by prefixes and by clear', async () => {
    const { before, after } = rollout({ prefixes: ':' })
    const actions = [() => after.invalidateTags(['t']), () => before.invalidatePrefix('p:'), () => after.clear()]
    for (const action of actions) {
      for (const cache of [before, after]) await cache.getOrLoad('p:k', () => 'v', { tags: ['t'] })
      await action()
      for (const cache of [before, after]) expect(await cache.peek('p:k')).toEqual(missing)
    }
  })

  test('have their keys explained, and the loads of either listed and broken by their version', async () => {
    const { before, after } = rollout()
    await before.getOrLoad('k', () => 'old')
    await after.invalidate('k')
    const { state, value } = await before.explain('k')
    expect(state).toBe('missing')
    expect(value?.voidedBy).toEqual([{ by: 'key', name: 'k' }])
    const source = new Source()
    const answer = await asked(before.getOrLoad('k', source.loader))
    const leases: HeldLease[] = []
    for await (const lease of after.leases()) leases.push(lease)
    expect(leases).toMatchObject([{ key: 'k', version: '1' }])
    const { key, token, version } = leases[0] as HeldLease
    expect(await after.breakLease(key, token)).toBe(false)
    expect(await after.explain('k', { version: 1 })).toMatchObject({ load: { token } })
    expect(await after.breakLease(key, token, { version: version ?? undefined })).toBe(true)
    await source.resolve(0, 'late')
    await source.resolve(1, 'v')
    expect(answer).toEqual(valued('v'))
  })
})

describe('the version of a call', () => {
  test('is beside that of its cache, whose invalidations reach it', async () => {
    const { a, b } = fleet({ version: 1, near: {} })
    const load = (version: string) => a.getOrLoad('k', () => version, { version })
    expect([await load('1'), await load('2'), await load('beta')]).toEqual(['1', '2', 'beta'])
    expect(await b.peek('k')).toMatchObject(there('1'))
    expect(await b.peek('k', { version: 2 })).toMatchObject(there('2'))
    await b.set('k', 'set', { version: 'beta' })
    expect([await b.peek('k'), await b.peek('k', { version: 2 })]).toEqual([missing, missing])
    expect(await load('beta')).toBe('set')
    await b.invalidate('k')
    expect(await load('beta')).toBe('beta')
  })

  test('needs a cache with one: the invalidations of others reach no versions', async () => {
    const { a } = fleet()
    const expected = /^Expected a cache with the option `version`/
    await expect(a.getOrLoad('k', () => 1, { version: 1 })).rejects.toThrow(expected)
    await expect(a.set('k', 1, { version: 1 })).rejects.toThrow(expected)
    await expect(a.peek('k', { version: 1 })).rejects.toThrow(expected)
    await expect(a.invalidate('k', { version: 1 })).rejects.toThrow(expected)
    expect(() => a.wrap(() => 1, { key: 'f', version: 1 })).toThrow(expected)
  })

  test.for(['', 'a b', 'v=1', '^', 'x'.repeat(65), -1, 1.5, Number.NaN, null, {}])('is not %o', (version) => {
    expect(() => createCache({ version: version as string })).toThrow(
      /^Expected `version` to be a whole number or 1 to/,
    )
  })

  test('that is a number is the same as its text', async () => {
    const { before, after } = rollout({ old: 3, young: '3' })
    await before.set('k', 'v')
    expect(await after.peek('k')).toMatchObject(there('v'))
  })
})

test('an invalidation that the store does not hear of is kept for all versions', async () => {
  const { a: before, b, ways, clock } = fleet({ version: 1, onInvalidateFailure: 'replay' })
  const after = createCache({ store: ways.c, clock, version: 2 })
  await before.set('k', 'old')
  await after.set('k', 'new')
  ways.a.mode = 'failing'
  await before.invalidate('k')
  expect(await before.explain('k')).toMatchObject({ here: { keptInvalidation: true } })
  ways.a.mode = 'answering'
  await clock.advance(250)
  expect([await b.peek('k'), await after.peek('k')]).toEqual([missing, missing])
})

describe('migrate', () => {
  const euro = (old: unknown): unknown => ({ price: old, currency: 'EUR' })

  test('makes the value of one of an earlier version, once in the fleet, which lives no longer', async () => {
    const { before, after, other, clock } = rollout()
    await before.set('k', 5, { ttl: '1m', grace: '1m', tags: ['t'] })
    await clock.advance(20_000)
    let migrations = 0
    const migrate = { 1: (old: unknown) => (migrations++, euro(old)) }
    const answers = await Promise.all([after, other].map((cache) => cache.getOrLoad('k', never, { migrate })))
    expect(answers).toEqual([euro(5), euro(5)])
    expect(migrations).toBe(1)
    expect(await after.peek('k')).toMatchObject({ state: 'fresh', ttl: 40_000 })
    expect(await before.peek('k')).toMatchObject(there(5))
    expect((await after.explain('k')).value).toMatchObject({ tags: ['t'], grace: 0 })
    await before.invalidateTags(['t'])
    expect(await after.peek('k')).toEqual(missing)
  })

  test('prefers the last of the versions, and loads if none has a fresh value', async () => {
    const { before, after, clock } = rollout({ old: 1, young: 3 })
    const migrate = { 2: () => 'of 2', 1: () => 'of 1' }
    const load = () => 'loaded'
    await before.set('k', 'v', { version: 1, ttl: '1m', grace: '1h' })
    await before.set('l', 'v', { version: 2 })
    expect(await after.getOrLoad('k', load, { migrate })).toBe('of 1')
    expect(await after.getOrLoad('l', load, { migrate })).toBe('of 2')
    expect(await after.getOrLoad('m', load, { migrate })).toBe('loaded')
    await before.set('n', 'v', { version: 1, ttl: '1m', grace: '1h' })
    await clock.advance(61_000)
    expect(await after.getOrLoad('n', load, { migrate })).toBe('loaded')
  })

  test('does not bring back what was invalidated, before it or meanwhile', async () => {
    const { before, after, other } = rollout()
    await before.set('k', 5)
    await other.invalidate('k')
    expect(await after.getOrLoad('k', () => 'new', { migrate: { 1: euro } })).toBe('new')
    await before.set('l', 5)
    const migrations: ((value: unknown) => void)[] = []
    const migrate = { 1: () => new Promise<unknown>((resolve) => migrations.push(resolve)) }
    const answer = await asked(after.getOrLoad('l', () => 'new', { migrate }))
    await other.invalidate('l')
    migrations[0]?.('too old')
    await settled()
    expect(answer).toEqual(valued('new'))
  })

  test('is not asked by a refresh, nor while there is a stale value of the version', async () => {
    const { before, after, clock } = rollout({ grace: '1h' })
    await before.set('k', 5)
    expect(await after.refresh('k', () => 'refreshed', { migrate: { 1: euro } })).toBe('refreshed')
    await before.set('l', 5, { ttl: '1h' })
    await after.getOrLoad('l', () => 'loaded', { ttl: '1m' })
    await clock.advance(61_000)
    const options = { migrate: { 1: euro }, softTimeout: '1h' }
    expect(await after.getOrLoad('l', () => 'loaded again', options as object)).toBe('loaded again')
  })

  test.for<[string, () => unknown]>([
    ['throws', never],
    ['makes what does not pass the schema', () => ({ price: 'five' })],
  ])('has the value loaded if it %s, and says so', async ([, migration]) => {
    const { before, after } = rollout()
    const schema = z.object({ price: z.number() })
    const garbage = told(after, 'garbage')
    await before.set('k', 5)
    const options = { schema, migrate: { 1: migration as () => { price: number } } }
    expect(await after.getOrLoad('k', () => ({ price: 6 }), options)).toEqual({ price: 6 })
    expect(garbage).toMatchObject([{ cause: expect.any(Error) }])
  })

  test('is not given an error that was the answer', async () => {
    const { before, after } = rollout({ errorKind: () => 'answer' })
    await expect(before.getOrLoad('k', never)).rejects.toThrow('the loader ran')
    expect(await after.getOrLoad('k', () => 'found', { migrate: { 1: euro } })).toBe('found')
  })

  test('has the value loaded while the store is away', async () => {
    const { a, ways, clock } = fleet({ version: 2 })
    ways.a.mode = 'failing'
    const answer = await asked(a.getOrLoad('k', () => 'loaded', { migrate: { 1: euro } }))
    await clock.advance(1_000)
    await settled()
    expect(answer).toEqual(valued('loaded'))
  })

  test('is refused without a version, and unless it is functions by version', async () => {
    const { a } = fleet()
    await expect(a.getOrLoad('k', () => 1, { migrate: { 1: () => 1 } })).rejects.toThrow(
      'Expected `migrate` beside a `version`, got none in the options of getOrLoad and of the cache',
    )
    const { after } = rollout()
    const bad = (migrate: unknown) =>
      after.getOrLoad('k', () => 1, { migrate: migrate as Record<string, () => number> })
    await expect(bad(null)).rejects.toThrow(TypeError)
    await expect(bad({ 1: 5 })).rejects.toThrow('Expected `migrate["1"]` to be a function, got 5 (number)')
    await expect(bad({ 'a b': () => 1 })).rejects.toThrow(/^Expected `a version in migrate` to be/)
  })
})

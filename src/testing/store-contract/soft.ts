import { strict as assert } from 'node:assert'
import type { Entry, Invalidation, Store } from '../../core/contract/store.ts'
import { changedWhileLoaded } from './changed-while-loaded.ts'
import { expected, failure, found, gone, holds, value, type ContractTest, type Scene } from './scene.ts'

/** How much a store may be wrong about the time, in milliseconds: it may go by the clock of a server. */
const doubt = 1_000

/** Asserts that an entry has this text and is stale: its grace has begun, and ends after `grace` milliseconds. */
function stale(entry: Entry | null, text: string, grace: number): void {
  holds(entry, text)
  const { freshFor, staleFor } = found(entry)
  assert(freshFor <= 0, `it is fresh for another ${freshFor} ms`)
  assert(staleFor > 0 && staleFor <= grace + doubt, `it may be served stale for ${staleFor} of ${grace} ms`)
  assert(Math.abs(staleFor - freshFor - grace) < doubt, `its grace is ${staleFor - freshFor} of ${grace} ms`)
}

/** The ways to make a value stale: by its key, and by one of its tags. */
interface Way {
  readonly by: string
  readonly soften: (store: Store, key: string, tag: string, how?: Invalidation) => Promise<void>
}

const ways: readonly Way[] = [
  { by: 'its key', soften: (store, key, _, how = 'soft') => store.invalidate(key, how) },
  { by: 'its tag', soften: (store, _, tag, how = 'soft') => store.invalidateTags([tag], how) },
]

/** The same test for each way. */
function each(title: string, run: (scene: Scene, way: Way) => Promise<void>): ContractTest[] {
  return ways.map((way) => ({ title: title.replace('$by', way.by), run: (scene) => run(scene, way) }))
}

/** Soft invalidations: the value stays, and is stale from then on. */
export const soft: readonly ContractTest[] = [
  ...each('a soft invalidation by $by makes a value stale, loaded or set, for whoever reads it', async (scene, way) => {
    const [loaded, set, tag] = [scene.key(), scene.key(), scene.key()]
    await scene.load(scene.a, loaded, value('v', { tags: [tag], grace: 40_000 }))
    await scene.set(scene.a, set, value('v', { tags: [scene.key(), tag], grace: 40_000 }))
    for (const key of [loaded, set]) {
      holds(await scene.b.read(key), 'v')
      await way.soften(scene.a, key, tag)
      for (const store of scene.stores) {
        for (const said of [[tag], [scene.key()], undefined]) stale(await store.read(key, said), 'v', 40_000)
      }
    }
  }),
  ...each(
    'after a soft invalidation by $by one claim wins the lease, and all are given the value',
    async (scene, way) => {
      const [key, tag] = [scene.key(), scene.key()]
      await scene.load(scene.a, key, value('old', { tags: [tag], grace: 40_000 }))
      await way.soften(scene.b, key, tag)
      const unwanted = found(await scene.a.read(key)).token
      const first = expected(await scene.claim(scene.a, key, { unwanted }), 'lease')
      stale(first.stale, 'old', 40_000)
      for (const store of scene.stores) {
        for (const more of [{}, { unwanted }]) {
          const wait = await scene.wait(store, key, more)
          assert.equal(wait.token, first.lease.token)
          stale(wait.stale, 'old', 40_000)
          wait.leave()
        }
      }
      assert.equal(await scene.a.fill(first.lease, value('new', { tags: [tag] })), true)
      holds(expected(await scene.claim(scene.b, key), 'fresh').entry, 'new')
      assert(found(await scene.b.read(key)).freshFor > 0, 'the new value is fresh')
    },
  ),
  ...each('a value without a grace counts as missing after a soft invalidation by $by', async (scene, way) => {
    const [key, tag] = [scene.key(), scene.key()]
    const { token } = await scene.load(scene.a, key, value('v', { tags: [tag] }))
    await way.soften(scene.b, key, tag)
    for (const store of scene.stores) gone(await store.read(key))
    assert.equal(expected(await scene.claim(scene.b, key, { awaited: token, known: token }), 'lease').stale, null)
  }),
  ...each(
    'a load that began before a soft invalidation by $by cannot make the value fresh (rule 4)',
    async (scene, way) => {
      for (const grace of [0, 40_000]) {
        const [key, tag] = [scene.key(), scene.key()]
        const { token } = await scene.load(scene.a, key, value('old', { tags: [tag], grace }))
        const lease = await scene.lease(scene.a, key, { unwanted: token })
        const wait = await scene.wait(scene.b, key, { unwanted: token })
        await way.soften(scene.b, key, tag)
        assert.equal(await scene.a.fill(lease, value('too old', { tags: [tag] })), false)
        assert.equal(await scene.a.fail(lease, failure, 60_000, [tag]), false)
        if (scene.pushes) assert.equal((await scene.outcome(wait)).state, 'again')
        wait.leave()
        if (grace > 0) stale(await scene.b.read(key), 'old', grace)
        else gone(await scene.b.read(key))
        const next = await scene.lease(scene.b, key, { unwanted: token })
        assert.equal(await scene.b.fill(next, value('new', { tags: [tag] })), true)
        holds(expected(await scene.claim(scene.a, key), 'fresh').entry, 'new')
      }
    },
  ),
  ...each('a value is not the outcome of its load any more after a soft invalidation by $by', async (scene, way) => {
    const [key, tag] = [scene.key(), scene.key()]
    const { token } = await scene.load(scene.a, key, value('v', { tags: [tag], grace: 40_000 }))
    await way.soften(scene.b, key, tag)
    assert.equal(found(await scene.a.read(key)).outdated, true)
    const claim = expected(await scene.claim(scene.a, key, { awaited: token, known: token }), 'lease')
    assert(claim.stale === null || claim.stale.freshFor <= 0, 'it is stale at best')
  }),
  ...each('a soft invalidation by $by ends a cool-down', async (scene, way) => {
    const [key, tag] = [scene.key(), scene.key()]
    const lease = await scene.lease(scene.a, key)
    assert.equal(await scene.a.fail(lease, failure, 60_000, [tag]), true)
    expected(await scene.claim(scene.b, key), 'failed')
    await way.soften(scene.b, key, tag)
    await scene.lease(scene.a, key, { awaited: lease.token })
  }),
  ...each('after a soft and a hard invalidation by $by, in any order, no old value is served', async (scene, way) => {
    const harden = (store: Store, key: string, tag: string): Promise<void> =>
      way.by === 'its key' ? store.invalidate(key) : store.invalidateTags([tag])
    for (const order of [
      [way.soften, harden],
      [harden, way.soften],
      [way.soften, harden, way.soften],
    ]) {
      const [key, tag] = [scene.key(), scene.key()]
      await scene.load(scene.a, key, value('v', { tags: [tag], grace: 40_000 }))
      for (const invalidate of order) await invalidate(scene.a, key, tag)
      for (const store of scene.stores) gone(await store.read(key))
      assert.equal(expected(await scene.claim(scene.b, key), 'lease').stale, null)
    }
  }),
  ...each('after each of several soft invalidations by $by a new load is fresh', async (scene, way) => {
    const [key, tag] = [scene.key(), scene.key()]
    for (let round = 0; round < 4; round++) {
      const store = round % 2 === 0 ? scene.a : scene.b
      await way.soften(store, key, tag)
      const token = (await scene.b.read(key))?.token
      const lease = await scene.lease(store, key, { unwanted: token })
      assert.equal(await store.fill(lease, value(`v${round}`, { tags: [tag], grace: 40_000 })), true)
      const entry = found(await scene.b.read(key))
      holds(entry, `v${round}`)
      assert(entry.freshFor > 0, 'it is fresh')
    }
  }),
  {
    title: 'a second soft invalidation of a key does not lengthen its grace, nor does one of a stale value',
    async run(scene) {
      const key = scene.key()
      for (const first of [value('v', { grace: 40_000 }), value('v', { ttl: 1, grace: 40_000 })]) {
        await scene.set(scene.a, key, first)
        await scene.until('it is stale', async () => {
          if (first.ttl > 1) await scene.a.invalidate(key, 'soft')
          return found(await scene.a.read(key)).freshFor < -50 || undefined
        })
        await scene.b.invalidate(key, 'soft')
        const { freshFor, staleFor } = found(await scene.b.read(key))
        assert(freshFor < -25 && staleFor < 39_975, `it is stale since ${-freshFor} ms, and for another ${staleFor} ms`)
      }
    },
  },
  {
    title: 'a key that was never there can be softly invalidated, and so can a tag',
    async run(scene) {
      const [key, tag] = [scene.key(), scene.key()]
      await scene.a.invalidate(key, 'soft')
      await scene.a.invalidateTags([tag], 'soft')
      assert.equal(await scene.b.read(key), null)
      await scene.load(scene.b, key, value('v', { tags: [tag] }))
      holds(expected(await scene.claim(scene.a, key), 'fresh').entry, 'v')
    },
  },
  {
    title: 'a fill that is sent twice, with a soft invalidation in between, leaves the value stale',
    async run(scene) {
      const key = scene.key()
      const lease = await scene.load(scene.a, key, value('v', { grace: 40_000 }))
      await scene.b.invalidate(key, 'soft')
      await scene.a.fill(lease, value('v', { grace: 40_000 }))
      stale(await scene.b.read(key), 'v', 40_000)
    },
  },
  {
    title: 'a soft invalidation makes nothing stale but its key, or what has one of its tags',
    async run(scene) {
      const [key, other, tag, another] = [scene.key(), scene.key(), scene.key(), scene.key()]
      await scene.load(scene.a, key, value('v', { tags: [tag, another], grace: 40_000 }))
      await scene.load(scene.a, other, value('v', { tags: [another], grace: 40_000 }))
      await scene.b.invalidate(scene.key(), 'soft')
      await scene.b.invalidateTags([scene.key(), tag], 'soft')
      stale(await scene.b.read(key), 'v', 40_000)
      assert(found(await scene.b.read(other)).freshFor > 0, 'the other is fresh')
    },
  },
  {
    title: 'a value that a hard invalidation of one tag has voided stays void after a soft one of another',
    async run(scene) {
      const [key, hard, softly] = [scene.key(), scene.key(), scene.key()]
      await scene.load(scene.a, key, value('v', { tags: [softly, hard], grace: 40_000 }))
      await scene.a.invalidateTags([hard])
      await scene.a.invalidateTags([softly], 'soft')
      for (const store of scene.stores) gone(await store.read(key))
    },
  },
  ...each('a soft invalidation by $by with a bound ends the life of a value, and no later', async (scene, way) => {
    for (const [within, served] of [
      [20_000, 20_000],
      [60_000, 40_000],
    ] as const) {
      const [key, tag] = [scene.key(), scene.key()]
      await scene.load(scene.a, key, value('v', { tags: [tag], grace: 40_000 }))
      await way.soften(scene.b, key, tag, within)
      for (const store of scene.stores) {
        const { freshFor, staleFor } = found(await store.read(key))
        assert(freshFor <= 0, `it is fresh for another ${freshFor} ms`)
        assert(Math.abs(staleFor - served) < doubt, `it may be served for ${staleFor} of ${served} ms`)
      }
    }
  }),
  ...each('a bound of a soft invalidation by $by holds, whatever a later one says', async (scene, way) => {
    for (const within of ['soft', 30_000, 10_000] as const) {
      const [key, tag] = [scene.key(), scene.key()]
      await scene.load(scene.a, key, value('v', { tags: [tag], grace: 40_000 }))
      await way.soften(scene.b, key, tag, 20_000)
      await way.soften(scene.a, key, tag, within)
      const { staleFor } = found(await scene.b.read(key))
      const most = within === 10_000 ? within : 20_000
      assert(Math.abs(staleFor - most) < doubt, `it may be served for ${staleFor} of ${most} ms`)
    }
  }),
  ...each('a value is gone at the bound of a soft invalidation by $by, also after a later one', async (scene, way) => {
    const [key, tag] = [scene.key(), scene.key()]
    await scene.load(scene.a, key, value('v', { tags: [tag], grace: 40_000 }))
    await way.soften(scene.b, key, tag, 50)
    await scene.until('it is gone', async () => {
      const entry = await scene.a.read(key)
      return entry === null || entry.staleFor <= 0 || undefined
    })
    assert.equal(expected(await scene.claim(scene.b, key), 'lease').stale, null)
    await way.soften(scene.a, key, tag)
    for (const store of scene.stores) gone(await store.read(key))
  }),
  {
    title: 'many expire and load at once, and no value is fresh whose load began before a soft invalidation',
    async run(scene) {
      let round = 0
      const soften: Way['soften'] = (store, key, tag) => (ways[round++ % 2] as Way).soften(store, key, tag)
      await changedWhileLoaded(scene, { grace: 40_000, change: (key, tag) => soften(scene.a, key, tag) })
    },
  },
]

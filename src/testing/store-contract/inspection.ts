import { strict as assert } from 'node:assert'
import type { Inspection, SeenLease, Store } from '../../core/contract/store.ts'
import { expected, failure, found, holds, value, type ContractTest, type Scene } from './scene.ts'

/** The operations of operators on a store. */
export const inspection: readonly ContractTest[] = [
  {
    title: 'of a key that nobody has asked for nothing is known, and looking leaves it so',
    async run(scene) {
      const key = scene.key()
      for (const store of scene.stores) {
        const nothing = { entry: null, voidedBy: [], softenedBy: [], lease: null, rest: null }
        assert.deepEqual(await of(store).look(key), nothing)
      }
      const { stale } = expected(await scene.claim(scene.a, key), 'lease')
      assert.equal(stale, null)
    },
  },
  {
    title: 'a value is seen with its tags, and which of them void it',
    async run(scene) {
      const [key, kept, gone] = [scene.key(), scene.key('kept'), scene.key('gone')]
      await scene.load(scene.a, key, value('v', { tags: [kept, gone], loadTime: 7, ttl: 30_000, grace: 1_000 }))
      const before = await of(scene.b).look(key)
      holds(before.entry, 'v')
      const { tags, loadTime, freshFor, staleFor } = found(before.entry)
      assert.deepEqual([tags, loadTime, before.voidedBy, before.lease], [[kept, gone], 7, [], null])
      assert(freshFor > 0 && freshFor <= 30_000 && staleFor > freshFor, `${freshFor} and ${staleFor} ms are left`)
      await scene.a.invalidateTags([gone])
      const after = await of(scene.b).look(key)
      holds(after.entry, 'v')
      assert.deepEqual(after.voidedBy, [gone])
    },
  },
  {
    title: 'a value is seen with the tags that have made it stale, and with what is left of its grace',
    async run(scene) {
      const [key, kept, tag] = [scene.key(), scene.key('kept'), scene.key('tag')]
      await scene.load(scene.a, key, value('v', { tags: [kept, tag], grace: 40_000 }))
      await scene.a.invalidateTags([tag], 'soft')
      const { entry, voidedBy, softenedBy } = await of(scene.b).look(key)
      const { freshFor, staleFor } = found(entry)
      assert.deepEqual([voidedBy, softenedBy], [[], [tag]])
      assert(freshFor <= 0 && staleFor > 0 && staleFor <= 41_000, `${freshFor} and ${staleFor} ms are left`)
      await scene.a.invalidateTags([kept])
      const after = await of(scene.b).look(key)
      assert.deepEqual([after.voidedBy, after.softenedBy], [[kept], [tag]])
    },
  },
  {
    title: 'a value that has expired is seen as what it is, or not at all',
    async run(scene) {
      const key = scene.key()
      await scene.load(scene.a, key, value('v', { ttl: 1, grace: 0 }))
      await scene.until('its ttl ends', async () => {
        const read = await scene.a.read(key)
        return read === null || read.freshFor <= 0 || undefined
      })
      const { entry } = await of(scene.b).look(key)
      if (entry !== null) assert(entry.freshFor <= 0 && entry.staleFor <= 0, 'it has expired')
    },
  },
  {
    title: 'a lease is seen with its holder, its fence, its renewals, and how long it has been held',
    async run(scene) {
      const key = scene.key()
      const lease = await scene.lease(scene.a, key, { holder: '42@host-é', context: 'c', leaseTtl: 30_000 })
      const first = await held(scene.b, key)
      assert.deepEqual(
        [first.key, first.token, first.fence, first.holder, first.context, first.renewals],
        [key, lease.token, lease.fence, '42@host-é', 'c', 0],
      )
      assert(first.left > 0 && first.left <= 30_000 && first.age >= 0, `${first.age} and ${first.left} ms`)
      assert.deepEqual(await Promise.all(scene.a.renew([lease])), [true])
      assert.deepEqual(await Promise.all(scene.a.renew([lease])), [true])
      const later = await scene.until('its age grows', async () => {
        const seen = await held(scene.b, key)
        return seen.age > first.age ? seen : undefined
      })
      assert.equal(later.renewals, 2)
      await scene.a.release(lease)
      assert.equal((await of(scene.b).look(key)).lease, null)
    },
  },
  {
    title: 'a lease that nobody has put a name to has none, nor the renewals of the one before',
    async run(scene) {
      const key = scene.key()
      const first = await scene.lease(scene.a, key, { holder: 'first' })
      await Promise.all(scene.a.renew([first]))
      await scene.a.fail(first, failure, 0)
      const { token } = await scene.lease(scene.b, key)
      const seen = await held(scene.a, key)
      assert.deepEqual([seen.token, seen.holder, seen.context, seen.renewals], [token, '', '', 0])
    },
  },
  {
    title: 'of a lease is known how many processes wait, unless nobody can know',
    async run(scene) {
      const key = scene.key()
      await scene.lease(scene.a, key)
      const { waiting } = await held(scene.a, key)
      if (waiting === null || !scene.pushes) return
      assert.equal(waiting, 0)
      await scene.wait(scene.b, key)
      assert.equal((await held(scene.a, key)).waiting, 1)
    },
  },
  {
    title: 'a failure is seen for its cool-down, and "do not queue" for its time',
    async run(scene) {
      const [failed, passed, over] = [scene.key(), scene.key(), scene.key()]
      await scene.a.fail(await scene.lease(scene.a, failed), failure, 30_000)
      await scene.a.pass(await scene.lease(scene.a, passed), 30_000)
      await scene.a.fail(await scene.lease(scene.a, over), failure, 0)
      const [first, second, third] = await Promise.all([failed, passed, over].map((key) => of(scene.b).look(key)))
      assert.deepEqual(first?.rest?.failure, failure)
      assert(first.rest.left > 0 && first.rest.left <= 30_000, `${first.rest.left} ms are left`)
      assert.equal(second?.rest?.failure, null)
      assert.deepEqual([first.lease, second.lease, third?.lease, third?.rest], [null, null, null, null])
    },
  },
  {
    title: 'a lease that is broken is free at once, and its load writes nothing',
    async run(scene) {
      const key = scene.key()
      await scene.load(scene.a, key, value('old', { ttl: 1, grace: 60_000 }))
      const { lease } = await scene.claimUntil(scene.a, key, 'lease')
      assert.equal(await of(scene.b).breakLease(key, lease.token), true)
      assert.equal(await of(scene.b).breakLease(key, lease.token), false)
      assert.deepEqual(await Promise.all(scene.a.renew([lease])), [false])
      const next = expected(await scene.claim(scene.b, key), 'lease')
      // A broken lease leaves the value.
      holds(next.stale, 'old')
      assert.equal(await scene.a.fill(lease, value('late')), false)
      assert.equal(await scene.b.fill(next.lease, value('new')), true)
      holds(await scene.a.read(key), 'new')
    },
  },
  {
    title: 'a lease of another token is not broken, nor anything but a lease',
    async run(scene) {
      const [key, failed] = [scene.key(), scene.key()]
      const lease = await scene.lease(scene.a, key)
      assert.equal(await of(scene.b).breakLease(key, scene.token()), false)
      assert.equal(await of(scene.b).breakLease(scene.key(), lease.token), false)
      assert.equal(await scene.a.fill(lease, value('v')), true)
      assert.equal(await of(scene.b).breakLease(key, lease.token), false)
      holds(await scene.b.read(key), 'v')
      const over = await scene.lease(scene.a, failed)
      await scene.a.fail(over, failure, 30_000)
      assert.equal(await of(scene.b).breakLease(failed, over.token), false)
      expected(await scene.claim(scene.b, failed), 'failed')
    },
  },
]

/** The same operations on a store with push. */
export const brokenLeases: readonly ContractTest[] = [
  {
    title: 'who waits for a lease that is broken is told to ask again, and so is its holder',
    async run(scene) {
      const key = scene.key()
      const lease = await scene.lease(scene.a, key)
      const wait = await scene.wait(scene.b, key)
      assert.equal(await of(scene.b).breakLease(key, lease.token), true)
      expected(await scene.outcome(wait), 'again')
      await scene.inTime(lease.lost, 'the holder is told')
    },
  },
]

/** The same operations on a store that lists leases. */
export const listedLeases: readonly ContractTest[] = [
  {
    title: 'the leases that are held are listed, each once, and nothing else',
    async run(scene) {
      const some = Array.from({ length: 20 }, () => scene.key('*?[a]\\'))
      const tokens = new Map<string, string>()
      for (const key of some) tokens.set(key, (await scene.lease(scene.a, key)).token)
      await scene.a.fail(await scene.lease(scene.a, scene.key()), failure, 30_000)
      await scene.load(scene.a, scene.key(), value('v'))
      for (const store of scene.stores) {
        const listed = await list(scene, store, scene.prefix)
        assert.deepEqual(new Map(listed.map(({ key, token }) => [key, token])), tokens)
        assert.equal(listed.length, some.length)
      }
      const [one] = some
      assert.deepEqual(
        (await list(scene, scene.b, one as string)).map(({ key }) => key),
        [one],
      )
      assert.deepEqual(await list(scene, scene.b, `${scene.prefix}another`), [])
    },
  },
  {
    title: 'the keys that have a load or its outcome are listed, and those that have a value',
    async run(scene) {
      const [underWay, failed] = [scene.key('*?[a]\\'), scene.key()]
      const [loaded, written] = [scene.key(), scene.key()]
      await scene.lease(scene.a, underWay)
      await scene.a.fail(await scene.lease(scene.a, failed), failure, 30_000)
      await scene.load(scene.a, loaded, value('v', { tags: [scene.key('tag')] }))
      await scene.set(scene.a, written, value('v'))
      for (const store of scene.stores) {
        assert.deepEqual(new Set(await names(scene, store, 'loads')), new Set([underWay, failed]))
        assert.deepEqual(new Set(await names(scene, store, 'values')), new Set([loaded, written]))
      }
    },
  },
]

async function names(scene: Scene, store: Store, what: 'loads' | 'values'): Promise<string[]> {
  const steps = of(store).names?.(scene.prefix, what)
  assert(steps !== undefined, 'Expected an inspection that lists keys, or `inspects` to be keys')
  const all: string[] = []
  for (;;) {
    const step = await scene.inTime(steps.next(), 'a step of the listing is answered')
    if (step.done === true) return all
    all.push(...step.value)
  }
}

function of(store: Store): Inspection {
  assert(store.inspection !== undefined, 'Expected a store with an inspection, or `inspects` to be none')
  return store.inspection
}

async function held(store: Store, key: string): Promise<SeenLease> {
  const { lease } = await of(store).look(key)
  assert(lease !== null, 'the lease is seen')
  return lease
}

async function list(scene: Scene, store: Store, prefix: string): Promise<SeenLease[]> {
  const steps = of(store).leases?.(prefix)
  assert(steps !== undefined, 'Expected an inspection that lists leases, or `inspects` to be keys')
  const all: SeenLease[] = []
  for (;;) {
    const step = await scene.inTime(steps.next(), 'a step of the listing is answered')
    if (step.done === true) return all
    all.push(...step.value)
  }
}

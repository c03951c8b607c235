import { strict as assert } from 'node:assert'
import { expected, failure, found, holds, value, type ContractTest } from './scene.ts'

/** Values that are set and deleted without a load. */
export const overwrites: readonly ContractTest[] = [
  {
    title: 'a value that is set is there for everybody, with its token and times',
    async run(scene) {
      const key = scene.key()
      const token = await scene.set(scene.a, key, value('v', { ttl: 100_000, grace: 50_000 }))
      for (const store of scene.stores) {
        const entry = found(await store.read(key))
        assert.deepEqual([entry.payload.toString(), entry.token], ['v', token])
        assert(entry.freshFor > 90_000 && entry.freshFor < 101_000, `it is fresh for ${entry.freshFor} of 100000 ms`)
        assert(
          Math.abs(entry.staleFor - entry.freshFor - 50_000) < 1,
          `its grace is ${entry.staleFor - entry.freshFor} ms`,
        )
        holds(expected(await scene.claim(store, key), 'fresh').entry, 'v')
      }
    },
  },
  {
    title: 'a value that is set takes the place of a loaded one, fresh or stale, and of another that was set',
    async run(scene) {
      const key = scene.key()
      await scene.load(scene.a, key, value('loaded'))
      await scene.set(scene.b, key, value('set'))
      holds(await scene.a.read(key), 'set')
      await scene.set(scene.a, key, value('set again', { ttl: 1, grace: 60_000 }))
      const { stale } = await scene.claimUntil(scene.b, key, 'lease')
      holds(stale, 'set again')
      await scene.set(scene.b, key, value('fresh again'))
      holds(expected(await scene.claim(scene.a, key), 'fresh').entry, 'fresh again')
    },
  },
  {
    title: 'a value that was invalidated is there for nobody, fresh or stale (rule 4)',
    async run(scene) {
      for (const written of [value('v'), value('v', { ttl: 1, grace: 60_000 })]) {
        const key = scene.key()
        await scene.load(scene.a, key, written)
        await scene.b.invalidate(key)
        assert.equal(await scene.a.read(key), null)
        assert.equal(expected(await scene.claim(scene.a, key), 'lease').stale, null)
      }
    },
  },
  {
    title: 'a key that was never there can be invalidated',
    async run(scene) {
      const key = scene.key()
      await scene.a.invalidate(key)
      await scene.a.invalidate(key)
      assert.equal(await scene.b.read(key), null)
      await scene.lease(scene.b, key)
    },
  },
  {
    title: 'an invalidation or a set frees the key at once from a load under way (rule 4)',
    async run(scene) {
      const key = scene.key()
      await scene.lease(scene.a, key)
      await scene.b.invalidate(key)
      const next = await scene.lease(scene.b, key)
      assert.equal((await scene.wait(scene.a, key)).token, next.token)
      await scene.set(scene.a, key, value('set'))
      holds(expected(await scene.claim(scene.b, key), 'fresh').entry, 'set')
    },
  },
  {
    title: 'an invalidation or a set ends a cool-down, and the time in which nobody queues',
    async run(scene) {
      for (const overwrite of ['invalidate', 'set'] as const) {
        for (const end of ['fail', 'pass'] as const) {
          const key = scene.key()
          const lease = await scene.lease(scene.a, key)
          await (end === 'fail' ? scene.a.fail(lease, failure, 60_000) : scene.a.pass(lease, 60_000))
          expected(await scene.claim(scene.b, key), end === 'fail' ? 'failed' : 'pass')
          if (overwrite === 'invalidate') {
            await scene.b.invalidate(key)
            await scene.lease(scene.a, key)
          } else {
            await scene.set(scene.b, key, value('set'))
            expected(await scene.claim(scene.a, key), 'fresh')
          }
        }
      }
    },
  },
  {
    title: 'one key is no other: what happens to it leaves its neighbours alone',
    async run(scene) {
      const [one, other] = [scene.key('k'), scene.key('k')]
      await scene.load(scene.a, one, value('one'))
      const lease = await scene.lease(scene.a, other)
      await scene.b.invalidate(one)
      assert.equal(await scene.a.fill(lease, value('other')), true)
      assert.equal(await scene.a.read(one), null)
      holds(await scene.b.read(other), 'other')
    },
  },
]

import { strict as assert } from 'node:assert'
import { changedWhileLoaded } from './changed-while-loaded.ts'
import { expected, failure, found, gone, holds, value, type ContractTest } from './scene.ts'

/** The values that an invalidation of tags voids, and those that it does not. */
export const tags: readonly ContractTest[] = [
  {
    title: 'a value whose tag is invalidated is void for whoever reads or claims it, loaded or set (rule 4)',
    async run(scene) {
      const [loaded, set, tag] = [scene.key(), scene.key(), scene.key()]
      await scene.load(scene.a, loaded, value('v', { tags: [tag], grace: 60_000 }))
      await scene.set(scene.a, set, value('v', { tags: [scene.key(), tag], grace: 60_000 }))
      for (const key of [loaded, set]) {
        // With the tags given, with others, and without; then again, when the store knows them.
        for (const said of [[tag], [scene.key()], [], undefined, undefined]) {
          holds(await scene.b.read(key, said), 'v')
        }
        holds(expected(await scene.claim(scene.b, key), 'fresh').entry, 'v')
      }
      await scene.a.invalidateTags([tag])
      for (const key of [loaded, set]) {
        for (const store of scene.stores) {
          for (const said of [[tag], [scene.key()], undefined]) gone(await store.read(key, said))
        }
        assert.equal(expected(await scene.claim(scene.b, key), 'lease').stale, null)
      }
    },
  },
  {
    title: 'whoever waits is not served what a tag has voided, even if it waits for that very value',
    async run(scene) {
      const [key, tag] = [scene.key(), scene.key()]
      const { token } = await scene.load(scene.a, key, value('v', { tags: [tag], grace: 60_000 }))
      await scene.b.invalidateTags([tag])
      const claim = expected(await scene.claim(scene.b, key, { awaited: token, known: token }), 'lease')
      assert.equal(claim.stale, null)
      const wait = await scene.wait(scene.a, key)
      assert.equal(wait.stale, null)
      wait.leave()
    },
  },
  {
    title: 'a load that began before an invalidation of its tag cannot fill, and those who wait ask again (rule 4)',
    async run(scene) {
      const [key, tag] = [scene.key(), scene.key()]
      const lease = await scene.lease(scene.a, key)
      const wait = await scene.wait(scene.b, key)
      await scene.b.invalidateTags([scene.key(), tag])
      assert.equal(await scene.a.fill(lease, value('too old', { tags: [scene.key(), tag] })), false)
      gone(await scene.b.read(key))
      if (scene.pushes) assert.equal((await scene.outcome(wait)).state, 'again')
      wait.leave()
      await scene.load(scene.b, key, value('new', { tags: [tag] }))
      holds(await scene.a.read(key), 'new')
    },
  },
  {
    title: 'an error whose tag is invalidated is no answer any more, for new callers and for waiters (rule 4)',
    async run(scene) {
      const [key, other, tag] = [scene.key(), scene.key(), scene.key()]
      const lease = await scene.lease(scene.a, key)
      assert.equal(await scene.a.fail(lease, failure, 60_000, [scene.key(), tag]), true)
      assert.equal(await scene.a.fail(await scene.lease(scene.a, other), failure, 60_000, [scene.key()]), true)
      assert.deepEqual(expected(await scene.claim(scene.b, key), 'failed').failure, failure)
      await scene.b.invalidateTags([tag])
      for (const store of scene.stores) assert.equal((await store.inspection?.look(key))?.rest ?? null, null)
      const next = await scene.lease(scene.b, key, { awaited: lease.token })
      assert.equal(await scene.b.fail(next, { ...failure, message: 'again' }, 60_000, [tag]), true)
      assert.equal(expected(await scene.claim(scene.a, key), 'failed').failure.message, 'again')
      assert.deepEqual(expected(await scene.claim(scene.a, other), 'failed').failure, failure)
    },
  },
  {
    title: 'an error is lifted although the value that it was to replace is still fresh',
    async run(scene) {
      const [key, tag] = [scene.key(), scene.key()]
      const { token } = await scene.load(scene.a, key, value('v'))
      const lease = await scene.lease(scene.a, key, { unwanted: token })
      assert.equal(await scene.a.fail(lease, failure, 60_000, [tag]), true)
      expected(await scene.claim(scene.b, key, { unwanted: token }), 'failed')
      await scene.b.invalidateTags([tag])
      await scene.lease(scene.b, key, { unwanted: token })
      holds(expected(await scene.claim(scene.a, key), 'fresh').entry, 'v')
    },
  },
  {
    title: 'a load that began before an invalidation of its tag cannot fail, and its waiters ask again (rule 4)',
    async run(scene) {
      const [key, tag] = [scene.key(), scene.key()]
      const lease = await scene.lease(scene.a, key)
      const wait = await scene.wait(scene.b, key)
      await scene.b.invalidateTags([scene.key(), tag])
      assert.equal(await scene.a.fail(lease, failure, 60_000, [scene.key(), tag]), false)
      if (scene.pushes) assert.equal((await scene.outcome(wait)).state, 'again')
      wait.leave()
      const next = await scene.lease(scene.b, key)
      const told = await scene.wait(scene.a, key)
      assert.equal(await scene.b.fail(next, failure, 60_000, [tag]), true)
      if (scene.pushes) assert.deepEqual(await scene.outcome(told), { state: 'failed', failure })
      told.leave()
    },
  },
  {
    title: 'a load that begins after an invalidation of its tag fills, again and again',
    async run(scene) {
      const [key, tag] = [scene.key(), scene.key()]
      for (let round = 0; round < 5; round++) {
        const store = round % 2 === 0 ? scene.a : scene.b
        await store.invalidateTags([tag])
        await scene.load(scene.a, key, value(`v${round}`, { tags: [tag] }))
        holds(await scene.b.read(key), `v${round}`)
      }
    },
  },
  {
    title: 'an invalidation voids nothing but what has one of its tags',
    async run(scene) {
      const [key, other, none, tag, another] = [scene.key(), scene.key(), scene.key(), scene.key(), scene.key()]
      await scene.load(scene.a, key, value('v', { tags: [tag, another] }))
      await scene.load(scene.a, other, value('v', { tags: [another] }))
      await scene.load(scene.a, none, value('v'))
      const [leaseOfOther, leaseOfNone] = [
        await scene.lease(scene.a, scene.key()),
        await scene.lease(scene.a, scene.key()),
      ]
      await scene.b.invalidateTags([scene.key(), tag])
      gone(await scene.b.read(key))
      for (const kept of [other, none]) holds(await scene.b.read(kept), 'v')
      assert.equal(await scene.a.fill(leaseOfOther, value('v', { tags: [another] })), true)
      assert.equal(await scene.a.fill(leaseOfNone, value('v')), true)
    },
  },
  {
    title: 'a value with tags comes back as it is, with them: read, claimed, or out of a message',
    async run(scene) {
      const names = ['', ' ', '{}', '}{', ':', 'ü', '💥', '"', '\\', 'x'.repeat(900)].map((rest) => scene.key(rest))
      const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)
      for (const inlineLimit of [65_536, 0]) {
        const key = scene.key()
        const lease = await scene.lease(scene.a, key)
        const wait = await scene.wait(scene.b, key)
        assert.equal(await scene.a.fill(lease, value(bytes, { tags: names, inlineLimit })), true)
        const entries = [
          await scene.b.read(key),
          expected(await scene.claim(scene.b, key), 'fresh').entry,
          ...(scene.pushes ? [await scene.filled(scene.b, key, wait)] : []),
        ]
        wait.leave()
        for (const entry of entries) {
          assert(found(entry).payload.equals(bytes), 'the bytes are the same')
          assert.deepEqual(found(entry).tags, names)
        }
      }
      const key = scene.key()
      await scene.load(scene.a, key, value(bytes))
      assert.deepEqual(found(await scene.b.read(key)).tags, [])
    },
  },
  {
    title: 'a value that is replaced has the tags of the new one only',
    async run(scene) {
      const [key, before, after] = [scene.key(), scene.key(), scene.key()]
      await scene.set(scene.a, key, value('before', { tags: [before] }))
      holds(await scene.b.read(key), 'before')
      await scene.set(scene.a, key, value('after', { tags: [after] }))
      await scene.a.invalidateTags([before])
      holds(await scene.b.read(key), 'after')
      await scene.a.invalidateTags([after])
      gone(await scene.b.read(key))
    },
  },
  {
    title: 'many invalidate and load at once, and no value is served whose load began before an invalidation',
    run: (scene) => changedWhileLoaded(scene, { grace: 0, change: (_, tag) => scene.a.invalidateTags([tag]) }),
  },
]

import { strict as assert } from 'node:assert'
import type { Lease, Wait } from '../../core/contract/store.ts'
import { expected, failure, holds, value, type ContractTest, type Scene } from './scene.ts'

/** Waiters on a store with push. */
export const outcomes: readonly ContractTest[] = [
  {
    title: 'everybody who waits is given the value, in the process of the holder and in others',
    async run(scene) {
      const key = scene.key()
      const lease = await scene.lease(scene.a, key)
      const asking = [...scene.stores, ...scene.stores]
      const waits = await Promise.all(asking.map((store) => scene.wait(store, key)))
      assert.equal(await scene.a.fill(lease, value('v')), true)
      for (const [index, wait] of waits.entries()) {
        const entry = await scene.filled(asking[index] ?? scene.a, key, wait)
        assert.deepEqual([entry.payload.toString(), entry.token], ['v', lease.token])
      }
    },
  },
  {
    title: 'everybody who waits is told the error (rule 5)',
    async run(scene) {
      const key = scene.key()
      const lease = await scene.lease(scene.a, key)
      const waits = await Promise.all(scene.stores.map((store) => scene.wait(store, key)))
      assert.equal(await scene.a.fail(lease, failure, 0), true)
      for (const wait of waits) assert.deepEqual(expected(await scene.outcome(wait), 'failed').failure, failure)
    },
  },
  {
    title: 'everybody who waits is told not to queue, when the result is not to be kept (rule 11)',
    async run(scene) {
      const key = scene.key()
      const lease = await scene.lease(scene.a, key)
      const waits = await Promise.all(scene.stores.map((store) => scene.wait(store, key)))
      assert.equal(await scene.a.pass(lease, 60_000), true)
      for (const wait of waits) expected(await scene.outcome(wait), 'pass')
    },
  },
  ...(
    [
      ['its holder releases the lease (rule 13)', (scene, lease) => scene.a.release(lease)],
      ['the key is invalidated (rule 4)', (scene, { key }) => scene.a.invalidate(key)],
      ['the key is set (rule 4)', (scene, { key }) => scene.set(scene.a, key, value('set'))],
    ] as const satisfies readonly (readonly [string, (scene: Scene, lease: Lease) => Promise<unknown>])[]
  ).map(([what, end]): ContractTest => ({
    title: `everybody who waits is told to ask again when ${what}`,
    async run(scene) {
      const key = scene.key()
      const lease = await scene.lease(scene.a, key)
      const waits = await Promise.all(scene.stores.map((store) => scene.wait(store, key)))
      await end(scene, lease)
      for (const wait of waits) expected(await scene.outcome(wait), 'again')
    },
  })),
  {
    title: 'a value that expires on its way is given to those who waited for it all the same (rule 6)',
    async run(scene) {
      const key = scene.key()
      const lease = await scene.lease(scene.a, key)
      const wait = await scene.wait(scene.b, key)
      assert.equal(await scene.a.fill(lease, value('v', { ttl: 1 })), true)
      const entry = expected(await scene.outcome(wait), 'filled').entry
      assert.deepEqual([entry.payload.toString(), entry.token], ['v', lease.token])
    },
  },
  {
    title: 'no outcome slips in between the question and the wait for it',
    async run(scene) {
      for (let round = 0; round < 100; round++) {
        const key = scene.key()
        const lease = await scene.lease(scene.a, key)
        const asked = [scene.claim(scene.b, key), scene.claim(scene.a, key)]
        const ended = round % 2 === 0 ? scene.a.fill(lease, value('v')) : scene.a.release(lease)
        const late = scene.claim(scene.b, key)
        assert.equal(await ended, true)
        const waits: Wait[] = []
        for (const claim of await Promise.all([...asked, late])) {
          if (claim.state === 'wait' && claim.token === lease.token) waits.push(claim)
          else if (claim.state === 'fresh') holds(claim.entry, 'v')
          else assert(claim.state === 'lease' || claim.state === 'wait', claim.state)
        }
        for (const wait of waits) {
          const { state } = await scene.outcome(wait)
          assert(round % 2 === 0 ? state === 'filled' || state === 'read' : state === 'again', state)
        }
      }
    },
  },
  {
    title: 'who leaves a wait takes nobody else with it, and may leave twice',
    async run(scene) {
      const key = scene.key()
      const lease = await scene.lease(scene.a, key)
      const [gone, stays, elsewhere] = [
        await scene.wait(scene.b, key),
        await scene.wait(scene.b, key),
        await scene.wait(scene.a, key),
      ]
      gone.leave()
      gone.leave()
      assert.equal(await scene.a.fill(lease, value('v')), true)
      holds(await scene.filled(scene.b, key, stays), 'v')
      holds(await scene.filled(scene.a, key, elsewhere), 'v')
      stays.leave()
    },
  },
  {
    title: 'who left a wait may wait for the same load again',
    async run(scene) {
      const key = scene.key()
      const lease = await scene.lease(scene.a, key)
      const first = await scene.wait(scene.b, key)
      first.leave()
      const again = await scene.wait(scene.b, key, { awaited: first.token })
      assert.equal(await scene.a.fill(lease, value('v')), true)
      holds(await scene.filled(scene.b, key, again), 'v')
    },
  },
  {
    title: 'the holder is told when its lease is voided, by another process or by its own (rule 3)',
    async run(scene) {
      for (const store of [scene.b, scene.a]) {
        const [invalidated, set] = [scene.key(), scene.key()]
        const leases = [await scene.lease(scene.a, invalidated), await scene.lease(scene.a, set)]
        await store.invalidate(invalidated)
        await store.set(set, scene.token(), value('set'))
        for (const { lost } of leases) await scene.inTime(lost, 'the holder is told')
      }
    },
  },
  {
    title: 'the holder is told nothing when its lease ends as it should',
    async run(scene) {
      const leases = []
      for (const end of ['fill', 'fail', 'pass', 'release', 'go on'] as const) {
        const lease = await scene.lease(scene.a, scene.key())
        leases.push(lease)
        const wait = await scene.wait(scene.b, lease.key)
        if (end === 'fill') await scene.a.fill(lease, value('v'))
        if (end === 'fail') await scene.a.fail(lease, failure, 0)
        if (end === 'pass') await scene.a.pass(lease, 1_000)
        if (end === 'release') await scene.a.release(lease)
        if (end === 'go on') await Promise.all(scene.a.renew([lease]))
        else await scene.outcome(wait)
        wait.leave()
      }
      const told = await Promise.race([
        ...leases.map(({ lost }) => lost.then(() => 'told')),
        scene.b.ping().then(() => 'nothing'),
      ])
      assert.equal(told, 'nothing')
    },
  },
]

/** Waiters on a store without push. */
export const askedAgain: readonly ContractTest[] = [
  {
    title: 'who waits and asks again finds the value, the error, "do not queue", or the lease',
    async run(scene) {
      const waiting = async (): Promise<{ key: string; lease: Lease }> => {
        const key = scene.key()
        const lease = await scene.lease(scene.a, key)
        const wait = await scene.wait(scene.b, key)
        assert.deepEqual([wait.token, wait.pushed], [lease.token, false])
        wait.leave()
        wait.leave()
        return { key, lease }
      }
      const filled = await waiting()
      expected(await scene.claim(scene.b, filled.key, { awaited: filled.lease.token }), 'wait')
      assert.equal(await scene.a.fill(filled.lease, value('v')), true)
      holds(expected(await scene.claim(scene.b, filled.key, { awaited: filled.lease.token }), 'fresh').entry, 'v')
      const failed = await waiting()
      assert.equal(await scene.a.fail(failed.lease, failure, 60_000), true)
      assert.deepEqual(expected(await scene.claim(scene.b, failed.key), 'failed').failure, failure)
      const passed = await waiting()
      assert.equal(await scene.a.pass(passed.lease, 60_000), true)
      expected(await scene.claim(scene.b, passed.key), 'pass')
      const released = await waiting()
      assert.equal(await scene.a.release(released.lease), true)
      expected(await scene.claim(scene.b, released.key, { awaited: released.lease.token }), 'lease')
    },
  },
]

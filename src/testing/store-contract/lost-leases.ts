import { strict as assert } from 'node:assert'
import type { Lease } from '../../core/contract/store.ts'
import { pause } from '../waiting.ts'
import { expected, failure, holds, value, type ContractTest, type Scene } from './scene.ts'

/** The ways to lose a lease, and the value in the store afterwards. */
const losses: readonly { how: string; lose: (scene: Scene, key: string) => Promise<unknown>; left: string | null }[] = [
  { how: 'by an invalidation', lose: (scene, key) => scene.b.invalidate(key), left: null },
  { how: 'by a soft invalidation', lose: (scene, key) => scene.b.invalidate(key, 'soft'), left: null },
  { how: 'by a set', lose: (scene, key) => scene.set(scene.b, key, value('set')), left: 'set' },
  {
    how: 'by an invalidation and the lease of another',
    async lose(scene, key) {
      await scene.b.invalidate(key)
      await scene.lease(scene.b, key)
    },
    left: null,
  },
  {
    how: 'by an invalidation and the load of another',
    async lose(scene, key) {
      await scene.b.invalidate(key)
      await scene.load(scene.b, key, value('of another'))
    },
    left: 'of another',
  },
  {
    how: 'by its end',
    lose: (scene, key) => scene.claimUntil(scene.b, key, 'lease'),
    left: null,
  },
]

/** Asserts that a lease that is lost, or was never granted, has no effect. */
async function isPowerless(scene: Scene, lease: Lease, left: string | null): Promise<void> {
  const { a } = scene
  const before = await a.read(lease.key)
  assert.equal(before?.payload.toString() ?? null, left)
  const state = async (): Promise<string> => {
    const claim = await scene.claim(scene.b, lease.key)
    if (claim.state === 'wait') claim.leave()
    if (claim.state === 'lease') await scene.b.release(claim.lease)
    return claim.state
  }
  const stands = await state()
  assert.equal(await a.fill(lease, value('too late')), false)
  assert.equal(await a.fail(lease, failure, 60_000), false)
  assert.equal(await a.pass(lease, 60_000), false)
  assert.equal(await a.release(lease), false)
  assert.deepEqual(await Promise.all(a.renew([lease])), [false])
  assert.equal((await a.read(lease.key))?.payload.toString() ?? null, left)
  assert.equal(await state(), stands)
}

/** No token, no write. */
export const lostLeases: readonly ContractTest[] = [
  ...losses.map(({ how, lose, left }) => ({
    title: `a lease that was lost ${how} can do nothing any more (rule 2, rule 4)`,
    async run(scene: Scene) {
      const key = scene.key()
      const lease = await scene.lease(scene.a, key, { leaseTtl: how === 'by its end' ? 50 : 60_000 })
      await lose(scene, key)
      await isPowerless(scene, lease, left)
    },
  })),
  {
    title: 'a lease that was never granted can do nothing (rule 1)',
    async run(scene) {
      const key = scene.key()
      const granted = await scene.lease(scene.b, key)
      await isPowerless(scene, { ...granted, token: scene.token() }, null)
      assert.equal(await scene.b.fill(granted, value('v')), true)
      await isPowerless(scene, { ...granted, token: scene.token() }, 'v')
    },
  },
  {
    title: 'a lease that nobody took when it ended cannot fill either (rule 2)',
    async run(scene) {
      const key = scene.key()
      const lease = await scene.lease(scene.a, key, { leaseTtl: 30 })
      // No claim and no renewal may happen meanwhile, so a clock must tell the end of the lease.
      await pause(60)
      assert.equal(await scene.a.fill(lease, value('too late')), false)
      assert.equal(await scene.a.read(key), null)
    },
  },
  {
    title: 'a fill that is sent twice does not bring back what was invalidated in between (rule 4)',
    async run(scene) {
      const key = scene.key()
      const lease = await scene.load(scene.a, key, value('old'))
      await scene.b.invalidate(key)
      assert.equal(await scene.a.fill(lease, value('old')), false)
      assert.equal(await scene.b.read(key), null)
      await scene.load(scene.b, key, value('new'))
      assert.equal(await scene.a.fill(lease, value('old')), false)
      holds(await scene.a.read(key), 'new')
    },
  },
  {
    title: 'of a fill and an invalidation at the same time no value is left (rule 4)',
    async run(scene) {
      for (let round = 0; round < 50; round++) {
        const key = scene.key()
        const lease = await scene.lease(scene.a, key)
        const fill = scene.a.fill(lease, value('old'))
        const invalidation = scene.b.invalidate(key)
        await Promise.all([fill, invalidation])
        assert.equal(await scene.a.read(key), null)
        expected(await scene.claim(scene.b, key), 'lease')
      }
    },
  },
  {
    title: 'of a fill and a set at the same time the value that was set is left (rule 4)',
    async run(scene) {
      for (let round = 0; round < 50; round++) {
        const key = scene.key()
        const lease = await scene.lease(scene.a, key)
        await Promise.all([scene.a.fill(lease, value('old')), scene.set(scene.b, key, value('set'))])
        holds(await scene.a.read(key), 'set')
        expected(await scene.claim(scene.b, key), 'fresh')
      }
    },
  },
]

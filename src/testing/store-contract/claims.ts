import { strict as assert } from 'node:assert'
import type { Lease } from '../../core/contract/store.ts'
import { within } from '../waiting.ts'
import { expected, failure, holds, remembered, value, type ContractTest } from './scene.ts'

/** The answers to claims. */
export const claims: readonly ContractTest[] = [
  {
    title: 'a key without a value is leased to whoever claims it first, and the others wait for that load',
    async run(scene) {
      const key = scene.key()
      const token = scene.token()
      const { lease, stale } = expected(await scene.claim(scene.a, key, { token, leaseTtl: 30_000 }), 'lease')
      assert.deepEqual([lease.key, lease.token, lease.ttl, stale], [key, token, 30_000, null])
      for (const store of scene.stores) {
        const wait = await scene.wait(store, key)
        assert.deepEqual([wait.token, wait.stale, wait.pushed], [token, null, scene.pushes])
        assert(wait.leaseLeft > 0 && wait.leaseLeft <= 30_000, `${wait.leaseLeft} of 30000 ms are left`)
        wait.leave()
      }
    },
  },
  {
    title: 'of many claims at once one wins the lease, and all others wait for it',
    async run(scene) {
      const key = scene.key()
      const stores = Array.from({ length: 10 }, () => scene.stores).flat()
      const answers = await Promise.all(stores.map((store) => scene.claim(store, key)))
      const leases = answers.flatMap((answer) => (answer.state === 'lease' ? [answer.lease.token] : []))
      const waits = answers.flatMap((answer) => (answer.state === 'wait' ? [answer] : []))
      assert.deepEqual([leases.length, waits.length], [1, stores.length - 1])
      for (const wait of waits) {
        assert.equal(wait.token, leases[0])
        wait.leave()
      }
    },
  },
  {
    title: 'a claim that is sent twice is granted the same lease again, and does not wait for itself (rule 1)',
    async run(scene) {
      const key = scene.key()
      const token = scene.token()
      const first = await scene.lease(scene.a, key, { token })
      const again = await scene.lease(scene.a, key, { token })
      assert.deepEqual([again.token, again.fence], [token, first.fence])
      assert.equal((await scene.wait(scene.b, key)).token, token)
      assert.equal(await scene.a.fill(again, value('v')), true)
      holds(await scene.b.read(key), 'v')
    },
  },
  {
    title: 'a claim that is sent twice finds the value that its load has brought meanwhile',
    async run(scene) {
      const key = scene.key()
      const token = scene.token()
      await scene.a.fill(await scene.lease(scene.a, key, { token }), value('v'))
      holds(expected(await scene.claim(scene.a, key, { token }), 'fresh').entry, 'v')
    },
  },
  {
    title: 'a fresh value is the answer to every claim',
    async run(scene) {
      const key = scene.key()
      const { token } = await scene.load(scene.a, key, value('v'))
      for (const store of scene.stores) {
        const { entry } = expected(await scene.claim(store, key), 'fresh')
        assert.deepEqual([entry.payload.toString(), entry.token], ['v', token])
      }
    },
  },
  {
    title: 'a caller that does not want the value that is there wins the lease, though it is fresh',
    async run(scene) {
      const key = scene.key()
      const { token: unwanted } = await scene.load(scene.a, key, value('old'))
      expected(await scene.claim(scene.b, key, { unwanted: scene.token() }), 'fresh')
      const { lease, stale } = expected(await scene.claim(scene.b, key, { unwanted }), 'lease')
      holds(stale, 'old')
      assert.equal((await scene.wait(scene.a, key, { unwanted })).token, lease.token)
      expected(await scene.claim(scene.a, key), 'fresh')
      assert.equal(await scene.b.fill(lease, value('new')), true)
      holds(expected(await scene.claim(scene.a, key, { unwanted }), 'fresh').entry, 'new')
    },
  },
  {
    title: 'a value that is not wanted is no answer to who waited for it, either',
    async run(scene) {
      const key = scene.key()
      const { token } = await scene.load(scene.a, key, value('v'))
      expected(await scene.claim(scene.b, key, { awaited: token, unwanted: token }), 'lease')
    },
  },
  {
    title: 'a caller that knows the value is answered as any other, and need not be sent it again with a lease',
    async run(scene) {
      const key = scene.key()
      const { token: known } = await scene.load(scene.a, key, value('old', { ttl: 1, grace: 60_000 }))
      const { lease, stale } = await scene.claimUntil(scene.b, key, 'lease', { known })
      if (stale !== null) holds(stale, 'old')
      holds((await scene.wait(scene.a, key)).stale, 'old')
      assert.equal(await scene.b.fill(lease, value('new')), true)
      holds(expected(await scene.claim(scene.a, key, { known }), 'fresh').entry, 'new')
      holds(expected(await scene.claim(scene.a, key, { known: lease.token }), 'fresh').entry, 'new')
    },
  },
  {
    title: 'a value beyond its ttl is no answer any more',
    async run(scene) {
      const key = scene.key()
      await scene.load(scene.a, key, value('v', { ttl: 1 }))
      const { stale } = await scene.claimUntil(scene.b, key, 'lease')
      assert.equal(stale, null)
    },
  },
  {
    title: 'a value in its grace comes with the lease, and with each wait for it',
    async run(scene) {
      const key = scene.key()
      const { token } = await scene.load(scene.a, key, value('old', { ttl: 1, grace: 60_000 }))
      const { lease, stale } = await scene.claimUntil(scene.b, key, 'lease')
      holds(stale, 'old')
      assert.equal(stale?.token, token)
      assert(stale.freshFor <= 0 && stale.staleFor > 0, `fresh for ${stale.freshFor}, stale for ${stale.staleFor} ms`)
      for (const store of scene.stores) {
        const wait = await scene.wait(store, key)
        holds(wait.stale, 'old')
        wait.leave()
      }
      assert.equal(await scene.b.fill(lease, value('new')), true)
      holds(expected(await scene.claim(scene.a, key), 'fresh').entry, 'new')
    },
  },
  {
    title: 'a value in its grace comes with the failure of its refresh (rule 5)',
    async run(scene) {
      const key = scene.key()
      await scene.load(scene.a, key, value('old', { ttl: 1, grace: 60_000 }))
      const { lease } = await scene.claimUntil(scene.a, key, 'lease')
      assert.equal(await scene.a.fail(lease, failure, 60_000), true)
      for (const store of scene.stores) holds(expected(await scene.claim(store, key), 'failed').stale, 'old')
    },
  },
  {
    title: 'the value that was waited for is the answer although it has expired meanwhile, and no other (rule 6)',
    run: (scene) =>
      within(remembered, async () => {
        const key = scene.key()
        const lease = await scene.lease(scene.a, key)
        assert.equal(await scene.a.fill(lease, value('v', { ttl: 1 })), true)
        const other = await scene.claimUntil(scene.b, key, 'lease', { awaited: scene.token() })
        assert.equal(other.stale, null)
        const { entry } = expected(await scene.claim(scene.b, key, { awaited: lease.token }), 'fresh')
        assert.deepEqual([entry.payload.toString(), entry.token], ['v', lease.token])
        assert.equal((await scene.wait(scene.a, key)).token, other.lease.token)
      }),
  },
  {
    title: 'a load that was waited for and brought no value is the answer although its time is over (rule 6)',
    async run(scene) {
      const ends = {
        failed: (lease: Lease) => scene.a.fail(lease, failure, 0),
        pass: (lease: Lease) => scene.a.pass(lease, 0),
      }
      for (const [state, end] of Object.entries(ends)) {
        await within(remembered, async () => {
          const key = scene.key()
          const lease = await scene.lease(scene.a, key)
          assert.equal(await end(lease), true)
          assert.equal((await scene.claim(scene.b, key, { awaited: lease.token })).state, state)
          const other = await scene.claimUntil(scene.b, key, 'lease', { awaited: scene.token() })
          assert.equal((await scene.wait(scene.a, key, { awaited: lease.token })).token, other.lease.token)
        })
      }
    },
  },
  {
    title: 'a lease that nobody renews is taken by the next one when it ends, and not before (rule 10)',
    async run(scene) {
      const key = scene.key()
      const leaseTtl = 300
      const askedAt = performance.now()
      const dead = await scene.lease(scene.a, key, { leaseTtl })
      const { lease } = await scene.until('the lease ends', async () => {
        const claim = await scene.claim(scene.b, key)
        const heldFor = performance.now() - askedAt
        if (claim.state === 'lease') {
          assert(heldFor >= leaseTtl - 1, `a lease of ${leaseTtl} ms was gone after ${heldFor} ms`)
          return claim
        }
        const wait = expected(claim, 'wait')
        assert.deepEqual([wait.token, wait.leaseLeft <= leaseTtl], [dead.token, true])
        wait.leave()
        return undefined
      })
      assert(lease.fence > dead.fence, 'the fence has grown')
      assert.equal((await scene.wait(scene.a, key)).token, lease.token)
    },
  },
  {
    title: 'the fence grows from lease to lease, however each of them ends (rule 15)',
    async run(scene) {
      const key = scene.key()
      const fences: bigint[] = []
      const ends = [
        (lease: Lease) => scene.a.release(lease),
        (lease: Lease) => scene.a.fail(lease, failure, 0),
        () => scene.b.invalidate(key),
        async (lease: Lease) => {
          await scene.a.fill(lease, value('v'))
          await scene.b.invalidate(key)
        },
        async () => {
          await scene.set(scene.b, key, value('set'))
          await scene.b.invalidate(key)
        },
      ]
      for (const end of [...ends, ...ends]) {
        const lease = await scene.lease(fences.length % 2 === 0 ? scene.a : scene.b, key)
        fences.push(lease.fence)
        await end(lease)
      }
      for (const [index, fence] of fences.entries()) {
        const before = fences[index - 1]
        assert(before === undefined || fence > before, `${fence} comes after ${before}`)
      }
    },
  },
  {
    title: 'who waits is given the context of the claim that began the load, and of no other',
    async run(scene) {
      const key = scene.key()
      const context = `00-${'4'.repeat(32)}-${'2'.repeat(16)}-01 ${'é'.repeat(200)}`
      const lease = await scene.lease(scene.a, key, { context })
      for (const store of scene.stores) {
        const wait = await scene.wait(store, key, { context: 'of one who waits' })
        assert.equal(wait.context, context)
        wait.leave()
      }
      await scene.a.release(lease)
      await scene.lease(scene.b, key)
      assert.equal((await scene.wait(scene.a, key)).context, undefined)
    },
  },
]

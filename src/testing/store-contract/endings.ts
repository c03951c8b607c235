import { strict as assert } from 'node:assert'
import { expected, failure, found, holds, remembered, value, type ContractTest } from './scene.ts'
import { pause, within } from '../waiting.ts'
import type { Failure } from '../../core/errors.ts'

/** The ends of a load: with a value, with an error, without an outcome; and renewals. */
export const endings: readonly ContractTest[] = [
  {
    title: 'a fill puts the value in place for every reader, with its token, times and load time',
    async run(scene) {
      const key = scene.key()
      assert.equal(await scene.a.read(key), null)
      const lease = await scene.lease(scene.a, key)
      const written = value('v', { ttl: 100_000, grace: 50_000, loadTime: 1_234 })
      assert.equal(await scene.a.fill(lease, written), true)
      for (const store of scene.stores) {
        const entry = found(await store.read(key))
        assert.deepEqual([entry.payload.toString(), entry.token, entry.loadTime], ['v', lease.token, 1_234])
        const { age, freshFor, staleFor } = entry
        // The store's clock may be another machine's, known only within a round trip.
        assert(age >= 0 && age < 10_000, `it is ${age} ms old`)
        assert(freshFor > 90_000 && freshFor < 101_000, `it is fresh for ${freshFor} of 100000 ms`)
        assert(Math.abs(staleFor - freshFor - 50_000) < 1, `its grace is ${staleFor - freshFor} of 50000 ms`)
      }
    },
  },
  {
    title: 'a fill ends the lease: what is asked for next is another load',
    async run(scene) {
      const key = scene.key()
      const lease = await scene.load(scene.a, key, value('v'))
      assert.deepEqual(await Promise.all(scene.a.renew([lease])), [false])
      assert.equal(await scene.a.release(lease), false)
      const next = await scene.lease(scene.b, key, { unwanted: lease.token })
      assert.notEqual(next.token, lease.token)
    },
  },
  {
    title: 'a fill that is sent twice is accepted twice, and the value is there once',
    async run(scene) {
      const key = scene.key()
      const lease = await scene.load(scene.a, key, value('v'))
      assert.equal(await scene.a.fill(lease, value('v')), true)
      holds(await scene.b.read(key), 'v')
    },
  },
  {
    title: 'the version grows with every value of the key, loaded or set (rule 15)',
    async run(scene) {
      const key = scene.key()
      const versions: number[] = []
      let unwanted: string | undefined
      for (let round = 0; round < 3; round++) {
        for (const store of scene.stores) {
          const lease = await scene.lease(store, key, { unwanted })
          assert.equal(await store.fill(lease, value('loaded')), true)
          versions.push(found(await store.read(key)).version)
          assert.equal(BigInt(versions.at(-1) ?? 0), lease.fence)
          unwanted = await scene.set(store, key, value('set'))
          versions.push(found(await store.read(key)).version)
        }
      }
      assert.deepEqual(
        versions,
        [...new Set(versions)].toSorted((one, other) => one - other),
      )
    },
  },
  {
    title: 'a failed load is told to those who ask within its cool-down, and then it is loaded again (rule 5)',
    async run(scene) {
      const key = scene.key()
      const lease = await scene.lease(scene.a, key)
      const failedAt = performance.now()
      assert.equal(await scene.a.fail(lease, failure, 300), true)
      assert.equal(await scene.a.read(key), null)
      await scene.until('the cool-down ends', async () => {
        const claim = await scene.claim(scene.b, key)
        if (claim.state === 'lease') return true
        const { failure: told, stale } = expected(claim, 'failed')
        assert.deepEqual([told, stale], [failure, null])
        return undefined
      })
      assert(performance.now() - failedAt >= 299, 'the cool-down lasts')
    },
  },
  {
    title: 'a failure travels as it is, with and without a cause, and with a code that is a number',
    async run(scene) {
      const failures: Failure[] = [
        failure,
        { code: 'LOAD_TIMEOUT', message: 'too long', cause: null },
        { code: 'VALUE_TOO_LARGE', message: '', cause: { name: 'Error', message: '' } },
        {
          code: 'LOAD_FAILED',
          message: 'x'.repeat(1_000),
          cause: { name: 'HttpError', message: 'Not Found', code: 404 },
        },
      ]
      for (const one of failures) {
        const key = scene.key()
        assert.equal(await scene.a.fail(await scene.lease(scene.a, key), one, 60_000), true)
        assert.deepEqual(expected(await scene.claim(scene.b, key), 'failed').failure, one)
      }
    },
  },
  {
    title: 'a failure that is sent twice is taken twice, and without a cool-down the next one loads at once',
    async run(scene) {
      const key = scene.key()
      const first = await scene.lease(scene.a, key)
      assert.equal(await scene.a.fail(first, failure, 60_000), true)
      assert.equal(await scene.a.fail(first, failure, 60_000), true)
      expected(await scene.claim(scene.b, key), 'failed')
      await within(remembered, async () => {
        const other = scene.key()
        const second = await scene.lease(scene.a, other)
        assert.equal(await scene.a.fail(second, failure, 0), true)
        assert.equal(await scene.a.fail(second, failure, 0), true)
        await scene.lease(scene.b, other)
        assert.equal(await scene.a.fail(second, failure, 0), false)
      })
    },
  },
  {
    title: 'after a load whose result must not be kept nobody queues for a while, and then they do again (rule 11)',
    async run(scene) {
      const key = scene.key()
      const twice = await scene.lease(scene.a, scene.key())
      assert.equal(await scene.a.pass(twice, 60_000), true)
      assert.equal(await scene.a.pass(twice, 60_000), true)
      const lease = await scene.lease(scene.a, key)
      const passedAt = performance.now()
      assert.equal(await scene.a.pass(lease, 300), true)
      assert.equal(await scene.a.read(key), null)
      await scene.until('the time without a queue ends', async () => {
        const claim = await scene.claim(scene.b, key)
        if (claim.state === 'lease') return true
        expected(claim, 'pass')
        return undefined
      })
      assert(performance.now() - passedAt >= 299, 'the time without a queue lasts')
    },
  },
  {
    title: 'a lease that is released goes to whoever asks next',
    async run(scene) {
      const key = scene.key()
      const lease = await scene.lease(scene.a, key)
      assert.equal(await scene.a.release(lease), true)
      const next = await scene.lease(scene.b, key)
      assert.equal(await scene.a.release(lease), false)
      assert.equal((await scene.wait(scene.a, key)).token, next.token)
    },
  },
  {
    title: 'a lease that is renewed is held for as long as it is renewed',
    async run(scene) {
      // A process that is paused for longer than its lease loses it rightly: then try again with a longer lease.
      for (let leaseTtl = 200; ; leaseTtl *= 4) {
        const key = scene.key()
        let sentAt = performance.now()
        const lease = await scene.lease(scene.a, key, { leaseTtl })
        const end = sentAt + 3 * leaseTtl
        let held = true
        let longest = 0
        while (held && performance.now() < end) {
          await pause(leaseTtl / 10)
          const sentBefore = sentAt
          sentAt = performance.now()
          const [renewed] = await Promise.all(scene.a.renew([lease]))
          held = renewed === true
          // A renewal may have its effect at any moment until it is answered.
          longest = Math.max(longest, performance.now() - sentBefore)
        }
        const claim = await scene.claim(scene.b, key)
        const filled = await scene.a.fill(lease, value('v'))
        longest = Math.max(longest, performance.now() - sentAt)
        if (longest >= leaseTtl) continue
        assert.equal(held, true, 'a lease that is renewed in time is kept')
        assert.equal(claim.state === 'wait' && claim.token, lease.token)
        assert.equal(filled, true)
        return
      }
    },
  },
  {
    title: 'many leases are renewed together, and each has its own answer, in order',
    async run(scene) {
      const keys = Array.from({ length: 250 }, () => scene.key())
      const leases = await Promise.all(keys.map((key) => scene.lease(scene.a, key)))
      const lost = new Set([0, 99, 100, 101, 249])
      await Promise.all([...lost].map((index) => scene.b.invalidate(keys[index] as string)))
      const answers = await Promise.all(scene.a.renew(leases))
      assert.deepEqual(
        answers,
        leases.map((_, index) => !lost.has(index)),
      )
      assert.deepEqual(await Promise.all(scene.a.renew([])), [])
    },
  },
  {
    title: 'it answers a ping, and goes on for others when one of those who share it is done (rule 13)',
    async run(scene) {
      await Promise.all(scene.stores.map((store) => store.ping()))
      const key = scene.key()
      scene.a.open()
      const lease = await scene.lease(scene.a, key)
      await scene.a.close()
      await scene.a.ping()
      const wait = await scene.wait(scene.a, key)
      assert.equal(wait.pushed, scene.pushes)
      assert.equal(await scene.a.fill(lease, value('v')), true)
      if (scene.pushes) holds(await scene.filled(scene.a, key, wait), 'v')
    },
  },
]

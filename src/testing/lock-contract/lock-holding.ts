import { strict as assert } from 'node:assert'
import { pause } from '../waiting.ts'
import { rejects, type LockTest } from './lock-scene.ts'

/** A held lock: exclusion, duration and end. */
export const holding: readonly LockTest[] = [
  {
    title: 'a lock is held by one, and is free again when it is given back',
    async run(scene) {
      const name = scene.name()
      const lease = await scene.held(scene.a, name)
      assert.equal(await scene.b.tryAcquire(name), null)
      assert.equal(await scene.a.tryAcquire(name), null)
      assert.equal(await lease.release(), 'released')
      const next = await scene.held(scene.b, name)
      assert.notEqual(next.token, lease.token)
    },
  },
  {
    title: 'locks of different names have nothing to do with each other',
    async run(scene) {
      const name = scene.name()
      const names = [name, `${name}:x`, `${name}{x}`, `{${name}}`, `${name} `, `${name}💥`, `x`.repeat(200) + name]
      for (const each of names) assert.equal((await scene.held(scene.a, each)).name, each)
      for (const each of names) assert.equal(await scene.b.tryAcquire(each), null)
    },
  },
  {
    title: 'giving back is done once, however often it is asked for, and hurts nobody who came after',
    async run(scene) {
      const name = scene.name()
      const lease = await scene.held(scene.a, name)
      assert.deepEqual(await Promise.all([lease.release(), lease.release()]), ['released', 'released'])
      const next = await scene.held(scene.b, name)
      assert.equal(await lease.release(), 'released')
      assert.equal(next.isValid(), true)
      assert.equal(await scene.a.tryAcquire(name), null)
    },
  },
  {
    title: 'a lease that is not renewed ends with its ttl: its signal is aborted, and the next may come',
    async run(scene) {
      const name = scene.name()
      const asked = performance.now()
      const lease = await scene.a.acquire(name, { ttl: 300, renew: false })
      const left = lease.remaining()
      assert(left <= 300)
      assert(left > 0 || performance.now() - asked >= 299, 'it has time left until its ttl is over')
      const next = await scene.b.acquire(name, { wait: '5m' })
      assert(performance.now() - asked >= 299, 'nobody has it before the ttl is over')
      assert.equal(lease.isValid(), false)
      assert.equal(lease.remaining(), 0)
      assert.throws(() => lease.assertValid(), { code: 'LEASE_LOST' })
      assert.equal(((await scene.lost(lease)) as { code?: unknown }).code, 'LEASE_LOST')
      assert.equal(await lease.release(), 'lost')
      assert.equal(next.isValid(), true)
      assert.equal(await scene.a.tryAcquire(name), null)
    },
  },
  {
    title: 'a lease is renewed for as long as it is held, work longer than its ttl included',
    async run(scene) {
      // A process that is blocked, or waits for an answer, for a part of its ttl may lose it rightly: then try again with a longer one.
      for (let ttl = 600; ; ttl *= 4) {
        const name = scene.name()
        const lease = await scene.a.acquire(name, { ttl, wait: '5m' })
        let last = performance.now()
        const end = last + 2.5 * ttl
        let longest = 0
        let held = true
        while (held && performance.now() < end) {
          await pause(ttl / 20)
          const other = await scene.b.tryAcquire(name)
          held = other === null && lease.isValid()
          await other?.release()
          longest = Math.max(longest, performance.now() - last)
          last = performance.now()
        }
        const released = await lease.release()
        longest = Math.max(longest, performance.now() - last)
        if (held && released === 'released') return
        assert(longest >= ttl / 8, 'a lease is renewed in time')
      }
    },
  },
  {
    title: 'a lease is renewed no more once it has been held for as long as it may be',
    async run(scene) {
      const name = scene.name()
      const lease = await scene.a.acquire(name, { ttl: 200, renew: { maxHold: 300 }, wait: '5m' })
      await scene.lost(lease)
      await scene.inTime(scene.b.acquire(name, { wait: '5m' }), 'the next has it')
    },
  },
  {
    title: 'a lease can be given another ttl, longer or shorter',
    async run(scene) {
      const name = scene.name()
      const lease = await scene.a.acquire(name, { ttl: 6_000, renew: false })
      assert.equal(await lease.extend(10_000), true)
      assert(lease.remaining() > 6_000)
      assert.equal(await scene.b.tryAcquire(name), null)
      const asked = performance.now()
      const isShorter = await lease.extend(400)
      assert(isShorter || performance.now() - asked >= 399, 'its time may be over before that is answered')
      assert(lease.remaining() <= 400)
      await scene.lost(lease)
      assert.equal(await lease.extend(), false)
      await scene.inTime(scene.b.acquire(name, { wait: '5m' }), 'the next has it')
    },
  },
  {
    title: 'a lease says whether enough of it is left',
    async run(scene) {
      const lease = await scene.held(scene.a, scene.name(), 60_000)
      assert.equal(lease.isValid(1_000), true)
      assert.equal(lease.isValid(60_001), false)
      lease.assertValid(1_000)
      assert.throws(() => lease.assertValid(60_001), { code: 'LEASE_LOST' })
      for (const margin of [-1, Number.NaN, '5s', null] as never[]) {
        assert.throws(() => lease.isValid(margin), TypeError)
        assert.throws(() => lease.assertValid(margin), TypeError)
      }
    },
  },
  {
    title: '`await using` gives a lease back at the end of its block',
    async run(scene) {
      const name = scene.name()
      {
        await using lease = await scene.a.acquire(name)
        assert.equal(await scene.b.tryAcquire(name), null)
        assert.equal(lease.isValid(), true)
      }
      await scene.held(scene.b, name)
    },
  },
  {
    title: 'a lock that is closed gives back what it holds, and refuses whoever asks',
    async run(scene) {
      const name = scene.name()
      const lease = await scene.held(scene.a, name)
      const waiting = rejects(scene.a.acquire(name, { wait: '5m' }), 'CLOSED')
      await Promise.all([scene.a.close(), scene.a.close()])
      await waiting
      assert.equal(((await scene.lost(lease)) as { code?: unknown }).code, 'CLOSED')
      await rejects(scene.a.tryAcquire(name), 'CLOSED')
      await rejects(scene.a.acquire(name), 'CLOSED')
      await rejects(
        scene.a.run(name, () => assert.fail('nothing runs')),
        'CLOSED',
      )
      await scene.held(scene.b, name)
    },
  },
]

/** For backends with fencing tokens. */
export const fences: readonly LockTest[] = [
  {
    title: 'the fence grows with every lease of a name, however the last one ended',
    async run(scene) {
      const name = scene.name()
      let last = -1n
      for (let round = 0; round < 6; round++) {
        const lock = scene.locks[round % scene.locks.length] ?? scene.a
        const lease = await lock.acquire(name, { ttl: 200, renew: false, wait: '5m' })
        assert(lease.fence !== null && lease.fence > last, `${lease.fence} comes after ${last}`)
        last = lease.fence
        if (round % 2 === 0) await lease.release()
      }
    },
  },
]

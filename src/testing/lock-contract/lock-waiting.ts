import { strict as assert } from 'node:assert'
import type { LockLease } from '../../core/contract/lock.ts'
import { placeKeptOnceTold } from '../../core/contract/lock-backend.ts'
import { pause, within } from '../waiting.ts'
import { rejects, type LockTest } from './lock-scene.ts'

/** Waiters, and work under a lock. */
export const waiting: readonly LockTest[] = [
  {
    title: 'whoever waits has the lock when it is given back',
    async run(scene) {
      const name = scene.name()
      const lease = await scene.held(scene.a, name)
      const next = scene.b.acquire(name, { wait: '5m' })
      await pause(20)
      await lease.release()
      assert.equal((await scene.inTime(next, 'who waits has it')).isValid(), true)
    },
  },
  {
    title: 'whoever has waited for long enough is told that the lock is busy, and not before',
    async run(scene) {
      const name = scene.name()
      const lease = await scene.held(scene.a, name)
      const asked = performance.now()
      await rejects(scene.b.acquire(name, { wait: 100 }), 'LOCK_TIMEOUT')
      assert(performance.now() - asked >= 99)
      await rejects(scene.b.acquire(name, { wait: 0 }), 'LOCK_TIMEOUT')
      assert.equal(lease.isValid(), true)
    },
  },
  {
    title: 'whoever waits may be called off, and the others come before it',
    async run(scene) {
      const name = scene.name()
      const lease = await scene.held(scene.a, name)
      const calledOff = new AbortController()
      const reason = new Error('called off')
      const gone = assert.rejects(
        scene.b.acquire(name, { wait: '5m', fair: scene.fair, signal: calledOff.signal }),
        (error) => error === reason,
      )
      await pause(20)
      const next = scene.a.acquire(name, { wait: '5m', fair: scene.fair })
      await pause(20)
      calledOff.abort(reason)
      await gone
      await lease.release()
      assert.equal((await scene.inTime(next, 'who still waits has it')).isValid(), true)
      await assert.rejects(scene.a.tryAcquire(name, { signal: calledOff.signal }), (error) => error === reason)
    },
  },
  {
    title: 'many who want it have it one after the other, and never two at a time',
    async run(scene) {
      const name = scene.name()
      let inside = 0
      let last: bigint | null = null
      let entered = 0
      const enter = async (lease: LockLease): Promise<void> => {
        assert.equal(++inside, 1, 'nobody else is there')
        if (lease.fence !== null && last !== null) assert(lease.fence > last, 'the fence grows')
        last = lease.fence
        await pause(1)
        entered++
        inside--
      }
      const all = Array.from({ length: 30 }, (_, number) => {
        const lock = scene.locks[number % scene.locks.length] ?? scene.a
        return lock.run(name, enter, { wait: '5m', fair: scene.fair && number % 3 === 0 })
      })
      await Promise.all(all)
      assert.equal(entered, 30)
    },
  },
  {
    title: 'work runs under the lock, which is given back however the work ends',
    async run(scene) {
      const name = scene.name()
      const result = await scene.a.run(name, async (lease) => {
        assert.equal(lease.isValid(), true)
        assert.equal(await scene.b.tryAcquire(name), null)
        return 'done'
      })
      assert.equal(result, 'done')
      const error = new Error('of the work')
      await assert.rejects(
        scene.b.run(name, () => {
          throw error
        }),
        (thrown) => thrown === error,
      )
      await scene.held(scene.a, name)
    },
  },
  {
    title: 'work that has lost the lock is told so, and so is whoever waits for its result',
    async run(scene) {
      const name = scene.name()
      const run = scene.a.run(
        name,
        async (lease) => {
          const reason = (await scene.lost(lease)) as { code?: unknown }
          assert.equal(reason.code, 'LEASE_LOST')
          return 'done all the same'
        },
        { ttl: 200, renew: false, wait: '5m' },
      )
      await rejects(run, 'LEASE_LOST')
    },
  },
  {
    title: 'several locks are had together, and two who want the same in another order do not wait for ever',
    async run(scene) {
      const [one, two] = [scene.name(), scene.name()]
      let runs = 0
      const work = async (leases: readonly LockLease[], names: readonly string[]): Promise<void> => {
        assert.deepEqual(
          leases.map(({ name }) => name),
          names,
        )
        for (const name of names) assert.equal(await scene.b.tryAcquire(name), null)
        runs++
      }
      const orders = [
        [one, two],
        [two, one],
        [one, two, one],
      ]
      const all = orders.flatMap((names) =>
        scene.locks.map((lock) => lock.run(names, (leases) => work(leases, names), { wait: '5m' })),
      )
      await scene.inTime(Promise.all(all), 'all of them run')
      assert.equal(runs, 3 * scene.locks.length)
      await scene.held(scene.a, one)
      await scene.held(scene.a, two)
    },
  },
  {
    title: 'work may ask for what it holds if it says so, and what is left of it afterwards may not',
    async run(scene) {
      const name = scene.name()
      let end!: () => void
      const ended = new Promise<void>((resolve) => (end = resolve))
      let later: Promise<LockLease | null> = Promise.resolve(null)
      await scene.a.run(
        name,
        async (outer) => {
          const inner = await scene.a.acquire(name, { reentrant: true })
          assert.equal(inner.token, outer.token)
          assert.equal(await inner.release(), 'released')
          assert.equal(outer.isValid(), true)
          assert.equal(await scene.a.tryAcquire(name), null)
          assert.equal(await scene.b.tryAcquire(name, { reentrant: true }), null)
          // Code that the work leaves running, still in its asynchronous context.
          later = ended.then(() => scene.a.tryAcquire(name, { reentrant: true }))
          assert.equal(await scene.a.run(name, () => 'inner', { reentrant: true }), 'inner')
        },
        { reentrant: true },
      )
      const other = await scene.held(scene.b, name)
      end()
      assert.equal(await later, null)
      assert.equal(other.isValid(), true)
    },
  },
  {
    title: 'wrong arguments are refused at once',
    async run(scene) {
      await assert.rejects(scene.a.acquire(''), TypeError)
      await assert.rejects(scene.a.acquire('k', { ttl: 0 }), TypeError)
      await assert.rejects(scene.a.acquire('k', { wiat: 5 } as never), /wiat/)
      await assert.rejects(scene.a.acquire('k', { renew: { at: 2 } }), TypeError)
      await assert.rejects(scene.a.tryAcquire('k', { wait: 5 } as never), TypeError)
      await assert.rejects(
        scene.a.run([] as string[], () => 'v'),
        TypeError,
      )
      await assert.rejects(scene.a.run('k', undefined as never), TypeError)
    },
  },
]

/** For backends that keep the order of waiters. */
export const order: readonly LockTest[] = [
  {
    title: 'where it is fair, they have it in the order in which they asked',
    // Whoever is told that it is its turn, and is blocked for longer, is passed over.
    run: (scene) =>
      within(placeKeptOnceTold, async () => {
        const name = scene.name()
        const lease = await scene.held(scene.a, name)
        const came: number[] = []
        const all: Promise<void>[] = []
        for (let number = 0; number < 10; number++) {
          const lock = scene.locks[number % scene.locks.length] ?? scene.a
          all.push(lock.run(name, () => void came.push(number), { wait: '5m', fair: true }))
          await scene.enlisted(lock, name, number + 1)
        }
        await lease.release()
        await scene.inTime(Promise.all(all), 'all of them have had it')
        assert.deepEqual(
          came,
          Array.from({ length: 10 }, (_, number) => number),
        )
      }),
  },
]

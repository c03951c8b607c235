import { setImmediate as turn } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { FleetLock } from '../../../src/core/lock/fleet-lock.ts'
import { lockDefaults } from '../../../src/core/options/lock-plan.ts'
import type { Hold, TakeResult } from '../../../src/core/contract/lock-backend.ts'
import { MemoryLocks } from '../../../src/memory/lock.ts'
import { FakeClock, settled } from '../../support/fake-clock.ts'

/** Locks in memory whose answers are on their way for as long as the test says. */
class SlowLocks extends MemoryLocks {
  readonly #clock: FakeClock
  delay = 0
  renewalDelay = 0

  constructor(clock: FakeClock) {
    super(clock)
    this.#clock = clock
  }

  override async take(...request: Parameters<MemoryLocks['take']>): Promise<TakeResult> {
    const taken = await super.take(...request)
    if (this.delay > 0) await new Promise<void>((resolve) => this.#clock.after(this.delay, resolve))
    return taken
  }

  override renew(holds: readonly Hold[]): Promise<boolean>[] {
    const delay = this.renewalDelay
    return super.renew(holds).map(async (answer) => {
      if (delay > 0) await new Promise<void>((resolve) => this.#clock.after(delay, resolve))
      return answer
    })
  }
}

/** A lock, to which answers take so many milliseconds, and renewals so many. */
function opened(delay = 0, renewalDelay = 0) {
  const clock = new FakeClock()
  const locks = Object.assign(new SlowLocks(clock), { delay, renewalDelay })
  const another = (): FleetLock => new FleetLock(locks, { plan: lockDefaults, commandTimeout: 1_000, clock })
  /** Whether somebody else can have it at once. */
  const isFree = async (): Promise<boolean> => {
    locks.delay = 0
    return (await another().tryAcquire('job')) !== null
  }
  return { clock, locks, lock: another(), isFree }
}

test.for([undefined, false] as const)(
  'a lease that ran out on its way here is not handed out: renew %s',
  async (renew) => {
    const { clock, lock } = opened(200)
    const asked = lock.tryAcquire('job', { ttl: 100, renew })
    await Promise.all([expect(asked).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' }), clock.advance(200)])
  },
)

test('the life of a lease is counted from the moment when it was asked for', async () => {
  const { clock, lock } = opened(200)
  const asked = lock.tryAcquire('job', { ttl: 1_000, renew: false })
  await clock.advance(200)
  const lease = await asked
  expect(lease?.remaining()).toBe(800)
  await clock.advance(800)
  expect(lease?.isValid()).toBe(false)
  const message = 'The lock "job" was lost: its time is over, and it was not to be renewed'
  expect(lease?.signal.reason).toMatchObject({ code: 'LEASE_LOST', message })
})

test('a lease that is over when it is extended is lost at once, before any timer has run', async () => {
  const { clock, lock } = opened()
  const lease = await lock.acquire('job', { ttl: 300 })
  const blocked = clock.block(300)
  expect(await lease.extend()).toBe(false)
  expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST' })
  await blocked
})

test('a lease that comes when its renewal is overdue is renewed before it is handed out', async () => {
  const { clock, locks, lock } = opened(700, 100)
  const granted = vi.fn()
  const asked = lock.tryAcquire('job', { ttl: 1_000 }).finally(granted)
  await clock.advance(799)
  expect(granted).not.toHaveBeenCalled()
  await clock.advance(1)
  const lease = await asked
  expect(lease?.remaining(), 'of a renewal that was sent 100 ms ago').toBe(900)
  locks.renewalDelay = 0
  await clock.advance(5_000)
  expect(lease?.isValid()).toBe(true)
})

test('a lease is handed out after one renewal, though each takes so long that the next is overdue', async () => {
  const { clock, locks, lock } = opened(400, 400)
  const renew = vi.spyOn(locks, 'renew')
  const asked = lock.tryAcquire('job', { ttl: 1_000 })
  await clock.advance(500)
  expect(renew).toHaveBeenCalledOnce()
  await clock.advance(300)
  const lease = await asked
  expect(lease?.remaining()).toBe(600)
  await clock.advance(5_000)
  expect(lease?.isValid()).toBe(true)
})

test('a lease that is gone when its overdue renewal arrives is not handed out', async () => {
  const { clock, locks, lock, isFree } = opened(700)
  const renew = vi.spyOn(locks, 'renew').mockReturnValue([Promise.resolve(false)])
  const asked = lock.tryAcquire('job', { ttl: 1_000 })
  await Promise.all([expect(asked).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' }), clock.advance(700)])
  expect(renew).toHaveBeenCalled()
  expect(await isFree(), 'it was given back').toBe(true)
})

test('who is called off while a lease that came late is renewed leaves nothing behind', async () => {
  const { clock, lock, isFree } = opened(700, 100)
  const controller = new AbortController()
  const asked = lock.acquire('job', { ttl: 1_000, signal: controller.signal })
  await clock.advance(750)
  controller.abort(new Error('called off'))
  await Promise.all([expect(asked).rejects.toThrow('called off'), clock.advance(50)])
  expect(await isFree()).toBe(true)
})

test('a lease whose lock is closed while it is extended says that it is no longer held', async () => {
  const { clock, locks, lock } = opened()
  const lease = await lock.acquire('job', { ttl: 1_000 })
  locks.renewalDelay = 100
  const extended = lease.extend(2_000)
  const closed = lock.close()
  await Promise.all([expect(extended).resolves.toBe(false), clock.advance(100)])
  await closed
  expect(lease.signal.reason).toMatchObject({ code: 'CLOSED' })
})

test('a lock that is closed while a lease that came late is renewed hands out nothing', async () => {
  const { clock, locks, lock, isFree } = opened()
  locks.delay = 700
  locks.renewalDelay = 100
  const asked = lock.acquire('job', { ttl: 1_000 })
  await clock.advance(750)
  const closing = lock.close()
  await Promise.all([expect(asked).rejects.toMatchObject({ code: 'CLOSED' }), clock.advance(50)])
  await closing
  expect(await isFree()).toBe(true)
})

test.for([{ renew: false }, { renew: { maxHold: 300 } }] as const)(
  'a lease that is not to be renewed is handed out as it comes: %o',
  async (options) => {
    const { clock, locks, lock } = opened(200)
    const renew = vi.spyOn(locks, 'renew')
    const asked = lock.tryAcquire('job', { ttl: 1_000, ...options })
    await clock.advance(200)
    expect((await asked)?.isValid()).toBe(true)
    expect(renew).not.toHaveBeenCalled()
  },
)

test('what is granted after its deadline is given back', async () => {
  const { clock, lock, isFree } = opened(2_000)
  const asked = lock.tryAcquire('job')
  await Promise.all([expect(asked).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' }), clock.advance(1_000)])
  expect(await isFree()).toBe(false)
  await clock.advance(1_000)
  expect(await isFree()).toBe(true)
})

test('a lease that is to be shorter ends with the shorter ttl, though nobody knows whether that has arrived', async () => {
  const { clock, locks, lock } = opened()
  const lease = await lock.acquire('job', { ttl: 60_000 })
  locks.renewalDelay = 5_000
  const asked = lease.extend(300)
  await Promise.all([expect(asked).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' }), clock.advance(1_000)])
  expect(lease.isValid()).toBe(false)
  expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST' })
})

test('a lease whose extension was not answered is renewed in time', async () => {
  const { clock, locks, lock } = opened()
  const lease = await lock.acquire('job', { ttl: 10_000 })
  await clock.advance(3_000)
  locks.renewalDelay = 5_000
  const asked = lease.extend(60_000)
  await Promise.all([expect(asked).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' }), clock.advance(2_000)])
  locks.renewalDelay = 0
  await clock.advance(20_000)
  expect(lease.isValid()).toBe(true)
})

test('the answer to a renewal with the longer ttl does not lengthen a lease that is to be shorter', async () => {
  const { clock, locks, lock } = opened()
  const lease = await lock.acquire('job', { ttl: 3_000, renew: { at: 0.5 } })
  locks.renewalDelay = 100
  await clock.advance(1_500)
  locks.renewalDelay = 0
  expect(await lease.extend(500)).toBe(true)
  await clock.advance(100)
  expect(lease.remaining()).toBeLessThanOrEqual(500)
})

test('a lease is held no longer than it may be, and is free then', async () => {
  const { clock, lock } = opened()
  const lease = await lock.acquire('job', { ttl: 300, renew: { maxHold: 400 } })
  await clock.advance(399)
  expect(lease.isValid()).toBe(true)
  await clock.advance(1)
  expect(lease.isValid()).toBe(false)
  expect(lease.signal.reason).toMatchObject({ message: expect.stringContaining('was not to be renewed') })
  expect(await lock.tryAcquire('job')).not.toBeNull()
})

test('work does not start with a lease that ended while another was waited for', async () => {
  const { clock, lock } = opened()
  const other = await lock.acquire('b')
  const work = vi.fn()
  const done = lock.run(['a', 'b'], work, { ttl: 200, renew: false, wait: 1_000 }).catch((error: unknown) => error)
  await clock.advance(300)
  await other.release()
  expect(await done).toMatchObject({ code: 'LEASE_LOST' })
  expect(work).not.toHaveBeenCalled()
})

test.for([true, false])('who is called off while it asks leaves no place behind (fair: %s)', async (fair) => {
  const { clock, locks, lock, isFree } = opened()
  const lease = await lock.acquire('job')
  locks.delay = 100
  const controller = new AbortController()
  const asked = lock.acquire('job', { signal: controller.signal, fair })
  await clock.advance(50)
  controller.abort(new Error('called off'))
  await Promise.all([expect(asked).rejects.toThrow('called off'), clock.advance(50)])
  await lease.release()
  expect(await isFree()).toBe(true)
})

test('one signal may call off any number of waiters, without a warning of Node.js', async () => {
  const { lock } = opened()
  await lock.acquire('job')
  const warnings: Error[] = []
  const warned = (warning: Error): void => void warnings.push(warning)
  process.on('warning', warned)
  onTestFinished(() => void process.off('warning', warned))
  const controller = new AbortController()
  const { signal } = controller
  const asked = Array.from({ length: 12 }, () => lock.acquire('job', { signal }).catch((error: unknown) => error))
  await settled()
  controller.abort('called off')
  expect(await Promise.all(asked)).toEqual(Array.from({ length: 12 }, () => 'called off'))
  // Node.js warns a turn later.
  await turn()
  expect(warnings).toEqual([])
})

test('a lock that is closed twice closes its backend once', async () => {
  const { lock, locks } = opened()
  const close = vi.spyOn(locks, 'close')
  await Promise.all([lock.close(), lock.close()])
  await lock.close()
  expect(close).toHaveBeenCalledOnce()
})

test.for(['tryAcquire', 'acquire'] as const)(
  '%s is called off at once, however long the answer takes',
  async (method) => {
    const { clock, lock, isFree } = opened(800)
    const controller = new AbortController()
    const asked = lock[method]('job', { signal: controller.signal }).catch((error: unknown) => error)
    await clock.advance(50)
    controller.abort('called off')
    expect(await asked).toBe('called off')
    await clock.advance(750)
    expect(await isFree(), 'the late grant was given back').toBe(true)
  },
)

test.for(['tryAcquire', 'acquire'] as const)('%s learns at once that its lock is closed', async (method) => {
  const { clock, lock, isFree } = opened(800)
  const asked = lock[method]('job').catch((error: unknown) => error)
  await clock.advance(50)
  const closed = vi.fn()
  const closing = lock.close().then(closed)
  expect(await asked).toMatchObject({ code: 'CLOSED', key: 'job' })
  await clock.advance(749)
  expect(closed, 'the late grant must still be given back').not.toHaveBeenCalled()
  await clock.advance(1)
  await closing
  expect(await isFree()).toBe(true)
})

test('a lock that is closed while its backend is silent is not held up by its waiters', async () => {
  const { clock, lock } = opened(5_000)
  const asked = lock.acquire('job', { wait: '1m', retryEvery: '5s' }).catch((error: unknown) => error)
  await clock.advance(50)
  const closing = lock.close()
  await clock.advance(950)
  await closing
  expect(await asked).toMatchObject({ code: 'CLOSED' })
})

import { expect, test } from 'vitest'
import { FleetLock } from '../../src/core/fleet-lock.ts'
import { lockDefaults } from '../../src/core/lock-plan.ts'
import type { Taken } from '../../src/core/lock-provider.ts'
import { MemoryLocks } from '../../src/memory/lock.ts'
import { FakeClock } from '../support/fake-clock.ts'

/** Locks in memory whose answers are on their way for as long as the test says. */
class SlowLocks extends MemoryLocks {
  readonly #clock: FakeClock
  delay = 0

  constructor(clock: FakeClock) {
    super(clock)
    this.#clock = clock
  }

  override async take(...request: Parameters<MemoryLocks['take']>): Promise<Taken> {
    const taken = await super.take(...request)
    if (this.delay > 0) await new Promise<void>((resolve) => this.#clock.after(this.delay, resolve))
    return taken
  }
}

function opened(): { clock: FakeClock; locks: SlowLocks; lock: FleetLock } {
  const clock = new FakeClock()
  const locks = new SlowLocks(clock)
  return { clock, locks, lock: new FleetLock(locks, { plan: lockDefaults, commandTimeout: 1_000, clock }) }
}

test('a lease that ran out on its way here is not handed out', async () => {
  const { clock, locks, lock } = opened()
  locks.delay = 200
  const asked = lock.tryAcquire('job', { ttl: 100 })
  await Promise.all([expect(asked).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' }), clock.advance(200)])
})

test('the life of a lease is counted from the moment when it was asked for', async () => {
  const { clock, locks, lock } = opened()
  locks.delay = 200
  const asked = lock.tryAcquire('job', { ttl: 1_000, renew: false })
  await clock.advance(200)
  const lease = await asked
  expect(lease?.remaining()).toBe(800)
  await clock.advance(800)
  expect(lease?.isValid()).toBe(false)
  expect(lease?.signal.reason).toMatchObject({ code: 'LEASE_LOST' })
})

test('what is granted after its deadline is given back', async () => {
  const { clock, locks, lock } = opened()
  locks.delay = 2_000
  const asked = lock.tryAcquire('job')
  await Promise.all([expect(asked).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' }), clock.advance(1_000)])
  locks.delay = 0
  expect(await lock.tryAcquire('job')).toBeNull()
  await clock.advance(1_000)
  expect(await lock.tryAcquire('job')).not.toBeNull()
})

import { describe, expect, test } from 'vitest'
import type { Clock } from '../../../src/index.ts'
import { createCache, memoryLock, memoryStore } from '../../../src/index.ts'
import { CoarseClock, systemClock } from '../../../src/core/time/clock.ts'
import { FakeClock } from '../../support/fake-clock.ts'

/** A clock that stands still, and what it draws. */
function drawing(random: () => number): Clock {
  const clock = new FakeClock()
  return { now: () => clock.now(), after: (ms, run) => clock.after(ms, run), random }
}

describe('a clock', () => {
  test('draws what is spread at random, if it can', async () => {
    const ttls = async (random: () => number): Promise<number[]> => {
      const clock = drawing(random)
      const cache = createCache({ clock, store: memoryStore({ clock }), ttl: 1_000, jitter: 0.5 })
      await cache.set('set', 'v')
      await cache.getOrLoad('loaded', () => 'v')
      const found = await Promise.all([cache.peek('set'), cache.peek('loaded')])
      return found.map((each) => ('ttl' in each ? each.ttl : 0))
    }
    expect(await ttls(() => 0)).toEqual([1_000, 1_000])
    expect(await ttls(() => 0.5)).toEqual([750, 750])
  })

  test('that is not of this machine numbers the fences of a memory store and a memory lock', async () => {
    const clock = new FakeClock()
    const store = memoryStore({ clock })
    const claim = await store.claim({ key: 'k', token: 't', leaseTtl: 100 })
    const lock = memoryLock({ clock })
    const lease = await lock.tryAcquire('job')
    expect([claim.state === 'lease' && claim.lease.fence, lease?.fence]).toEqual([1_000_000n, 1_000_000n])
    await lock.close()
  })

  test('of this machine lets fences grow from one process to the next', async () => {
    const before = BigInt(Date.now()) * 1_000n
    const claim = await memoryStore().claim({ key: 'k', token: 't', leaseTtl: 100 })
    await using lock = memoryLock()
    const lease = await lock.tryAcquire('job')
    for (const fence of [claim.state === 'lease' ? claim.lease.fence : null, lease?.fence ?? null]) {
      expect(fence).toBeGreaterThanOrEqual(before)
    }
  })
})

test('the clock of near copies goes on between two callbacks of one turn of the event loop', async () => {
  const clock = new CoarseClock(systemClock)
  const readings: number[] = []
  await new Promise<void>((resolve) => {
    setImmediate(() => {
      readings.push(clock.now(), clock.now())
      // The callback blocks the event loop.
      while (systemClock.now() < (readings[0] as number) + 10);
      readings.push(clock.now())
    })
    setImmediate(() => {
      readings.push(clock.now())
      resolve()
    })
  })
  const [first = 0, ...others] = readings
  expect(others.slice(0, 2)).toEqual([first, first])
  expect(others.at(-1)).toBeGreaterThanOrEqual(first + 10)
})

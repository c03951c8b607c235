import { describe, expect, test, vi } from 'vitest'
import type { Busy, TakeResult } from '../../../src/core/contract/lock-backend.ts'
import { MemoryLocks } from '../../../src/memory/lock.ts'
import { FakeClock, settled } from '../../support/fake-clock.ts'

/** Locks, and how to ask for the one in question. */
function asked(placeKept?: number) {
  const clock = new FakeClock()
  const locks = new MemoryLocks(clock, placeKept)
  const take = (token: string): Promise<TakeResult> => locks.take({ name: 'job', token, ttl: 100, waits: 'fair' })
  return { clock, locks, take }
}

describe('a place in the queue for a memory lock', () => {
  test('is lost by one that does not ask again, if those who wait may die', async () => {
    const { clock, take } = asked(5_000)
    await take('holder')
    await take('dead')
    expect(await take('next')).toMatchObject({ state: 'busy', left: 100 })
    await clock.advance(4_000)
    expect(await take('next')).toMatchObject({ state: 'busy', left: 1_000 })
    await clock.advance(1_000)
    expect(await take('next')).toMatchObject({ state: 'held' })
  })

  test('is kept for a moment only by one that has been told', async () => {
    const { clock, locks, take } = asked(5_000)
    const held = await take('holder')
    const told = await take('told')
    await take('next')
    await locks.release((held as TakeResult & { state: 'held' }).hold)
    await (told as Busy).freed
    expect(await take('next')).toMatchObject({ state: 'busy', left: 250 })
    await clock.advance(250)
    expect(await take('next')).toMatchObject({ state: 'held' })
  })

  test('is not called to its turn when the one before it has the lock', async () => {
    const { locks, take } = asked(5_000)
    const held = await take('holder')
    await take('first')
    const told = vi.fn()
    void ((await take('next')) as Busy).freed.then(told)
    await locks.release((held as TakeResult & { state: 'held' }).hold)
    expect(await take('first')).toMatchObject({ state: 'held' })
    await settled()
    expect(told).not.toHaveBeenCalled()
  })

  test('is kept for ever otherwise', async () => {
    const { clock, take } = asked()
    await take('holder')
    await take('first')
    await clock.advance(3_600_000)
    expect(await take('next')).toMatchObject({ state: 'busy', left: 0 })
    expect(await take('first')).toMatchObject({ state: 'held' })
  })
})

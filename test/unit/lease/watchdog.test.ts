import { describe, expect, test } from 'vitest'
import type { Lease } from '../../../src/core/contract/store.ts'
import { Watchdog } from '../../../src/core/lease/watchdog.ts'
import { FakeClock } from '../../support/fake-clock.ts'

/** One renewal that was sent, to be answered by the test. */
interface Renewal {
  readonly at: number
  readonly keys: string[]
  readonly answer: (answers: boolean[]) => void
  readonly refuse: () => void
}

/** @param by how renewals are answered: at once with "still yours", or when the test says so */
function watched(by: 'at once' | 'the test' = 'at once') {
  const clock = new FakeClock()
  const start = clock.now()
  const renewals: Renewal[] = []
  const renew = (leases: readonly Lease[]): Promise<boolean>[] => {
    const all = new Promise<boolean[]>((resolve, reject) => {
      const keys = leases.map(({ key }) => key)
      renewals.push({ at: clock.now() - start, keys, answer: resolve, refuse: () => reject(new Error('away')) })
      if (by === 'at once') resolve(leases.map(() => true))
    })
    return leases.map(async (_, index) => (await all)[index] === true)
  }
  const dog = new Watchdog(renew, clock)
  /** Has a lease looked after; returns when it is told to be lost, from the start, and why. */
  const losses = (given: Lease): { at: number; why: string }[] => {
    const all: { at: number; why: string }[] = []
    dog.watch(given, clock.now(), (why) => all.push({ at: clock.now() - start, why }))
    return all
  }
  return { clock, renewals, dog, losses, times: () => renewals.map(({ at }) => at) }
}

function lease(key: string, ttl: number): Lease & { lose: () => void } {
  let lose!: () => void
  const lost = new Promise<void>((resolve) => (lose = resolve))
  return { key, token: key, ttl, fence: 1n, lost, lose }
}

describe('a watchdog', () => {
  test('renews a lease every third of its ttl', async () => {
    const { dog, clock, times } = watched()
    dog.watch(lease('k', 900), clock.now(), () => expect.unreachable())
    await clock.advance(299)
    expect(times()).toEqual([])
    await clock.advance(2_401)
    expect(times()).toEqual([300, 600, 900, 1_200, 1_500, 1_800, 2_100, 2_400, 2_700])
  })

  test('counts the life of a lease from when its claim was sent', async () => {
    const { dog, clock, times } = watched('the test')
    const lost: number[] = []
    await clock.advance(200)
    dog.watch(lease('k', 900), clock.now() - 200, () => lost.push(clock.now() - 1_000))
    await clock.advance(100)
    expect(times()).toEqual([300])
    await clock.advance(599)
    expect(lost).toEqual([])
    await clock.advance(1)
    expect(lost).toEqual([900])
  })

  test('renews many leases in one command, those that are nearly due included', async () => {
    const { dog, clock, renewals } = watched()
    for (const [index, key] of ['a', 'b', 'c', 'd'].entries()) {
      dog.watch(lease(key, 900), clock.now(), () => expect.unreachable())
      await clock.advance(index === 2 ? 60 : 20)
    }
    await clock.advance(181)
    expect(renewals.map(({ at, keys }) => [at, keys])).toEqual([[300, ['a', 'b', 'c']]])
    await clock.advance(100)
    expect(renewals[1]).toMatchObject({ at: 400, keys: ['d'] })
  })

  test('renews a lease for which there is hardly time at once', async () => {
    const { dog, clock, times } = watched()
    dog.watch(lease('k', 900), clock.now() - 899, () => expect.unreachable())
    await clock.advance(0)
    expect(times()).toEqual([0])
    await clock.advance(900)
    expect(times()).toEqual([0, 300, 600, 900])
  })

  test('renews a lease that comes late before anything else can hold the loop up, whatever else is due', async () => {
    const { dog, clock, renewals } = watched()
    dog.watch(lease('early', 900), clock.now(), () => expect.unreachable())
    // Its grant was answered long ago; the answer has been read just now.
    dog.watch(lease('late', 900), clock.now() - 600, () => expect.unreachable())
    await Promise.resolve()
    expect(renewals).toMatchObject([{ at: 0, keys: ['late'] }])
    await clock.advance(300)
    expect(renewals).toMatchObject([{ at: 0 }, { at: 300, keys: ['early', 'late'] }])
  })

  test('sends a renewal again that gets no answer, and loses the lease at its own deadline (rule 2)', async () => {
    const { losses, clock, times } = watched('the test')
    const lost = losses(lease('k', 900))
    await clock.advance(10_000)
    expect(times()).toEqual([300, 450, 600, 750])
    expect(lost).toEqual([{ at: 900, why: 'it could not be renewed within its 900 ms' }])
    expect(clock.pending).toBe(0)
  })

  test('sends a renewal again that is refused', async () => {
    const { dog, clock, renewals, times } = watched('the test')
    dog.watch(lease('k', 900), clock.now(), () => expect.unreachable())
    await clock.advance(300)
    renewals[0]?.refuse()
    await clock.advance(150)
    renewals[1]?.answer([true])
    await clock.advance(300)
    expect(times()).toEqual([300, 450, 750])
  })

  test('counts the new life of a lease from when its renewal was sent, not from the answer (rule 3)', async () => {
    const { losses, clock, renewals } = watched('the test')
    const lost = losses(lease('k', 900))
    await clock.advance(440)
    renewals[0]?.answer([true])
    await clock.advance(5_000)
    expect(lost).toMatchObject([{ at: 300 + 900 }])
  })

  test('takes the best of answers that overtake each other', async () => {
    const { losses, clock, renewals } = watched('the test')
    const lost = losses(lease('k', 900))
    await clock.advance(500)
    renewals[1]?.answer([true])
    await clock.advance(0)
    renewals[0]?.answer([true])
    await clock.advance(5_000)
    expect(lost).toMatchObject([{ at: 450 + 900 }])
  })

  test('tells the holder once when the store says that a lease is gone (rule 3)', async () => {
    const { dog, losses, clock, renewals } = watched('the test')
    const lost = losses(lease('gone', 900))
    dog.watch(lease('kept', 900), clock.now(), () => expect.unreachable())
    await clock.advance(450)
    renewals[0]?.answer([false, true])
    renewals[1]?.answer([false, true])
    await clock.advance(500)
    expect(lost).toMatchObject([{ why: 'it expired, was evicted or belongs to somebody else now' }])
    expect(renewals.at(-1)?.keys).toEqual(['kept'])
  })

  test('tells the holder at once when the store pushes that a lease was voided (rule 3)', async () => {
    const { losses, clock, times } = watched()
    const voided = lease('k', 900)
    const lost = losses(voided)
    voided.lose()
    await clock.advance(10_000)
    expect(lost).toEqual([{ at: 0, why: 'it was voided, or somebody else has it now' }])
    expect(times()).toEqual([])
  })

  test('forgets a lease whose watch has ended', async () => {
    const { dog, clock, renewals } = watched('the test')
    const ended = lease('k', 900)
    const watch = dog.watch(ended, clock.now(), () => expect.unreachable())
    await clock.advance(300)
    watch.end()
    renewals[0]?.answer([false])
    ended.lose()
    await clock.advance(10_000)
    expect(renewals).toHaveLength(1)
    expect(clock.pending).toBe(0)
  })

  test('renews a lease as often as its shorter ttl needs, until the longer one is confirmed', async () => {
    const { dog, clock, renewals, times } = watched('the test')
    const watch = dog.watch(lease('k', 900), clock.now(), () => expect.unreachable())
    await clock.advance(200)
    watch.changes(lease('k', 9_000), clock.now())
    await clock.advance(500)
    expect(times()).toEqual([300, 450, 600])
    renewals[2]?.answer([true])
    await clock.advance(3_000)
    expect(times()).toEqual([300, 450, 600, 3_600])
  })

  test('tells the holder as soon as a blocked process runs again (rule 2)', async () => {
    const { losses, clock, times } = watched()
    const lost = losses(lease('k', 900))
    await clock.block(901)
    expect(lost).toHaveLength(1)
    expect(times()).toEqual([])
  })

  test('wakes in time for the lease that is due first, whenever it came', async () => {
    const { dog, clock, renewals } = watched()
    dog.watch(lease('long', 90_000), clock.now(), () => expect.unreachable())
    await clock.advance(10)
    dog.watch(lease('short', 300), clock.now(), () => expect.unreachable())
    await clock.advance(100)
    expect(renewals.map(({ at, keys }) => [at, keys])).toEqual([[110, ['short']]])
  })
})

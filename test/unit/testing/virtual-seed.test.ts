import { afterEach, describe, expect, test, vi } from 'vitest'
import type { CacheError } from '../../../src/index.ts'
import { virtualFleet, type VirtualEvent } from '../../../src/testing/index.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

/** A fleet under all sorts of trouble, and everything that happened in it. */
async function story(seed: number): Promise<string[]> {
  const told: string[] = []
  const fleet = virtualFleet({
    seed,
    latency: { min: 0, max: 20 },
    ordered: false,
    trouble: { lost: 0.05, cut: 0.05, repeated: 0.2, lostMessages: 0.5 },
    cache: { ttl: 300, jitter: 0.5, leaseTtl: 1_000, grace: 100, refreshAhead: 'xfetch' },
    trace: ({ at, process, what, how }) => told.push(`${at} ${process} ${what} ${how}`),
  })
  const [a, b] = fleet.processes
  const work = fleet.processes.map(async (process) => {
    const say = (what: string): number => told.push(`${process.clock.now()} ${process.number} ${what}`)
    for (let round = 0; round < 12; round++) {
      const load = process.cache.getOrLoad(`k${round % 2}`, async ({ fence }) => {
        say(`loads, fence ${fence}`)
        await process.sleep(round % 3 === 0 ? 600 : 40)
        return round
      })
      say(`gets ${await load.catch((error: CacheError) => error.code)}`)
      const job = process.lock.run('job', async ({ fence }) => {
        say(`works, fence ${fence}`)
        await process.sleep(30)
      })
      await job.catch((error: CacheError) => say(error.code))
      await process.sleep(70)
    }
  })
  await fleet.advance(200)
  b.pause()
  await fleet.advance(1_500)
  b.resume('answers')
  a.partition()
  await fleet.advance(500)
  a.heal()
  await fleet.until(Promise.all(work))
  return told
}

describe('a seed', () => {
  test('tells the same story each time, whatever Math.random, the wall clock and the machine say', async () => {
    const once = await story(3)
    vi.spyOn(Math, 'random').mockReturnValue(0.999)
    vi.spyOn(Date, 'now').mockReturnValue(5e12)
    vi.spyOn(performance, 'now').mockReturnValue(1e9)
    expect(await story(3)).toEqual(once)
    expect(once.length).toBeGreaterThan(100)
  })

  test('tells another than other seeds', async () => {
    const stories = await Promise.all([1, 2, 3, 4].map(async (seed) => (await story(seed)).join('\n')))
    expect(new Set(stories).size).toBe(4)
  })

  test('tells it side by side with other fleets as it does alone', async () => {
    const alone = await story(1)
    const [first] = await Promise.all([story(1), story(2), story(3)])
    expect(first).toEqual(alone)
  })

  test('lets a process draw as it would if the others did something else', async () => {
    const moments = async (others: number): Promise<string[]> => {
      const told: string[] = []
      const trace = ({ at, process, what, how }: VirtualEvent): number => told.push(`${process} ${what} ${how} ${at}`)
      const fleet = virtualFleet({ latency: { min: 0, max: 200 }, trace })
      const [a, b] = fleet.processes
      void b.lock.acquire('job')
      await fleet.advance(1_000)
      for (let each = 0; each < others; each++) void b.store.ping()
      void a.lock.acquire('job', { wait: '1m' })
      await fleet.advance(10_000)
      return told.filter((each) => each.startsWith('1 '))
    }
    expect(await moments(20)).toEqual(await moments(0))
  })
})

import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { lines } from '../../bench/lines/index.mjs'
import { heapUsed, never, type Build, type Ways } from '../../bench/lines/line.mjs'
import { median } from '../../bench/median.mjs'
import * as herdless from '../../src/index.ts'
import * as redis from '../../src/redis/index.ts'
import { Caches } from '../support/caches.ts'
import { until } from '../../tools/until.mjs'

/**
 * The heap that is left for each of `count` after some work was done: the median of seven rounds. A leak grows in each of
 * them, and code that is compiled late on a busy machine only in one or two.
 */
async function growth(count: number, work: () => Promise<unknown>): Promise<number> {
  // Compiled code and lists that grow by doubling come with the first rounds.
  for (let round = 0; round < 3; round++) await work()
  const grown: number[] = []
  while (grown.length < 7) {
    const before = heapUsed()
    await work()
    grown.push(heapUsed() - before)
  }
  return median(grown) / count
}

/** Callers of one key, of which the first one loads: half of them ask before its load begins, all before it ends. */
async function crowd(cache: herdless.Cache, key: string, callers: number): Promise<unknown[]> {
  let end: (value: string) => void = () => undefined
  const loaded = new Promise<string>((resolve) => (end = resolve))
  let begin: () => void = () => undefined
  const begun = new Promise<void>((resolve) => (begin = resolve))
  const half = (): Promise<string>[] =>
    Array.from({ length: callers / 2 }, () => cache.getOrLoad(key, () => (begin(), loaded)))
  const early = half()
  await begun
  const late = half()
  end('value')
  return await Promise.all([...early, ...late])
}

describe('the heap', () => {
  const bytes: Record<string, number> = {}

  beforeAll(async () => {
    const { ways, close } = await line('waiting')
    for (const [way, run] of Object.entries(ways)) {
      await run()
      bytes[way] = await run()
    }
    await close()
  })

  test('of a caller that waits for a load of its process is at most 600 bytes', () => {
    expect(Object.keys(bytes)).toEqual(['herdless', 'herdless, all in one tick'])
    for (const way of Object.values(bytes)) expect(way).toBeLessThanOrEqual(600)
  })

  test('keeps nothing of callers that have been answered', async () => {
    const cache = herdless.createCache()
    // At the end as many values are stored as before: each takes the place of the one of the same key.
    const work = (): Promise<unknown> => crowd(cache, 'key', 20_000).then(() => cache.invalidate('key'))
    expect(await growth(20_000, work)).toBeLessThanOrEqual(8)
    await cache.close()
  })

  test('keeps nothing of hits', async () => {
    const cache = herdless.createCache({ store: herdless.memoryStore({ values: 'frozen' }) })
    await cache.set('key', { id: 7 })
    const hits = async (): Promise<void> => {
      for (let hit = 0; hit < 20_000; hit++) await cache.getOrLoad('key', never)
    }
    expect(await growth(20_000, hits)).toBeLessThanOrEqual(8)
    await cache.close()
  })
})

describe('the commands', () => {
  let caches: Caches

  beforeAll(async () => {
    caches = await Caches.start()
  })

  afterAll(async () => {
    await caches?.stop()
  })

  test.for([1, 100])('of a stampede grow with the caches, not with the callers (%i in each)', async (callers) => {
    const namespace = `stampede-${callers}`
    const fleet = [await caches.open({ namespace }), await caches.open({ namespace }), await caches.open({ namespace })]
    let loads = 0
    const sent = await caches.sent(async () => {
      let end: (value: string) => void = () => undefined
      const loaded = new Promise<string>((resolve) => (end = resolve))
      const load = (): Promise<string> => {
        loads++
        return loaded
      }
      const answers = fleet.flatMap(({ cache }) => Array.from({ length: callers }, () => cache.getOrLoad('key', load)))
      await until('all have claimed', async () => (await caches.server.commandCounts())['evalsha'] === fleet.length)
      end('value')
      expect(new Set(await Promise.all(answers))).toEqual(new Set(['value']))
    })
    expect(loads).toBe(1)
    // Each reads and claims, and the one that loads fills.
    expect(sent).toEqual({ get: 3, evalsha: 4 })
  })
})

// Its ways throw when a hit is none, or when they load more than once.
test.for(['joins', 'near', 'memory'])('the line %s can be measured', async (name) => {
  const { ways, close } = await line(name)
  const figures: number[] = []
  for (const way of Object.values(ways)) figures.push(await way())
  await close()
  expect(figures.length).toBeGreaterThan(1)
  for (const figure of figures) expect(figure).toBeGreaterThan(0)
})

// The lines are written for the compiled package, which is the same but for the identity of its types.
const build = { herdless, redis, folder: '' } as unknown as Omit<Build, 'url'>

function line(name: string): Promise<Ways> {
  const found = lines[name]
  if (found === undefined) throw new TypeError(`Expected a line of the benchmark, got ${name}`)
  return found.open({ ...build, url: inject('redisUrl') })
}

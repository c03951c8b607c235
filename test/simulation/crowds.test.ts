import { describe, expect, test } from 'vitest'
import type { Cache, CallOptions } from '../../src/index.ts'
import type { FakeClock } from '../support/fake-clock.ts'
import { answerOf, answersOf, valued } from '../unit/support/answer.ts'
import { fleet } from '../unit/support/fleet.ts'

const pg: CallOptions = { source: 'pg' }

/** A source by a clock, and how many loads of it run. */
class Timed {
  running = 0
  most = 0
  begun = 0
  /** How long a load takes, in milliseconds; one that runs when this becomes less ends so soon, too. */
  takes: number
  readonly #clock: FakeClock

  constructor(clock: FakeClock, takes: number) {
    this.#clock = clock
    this.takes = takes
  }

  readonly loader = async (): Promise<string> => {
    this.begun++
    this.most = Math.max(this.most, ++this.running)
    for (let waited = 0; waited < this.takes; waited += 10) {
      await new Promise<void>((resolve) => void this.#clock.after(10, resolve))
    }
    this.running--
    return 'v'
  }
}

describe('behind 10 000 refreshes', () => {
  test('a caller waits for two loads at most, in the process that refreshes and in another', async () => {
    const { a, b, clock } = fleet({
      sources: { pg: { concurrency: 10, maxQueued: 20_000 } },
      ttl: '1s',
      grace: '1h',
      warnings: false,
    })
    const source = new Timed(clock, 100)
    const keys = Array.from({ length: 10_000 }, (_, index) => `k${index}`)
    for (const key of keys) await a.set(key, 'old')
    await clock.advance(2_000)
    const stale = await Promise.all(keys.map((key) => a.getOrLoad(key, source.loader, pg)))
    expect(new Set(stale)).toEqual(new Set(['old']))
    await clock.advance(50)
    expect(source.running).toBe(10)
    for (const cache of [a, b]) {
      const answer = answerOf(cache.getOrLoad(cache === a ? 'mine' : 'yours', source.loader, pg))
      await clock.advance(200)
      expect(answer).toEqual(valued('v'))
    }
    expect(source.most).toBe(10)
  })
})

describe('of several processes that want all they can get', () => {
  test('each gets more than half of its share of 1 000 loads, though one began before the others', async () => {
    const { all, clock } = fleet({ sources: { pg: { concurrency: 4 } }, warnings: false })
    const sources = all.map(() => new Timed(clock, 20))
    for (const [index, cache] of all.entries()) {
      const { loader } = sources[index] as Timed
      void answersOf(Array.from({ length: 1_000 }, (_, key) => cache.getOrLoad(`${index}:${key}`, loader, pg)))
      await clock.advance(100)
    }
    const before = sources.map(({ begun }) => begun)
    const counts = (): number[] => sources.map(({ begun }, index) => begun - (before[index] ?? 0))
    const sum = (): number => counts().reduce((all, count) => all + count, 0)
    while (sum() < 1_000) await clock.advance(20)
    expect(Math.min(...counts())).toBeGreaterThan(1_000 / 3 / 2)
  })
})

describe('a source that becomes a thousand times slower, and is quick again', () => {
  test('keeps no caller for longer than it wants to wait, gets no more loads than its limit, and then all again', async () => {
    const { all, clock } = fleet({ sources: { pg: { concurrency: 10 } }, waitTimeout: '5s', warnings: false })
    const source = new Timed(clock, 20)
    let key = 0
    const longest = { waited: 0 }
    const call = async (cache: Cache): Promise<string> => {
      const at = clock.now()
      const answer = await cache.getOrLoad(`k${key++}`, source.loader, pg).then(
        () => 'value',
        (error: { code: string }) => error.code,
      )
      longest.waited = Math.max(longest.waited, clock.now() - at)
      return answer
    }
    /** A hundred callers a second; resolves with how they were answered, as far as they were. */
    const seconds = async (many: number): Promise<Record<string, number>> => {
      const answers: Record<string, number> = {}
      for (let step = 0; step < 100 * many; step++) {
        void call(all[step % all.length] as Cache).then((answer) => (answers[answer] = (answers[answer] ?? 0) + 1))
        await clock.advance(10)
      }
      return answers
    }
    await seconds(2)
    source.takes = 20_000
    expect((await seconds(20))['OVERLOADED']).toBeGreaterThan(1_000)
    source.takes = 20
    await seconds(5)
    const after = await seconds(2)
    expect(after).toEqual({ value: expect.any(Number) as number })
    expect(after['value']).toBeGreaterThan(190)
    expect(longest.waited).toBeLessThanOrEqual(5_000)
    expect(source.most).toBe(10)
  })
})

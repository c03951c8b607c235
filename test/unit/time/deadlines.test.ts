import { describe, expect, test } from 'vitest'
import { Deadlines } from '../../../src/core/time/deadlines.ts'
import type { Clock } from '../../../src/index.ts'

/** Deadlines on a clock that stands at some milliseconds, with the timers that they have set and not cancelled. */
function deadlinesAt(now: number) {
  const timers = new Map<() => void, number>()
  const clock: Clock = {
    now: () => now,
    after: (ms, run) => {
      timers.set(run, ms)
      return { cancel: () => void timers.delete(run) }
    },
  }
  const over: string[] = []
  const due = (name: string) => ({ expire: () => void over.push(name) })
  return { deadlines: new Deadlines(clock), timers, over, due }
}

describe('deadlines', () => {
  test('of the same millisecond share a timer, which the last of them takes back', () => {
    const { deadlines, timers, over, due } = deadlinesAt(0.5)
    const [one, two, later] = [due('one'), due('two'), due('later')]
    deadlines.add(10.2, one)
    deadlines.add(10.7, two)
    deadlines.add(11.7, later)
    expect([...timers.values()]).toEqual([10.5, 11.5])
    deadlines.delete(11.7, later)
    deadlines.delete(10.2, one)
    expect(timers.size).toBe(1)
    for (const ring of timers.keys()) ring()
    expect(over).toEqual(['two'])
  })

  test('of the longest duration are no longer than a timer can be, which would ring at once', () => {
    const { deadlines, timers, due } = deadlinesAt(0.5)
    deadlines.add(0.5 + 2_147_483_647, due('one'))
    expect([...timers.values()]).toEqual([2_147_483_647])
  })
})

import { describe, expect, test } from 'vitest'
import { reaskDelay } from '../../../src/core/load/pacing.ts'

const justBelowOne = 1 - Number.EPSILON

describe('a waiter that would be told', () => {
  test('asks again within half a second, whatever the draw (rule 7)', () => {
    for (const asked of [1, 2, 10, 1_000]) {
      expect(reaskDelay(asked, true, 0)).toBe(262.5)
      expect(reaskDelay(asked, true, justBelowOne)).toBeCloseTo(437.5)
    }
  })
})

describe('a waiter that has to ask', () => {
  test('begins at 25 ms and asks half as long again each time, up to the pace of all others', () => {
    const pauses = [1, 2, 3, 4, 5, 6, 7, 8, 9, 1_000].map((asked) => reaskDelay(asked, false, 0.5))
    expect(pauses.map(Math.round)).toEqual([25, 38, 56, 84, 127, 190, 285, 350, 350, 350])
  })

  test('spreads by a quarter to either side, so that a herd does not ask in step', () => {
    expect(reaskDelay(1, false, 0)).toBe(18.75)
    expect(reaskDelay(1, false, justBelowOne)).toBeCloseTo(31.25)
    expect(reaskDelay(100, false, justBelowOne)).toBeLessThan(500)
  })
})

import { describe, expect, test } from 'vitest'
import { scheduleOf } from './schedule.ts'
import { story, trial } from './trial.ts'

const seeds = process.env['THOROUGH'] === 'yes' ? 4_000 : 300
const inOneTest = 100

/** Those that went wrong once, and are beyond the others. */
const known = [13_342, 13_847, 22_093, 23_246, 29_342, 35_271, 36_299, 36_396, 37_556, 37_978, 42_275]

describe('a fleet on virtual time keeps every promise, whatever is done to it', () => {
  test.each(known)('seed %i', async (seed) => {
    expect((await trial(scheduleOf(seed))).wrong).toEqual([])
  })

  for (let first = 1; first <= seeds; first += inOneTest) {
    const last = first + inOneTest - 1
    test(`seeds ${first} to ${last}`, async () => {
      const bad: number[] = []
      for (let seed = first; seed <= last; seed++) {
        if ((await trial(scheduleOf(seed))).wrong.length > 0) bad.push(seed)
      }
      const [worst] = bad
      if (worst !== undefined) throw new Error(`Seeds ${bad.join(', ')} go wrong. ${await story(worst)}`)
      expect(bad).toEqual([])
    })
  }
})

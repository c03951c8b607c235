import { describe, expect, test } from 'vitest'
import { scheduleOf } from './schedule.ts'
import { simulate, type Run } from './simulate.ts'
import { told } from './told.ts'

/** How often what happened. */
function tally(run: Run, sum: Map<string, number>): void {
  const count = (what: string): void => void sum.set(what, (sum.get(what) ?? 0) + 1)
  for (const [what, many] of Object.entries(run.counts)) if (many > 0) count(what)
  for (const { what } of run.schedule.faults) count(what)
  if (run.schedule.limits !== null) count('limited')
  for (const happening of run.notes.happenings) {
    if ('error' in happening) count(`${happening.what}: ${happening.error}`)
    if (happening.what === 'lost') count(`loader told ${happening.code}`)
    if (happening.what === 'load') count(happening.fence === null ? 'load without a lease' : 'load with a lease')
  }
}

/** What must not be missing. */
const expected = (
  'limited | lost there | lost back | cut there | cut back | sent twice | lost message | too late | cut off | ' +
  'stopped | killed | store away | store wiped | lease evicted | clock set | answer: LOAD_FAILED | ' +
  'answer: LOAD_TIMEOUT | answer: WAIT_TIMEOUT | answer: STORE_UNAVAILABLE | answer: OVERLOADED | ' +
  'answer: CIRCULAR_LOAD | answer: VALUE_NOT_SERIALIZABLE | answer: CLOSED | answer: LEFT | ' +
  'answer: NOTHING | written: STORE_UNAVAILABLE | written: KEPT | loader told LEASE_LOST | ' +
  'loader told LOAD_TIMEOUT | loader told CLOSED | load with a lease | load without a lease'
).split(' | ')

describe('the simulation', () => {
  test('tells the same story for the same seed', async () => {
    for (let seed = 1; seed <= 30; seed++) {
      const once = told(await simulate(scheduleOf(seed), { tell: true }))
      expect(told(await simulate(scheduleOf(seed), { tell: true }))).toBe(once)
    }
  })

  test('does to a fleet all that it can do, within a few seeds', async () => {
    const sum = new Map<string, number>()
    const missing = (): string[] => expected.filter((what) => (sum.get(what) ?? 0) < 5)
    for (let seed = 1; seed <= 400 && missing().length > 0; seed++) tally(await simulate(scheduleOf(seed)), sum)
    expect(missing()).toEqual([])
  })
})

import { describe, expect, test } from 'vitest'
import { shownFigures } from './figures.ts'
import { play } from './play.ts'
import { subjects } from './scenarios/index.ts'
import { missingOf } from './surroundings.ts'

/** The same on every machine and every day; `npm run chaos` and `npm run soak` try others. */
const seed = 1

/** Plays all scenarios of a subject once, as tests. */
export function playAll(subject: keyof typeof subjects): void {
  describe('whatever is done to a fleet, its promises hold', () => {
    test.for(subjects[subject])('$name', { timeout: 60_000 }, async (scenario, { skip }) => {
      const missing = await missingOf(scenario.on)
      if (missing !== undefined) skip(missing)
      const { wrong, figures } = await play(scenario, { seed })
      const said = [`${scenario.name}, seed ${seed}. ${scenario.what}`, shownFigures(figures), ...wrong.slice(0, 10)]
      expect(wrong.length, `${said.join('\n')}\nAgain: npm run chaos -- ${scenario.name} --seed ${seed}`).toBe(0)
    })
  })
}

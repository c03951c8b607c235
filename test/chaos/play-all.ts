import { describe, expect, test } from 'vitest'
import { shownFigures } from './figures.ts'
import { play } from './play.ts'
import { subjects } from './scenarios/index.ts'
import { allSettings } from './settings.ts'
import { missingOf } from './surroundings.ts'

/** The same on every machine and every day; `npm run chaos` and `npm run soak` try others. */
const seed = 1

/** Plays all scenarios of a subject once with each settings, as tests. */
export function playAll(subject: keyof typeof subjects): void {
  describe.for(allSettings)('whatever is done to a fleet, its promises hold: %s', (settings) => {
    const played = subjects[subject].filter(({ without }) => without?.[settings] === undefined)
    test.for(played)('$name', { timeout: 60_000 }, async (scenario, { skip }) => {
      const missing = await missingOf(scenario.on)
      if (missing !== undefined) skip(missing)
      const { wrong, figures } = await play(scenario, { settings, seed })
      const said = [`${scenario.name}, seed ${seed}. ${scenario.what}`, shownFigures(figures), ...wrong.slice(0, 10)]
      const again = `npm run chaos -- ${scenario.name} --settings ${settings} --seed ${seed}`
      expect(wrong.length, `${said.join('\n')}\nAgain: ${again}`).toBe(0)
    })
  })
}

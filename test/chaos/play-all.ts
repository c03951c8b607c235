import { describe, expect, test } from 'vitest'
import { shownFigures } from './figures.ts'
import { play } from './play.ts'
import { leftOut, type Scenario } from './scenario.ts'
import { scenarios, subjects } from './scenarios/index.ts'
import { client, type Settings } from './settings.ts'
import { missingOf } from './surroundings.ts'

/** The same on every machine and every day; `npm run chaos` and `npm run soak` try others. */
const seed = 1

/**
 * Plays all scenarios of a subject once, as tests; `npm run chaos` plays them with the other settings, too.
 * @param usual the settings of those scenarios that can be played with both: a short lease ends more loads in the same
 *   time, and the defaults show what does not heal by itself
 */
export function playAll(subject: keyof typeof subjects, usual: Settings): void {
  playEach(subjects[subject], usual)
}

/** Plays scenarios by their names once, on the defaults of the library. */
export function playNamed(names: readonly string[]): void {
  const found = names.map((name) => scenarios.find((scenario) => scenario.name === name))
  playEach(
    found.filter((scenario) => scenario !== undefined),
    'defaults',
  )
  test('they are scenarios', () => expect(found).not.toContain(undefined))
}

function playEach(scenarios: readonly Scenario[], usual: Settings): void {
  describe('whatever is done to a fleet, its promises hold', () => {
    test.for(scenarios)('$name', async (scenario, { skip }) => {
      const other = usual === 'quick' ? 'defaults' : 'quick'
      const settings = leftOut(scenario, usual) === undefined ? usual : other
      const missing = leftOut(scenario, settings) ?? (await missingOf(scenario.on))
      if (missing !== undefined) skip(missing)
      const { wrong, figures } = await play(scenario, { settings, seed })
      const said = [`${scenario.name}, seed ${seed}. ${scenario.what}`, shownFigures(figures), ...wrong.slice(0, 10)]
      const again = `npm run chaos -- ${scenario.name} --client ${client()} --settings ${settings} --seed ${seed}`
      expect(wrong.length, `${said.join('\n')}\nAgain: ${again}`).toBe(0)
    })
  })
}

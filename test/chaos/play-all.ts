import { describe, expect, test } from 'vitest'
import { shownFigures } from './figures.ts'
import { play, type Report } from './play.ts'
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
  describe('whatever is done to a fleet, its promises hold', () => {
    test.for<Scenario>(subjects[subject])('$name', async (scenario, { skip }) => {
      const other = usual === 'quick' ? 'defaults' : 'quick'
      const settings = leftOut(scenario, usual) === undefined ? usual : other
      const missing = leftOut(scenario, settings) ?? (await missingOf(scenario.on))
      if (missing !== undefined) skip(missing)
      const report = await play(scenario, { settings, seed })
      expect(report.wrong.length, `${told(report)}`).toBe(0)
    })
  })
}

/** How often the gate plays a scenario whose fault is not felt: on a busy machine a load may be over before it is struck. */
const tries = 5

/**
 * Plays scenarios by their names on the defaults of the library, for the gate: on a machine that is busy with other things, so
 * that the promises about time are left to the night.
 */
export function playUntimed(names: readonly string[]): void {
  describe('whatever is done to a fleet, its promises hold in the end', () => {
    test.for(names)('%s', async (name) => {
      const scenario = scenarios.find((each) => each.name === name)
      if (scenario === undefined) throw new TypeError(`There is no scenario ${name}`)
      let report = await play(scenario, { settings: 'defaults', seed, timed: false })
      for (let again = 1; again < tries && !report.felt && report.wrong.length === 1; again++)
        report = await play(scenario, { settings: 'defaults', seed: seed + again, timed: false })
      expect(report.wrong.length, `${told(report, '--untimed')}`).toBe(0)
    })
  })
}

/** What came of a scenario, and how it is played again. @param how what `npm run chaos` is told besides */
function told({ scenario, settings, seed, wrong, figures }: Report, how = ''): string {
  const said = [`${scenario.name}, seed ${seed}. ${scenario.what}`, shownFigures(figures), ...wrong.slice(0, 10)]
  const again = `npm run chaos -- ${scenario.name} --client ${client()} --settings ${settings} --seed ${seed} ${how}`
  return `${said.join('\n')}\nAgain: ${again.trim()}`
}

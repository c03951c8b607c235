import { setTimeout as pause } from 'node:timers/promises'
import { until } from '../../tools/until.mjs'
import { History, type Happening } from '../support/history.ts'
import { violations } from '../support/invariants.ts'
import { figuresOf, type Figures } from './figures.ts'
import { allowancesFor, healsWithin, workIn, type Inflicted, type Scenario, type Seen } from './scenario.ts'
import type { Settings } from './settings.ts'
import { Stage } from './stage.ts'
import type { Work } from './work.ts'

/** What came of a scenario that was played once. */
export interface Report {
  readonly scenario: Scenario
  readonly settings: Settings
  readonly seed: number
  /** What is wrong, in words. */
  readonly wrong: readonly string[]
  readonly figures: Figures
  readonly history: History
}

/** How long a fleet works before anything is done to it, and after it should be normal again, in milliseconds. */
const warmUp = 500
const coolDown = 300

/** Fewer looks at the leases than this, after the fault, prove nothing. */
const fewestLooks = 5

/** A lease without a load is seen to be one by then, after the fault, in milliseconds. */
const ghostsAreSeen = 1_500

/** A fault that has not done its work by then, in milliseconds, never will. */
const patience = 20_000

/** Plays a scenario: a fleet at work, the fault, the fleet when it is over; and judges what happened. */
export async function play(
  scenario: Scenario,
  { settings, seed, rate }: { settings: Settings; seed: number; rate?: number },
): Promise<Report> {
  const happenings: Happening[] = []
  await using stage = await Stage.set(scenario.on, {
    seed,
    ...(rate === undefined ? {} : { rate }),
    work: workIn(scenario, settings),
    network: scenario.network ?? false,
    ...(scenario.client === undefined ? {} : { client: scenario.client }),
    note: (happening) => happenings.push(happening),
  })
  await pause(warmUp)
  const inflicted = await inflict(scenario, stage)
  await pause(Math.max(healsWithin(scenario), ghostsAreSeen) + coolDown)
  const looks = (): number => happenings.filter(({ what, at }) => what === 'seen' && at > inflicted.to).length
  // On a busy machine many looks are late, and say nothing.
  await until('the leases have been read often enough', () => looks() >= fewestLooks)
  await scenario.tidy?.(stage)
  const left = await stage.finish()
  const history = new History(happenings, stage.now())
  const figures = figuresOf(history)
  const { heard, counted } = {
    heard: (event: string) => stage.heard(event),
    counted: (what: string) => stage.counted(what),
  }
  const seen: Seen = { work: stage.work, history, figures, heard, counted }
  const wrong = [
    ...violations(history, allowancesFor([inflicted])),
    ...left,
    ...(scenario.holds?.(seen) ?? []),
    ...(scenario.bites(seen) ? [] : ['The fault was not felt, so nothing is proved']),
  ]
  return { scenario, settings, seed, wrong, figures, history }
}

/** Does to a fleet what a scenario says, and undoes it. @param work how the fleet works meanwhile */
export async function inflict(scenario: Scenario, stage: Stage, work: Work = stage.work): Promise<Inflicted> {
  const victim = stage.victim.number
  const from = stage.now()
  stage.note('fault', scenario.name)
  const heal = await inTime(scenario.name, scenario.fault(stage))
  if (heal !== undefined) {
    await pause(stage.lasts)
    await inTime(scenario.name, Promise.resolve(heal()))
  }
  stage.note('healed', scenario.name)
  return { scenario, victim, work, from, to: stage.now() }
}

async function inTime<T>(name: string, promise: Promise<T>): Promise<T> {
  const timeout = new AbortController()
  const late = pause(patience, undefined, { signal: timeout.signal }).then(() => {
    throw new Error(`The fault ${name} has not done its work within ${patience} ms`)
  })
  late.catch(() => {})
  try {
    return await Promise.race([promise, late])
  } finally {
    timeout.abort()
  }
}

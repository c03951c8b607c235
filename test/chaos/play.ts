import { setTimeout as pause } from 'node:timers/promises'
import { until } from '../../tools/until.mjs'
import { History, type Happening } from '../support/history.ts'
import { violations } from '../support/invariants.ts'
import { figuresOf, type Figures } from './figures.ts'
import {
  allowancesFor,
  healsWithin,
  untimedAllowancesFor,
  workIn,
  type Inflicted,
  type Scenario,
  type Seen,
} from './scenario.ts'
import type { Settings } from './settings.ts'
import { Stage } from './stage.ts'
import type { Work } from './work.ts'

/** How a scenario is played. */
export interface Played {
  readonly settings: Settings
  readonly seed: number
  readonly rate?: number
  /**
   * Whether the promises about time are judged. If not, no command of the fleet misses its deadline because the machine is
   * busy, and all is normal when the fleet is seen to work as before, however long that takes. Default true.
   */
  readonly timed?: boolean
}

/** What came of a scenario that was played once. */
export interface Report extends Pick<Played, 'settings' | 'seed'> {
  readonly scenario: Scenario
  /** What is wrong, in words. */
  readonly wrong: readonly string[]
  /** Whether the fault was felt; if not, nothing is proved. */
  readonly felt: boolean
  readonly figures: Figures
  readonly history: History
}

/** How many answers every process of the fleet has given before anything is done to it. */
const warm = 20

/** How long the fleet works on after it should be normal again, in milliseconds; and how many answers show that it is. */
const coolDown = 300
const settled = 200

/** Fewer looks at the leases than this, after the fault, prove nothing. */
const fewestLooks = 5

/** A lease without a load is seen to be one by then, after the fault, in milliseconds. */
const ghostsAreSeen = 1_500

/** A fault that has not done its work by then, in milliseconds, never will; nor will a fleet work that does not. */
const patience = 60_000

/** Plays a scenario: a fleet at work, the fault, the fleet when it is over; and judges what happened. */
export async function play(scenario: Scenario, { settings, seed, rate, timed = true }: Played): Promise<Report> {
  const happenings: Happening[] = []
  const pulse = new Pulse()
  await using stage = await Stage.set(scenario.on, {
    seed,
    ...(rate === undefined ? {} : { rate }),
    work: { ...workIn(scenario, settings), ...(timed ? {} : { commandTimeout: patience }) },
    network: scenario.network ?? false,
    ...(scenario.client === undefined ? {} : { client: scenario.client }),
    note(happening) {
      happenings.push(happening)
      pulse.feel(happening)
    },
  })
  const allHaveAnswered = (): boolean => stage.processes.every(({ number }) => pulse.answersOf(number) >= warm)
  await until('all processes have answered often enough', allHaveAnswered, patience)
  const inflicted = await inflict(scenario, stage)
  pulse.countFrom(inflicted.to)
  await until('all processes have answered again', allHaveAnswered, patience)
  const settledAt = stage.now()
  if (timed) {
    await pause(Math.max(0, inflicted.to - stage.now() + Math.max(healsWithin(scenario), ghostsAreSeen) + coolDown))
    const looks = (): number => happenings.filter(({ what, at }) => what === 'seen' && at > inflicted.to).length
    // On a busy machine many looks are late, and say nothing.
    await until('the leases have been read often enough', () => looks() >= fewestLooks, patience)
  } else await until('all is normal again', () => pulse.normalAnswers >= settled, patience)
  await scenario.tidy?.(stage)
  const left = await stage.finish()
  const history = new History(happenings, stage.now())
  const figures = figuresOf(history)
  const { heard, counted } = {
    heard: (event: string) => stage.heard(event),
    counted: (what: string) => stage.counted(what),
  }
  const seen: Seen = { work: stage.work, history, figures, heard, counted }
  const felt = scenario.bites(seen)
  const wrong = [
    ...violations(history, timed ? allowancesFor([inflicted]) : untimedAllowancesFor({ ...inflicted, settledAt })),
    ...left,
    ...(scenario.holds?.(seen) ?? []),
    ...((timed && scenario.holdsInTime?.(seen)) || []),
    ...(felt ? [] : ['The fault was not felt, so nothing is proved']),
  ]
  return { scenario, settings, seed, wrong, felt, figures, history }
}

/** How a fleet has answered, from some moment on. */
class Pulse {
  #from = 0
  readonly #asked = new Map<string, number>()
  readonly #answers = new Map<number, number>()
  #normal = 0

  /** Forgets all answers; from now on those count that were asked for after this moment. */
  countFrom(at: number): void {
    this.#from = at
    this.#answers.clear()
    this.#normal = 0
  }

  feel(happening: Happening): void {
    if (happening.what === 'call') this.#asked.set(happening.call, happening.at)
    // Whoever cannot ask Redis loads without a lease, and whoever waits for that knows nothing of it.
    if (happening.what === 'load' && happening.fence === null) this.#normal = 0
    if (happening.what !== 'answer') return
    const { call, process, error } = happening
    const isCounted = (this.#asked.get(call) ?? -Infinity) > this.#from
    this.#asked.delete(call)
    if (error !== undefined && error !== 'LOAD_FAILED') this.#normal = 0
    else if (isCounted) {
      this.#normal++
      this.#answers.set(process, this.answersOf(process) + 1)
    }
  }

  /** How many callers of a process have been answered. */
  answersOf(process: number): number {
    return this.#answers.get(process) ?? 0
  }

  /** How many callers have been answered since the last one got an error, and the last load ran without a lease. */
  get normalAnswers(): number {
    return this.#normal
  }
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

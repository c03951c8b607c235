/** `npm run chaos`: plays scenarios of the fault suite by name, with any seed, any number of times. */
import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { parseDuration, longestTimer } from '../../src/core/time/duration.ts'
import { endure } from './endure.ts'
import { shownFigures } from './figures.ts'
import { play, type Played, type Report } from './play.ts'
import { leftOut, type Scenario } from './scenario.ts'
import { scenarios } from './scenarios/index.ts'
import { settingsIn, useClient, type Settings } from './settings.ts'

const usage = `npm run chaos -- [names] [options]

Plays the scenarios with these names, or whose names begin so; without a name, all.

  --list             says which there are
  --settings <word>  quick: short leases and deadlines, and writes all the time; defaults: those of the library, and
                     nothing else that heals; both, one after the other (both)
  --client <name>    whose clients the fleet has: ioredis or node-redis (ioredis)
  --seed <number>    what is drawn by chance is drawn from it (1)
  --times <number>   plays each so often, with one seed after the other (1)
  --rate <number>    calls a second, of all processes together (400)
  --untimed          judges nothing that is about time, for a machine that is busy with other things
  --for <duration>   does the same to one fleet again and again for so long, such as 60s
  --history <file>   writes what happened in the last one, a line of JSON for each happening
`

/** How many broken promises are told of one run. */
const mostTold = 20

try {
  await main()
} catch (error) {
  console.error(error instanceof TypeError ? `${error.message}\n\n${usage}` : error)
  process.exitCode = 2
}

async function main(): Promise<void> {
  const text = { type: 'string' } as const
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      list: { type: 'boolean' },
      untimed: { type: 'boolean', default: false },
      help: { type: 'boolean' },
      settings: { ...text, default: 'both' },
      client: { ...text, default: 'ioredis' },
      seed: { ...text, default: '1' },
      times: { ...text, default: '1' },
      rate: { ...text, default: '400' },
      for: text,
      history: text,
    },
  })
  const chosen = positionals.length === 0 ? scenarios : positionals.flatMap(named)
  if (values.help) return console.log(usage)
  if (values.list) {
    for (const { name, on, what } of chosen) console.log(`${name} (${on})\n    ${what}`)
    return
  }
  useClient(values.client)
  const [seed, times, rate] = [whole('seed', values.seed), whole('times', values.times), whole('rate', values.rate)]
  let failed = 0
  for (const settings of settingsIn(values.settings)) {
    for (const scenario of chosen) {
      const how = { settings, seed, rate }
      const reason = leftOut(scenario, settings)
      if (reason !== undefined) console.log(`left out ${scenario.name}, ${settings}: ${reason}`)
      else if (values.for)
        failed += await again(scenario, { ...how, lasts: parseDuration('--for', values.for, { most: longestTimer }) })
      else
        failed += await onceOrMore(scenario, {
          ...how,
          timed: !values.untimed,
          times,
          ...(values.history && { file: values.history }),
        })
    }
  }
  console.log(failed === 0 ? 'All promises were kept.' : `${failed} runs broke a promise.`)
  process.exitCode = failed === 0 ? 0 : 1
}

async function onceOrMore(
  scenario: Scenario,
  { seed, times, file, ...how }: Played & { times: number; file?: string },
): Promise<number> {
  let failed = 0
  for (let number = seed; number < seed + times; number++) {
    const { wrong, figures, history } = await play(scenario, { ...how, seed: number }).catch(interrupted)
    const numbers = figures === undefined ? '' : `: ${shownFigures(figures)}`
    console.log(
      `${wrong.length === 0 ? 'kept  ' : 'BROKEN'} ${scenario.name}, ${how.settings}, seed ${number}${numbers}`,
    )
    tell(wrong)
    if (file) await writeFile(file, lines(history?.happenings ?? []))
    if (wrong.length > 0) failed++
  }
  return failed
}

function tell(wrong: readonly string[]): void {
  for (const words of wrong.slice(0, mostTold)) console.log(`         ${words}`)
  if (wrong.length > mostTold) console.log(`         and ${wrong.length - mostTold} more`)
}

/** A process that ended by itself, or a fault that could not be done, is the end of a run. */
function interrupted(error: Error): Pick<Report, 'wrong'> & Partial<Report> {
  return { wrong: [error.message] }
}

function lines(all: readonly object[]): string {
  return all.map((each) => `${JSON.stringify(each)}\n`).join('')
}

async function again(
  scenario: Scenario,
  how: { settings: Settings; seed: number; rate: number; lasts: number },
): Promise<number> {
  const { wrong, figures, faults } = await endure([scenario], { ...how, progress: (line) => console.log(line) })
  console.log(
    `${wrong.length === 0 ? 'kept  ' : 'BROKEN'} ${scenario.name}, ${how.settings}, ${faults[scenario.name]} times`,
  )
  console.log(`       ${shownFigures(figures)}`)
  tell(wrong)
  return wrong.length > 0 ? 1 : 0
}

function named(word: string): Scenario[] {
  const exact = scenarios.filter(({ name }) => name === word)
  const found = exact.length > 0 ? exact : scenarios.filter(({ name }) => name.startsWith(word))
  if (found.length === 0) throw new TypeError(`There is no scenario ${word}: see --list`)
  return found
}

function whole(name: string, text: string): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number) || number < 1)
    throw new TypeError(`Expected --${name} to be a whole number, got ${text}`)
  return number
}

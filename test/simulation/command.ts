/**
 * `npm run simulate -- --seed 123` tells what happens in one seed, as little of it as goes wrong; with `--whole` all of it.
 * `npm run simulate -- --seeds 10000` tries many, from `--seed` on, and tells of the first that goes wrong.
 */
import { parseArgs } from 'node:util'
import { scheduleOf } from './schedule.ts'
import { told } from './told.ts'
import { story, trial } from './trial.ts'

const { values: options } = parseArgs({
  options: { seed: { type: 'string' }, seeds: { type: 'string' }, whole: { type: 'boolean', default: false } },
})

if (options.seeds === undefined) await tellOne(whole('seed', options.seed ?? '1'))
else await tryMany(whole('seed', options.seed ?? '1'), whole('seeds', options.seeds))

async function tellOne(seed: number): Promise<void> {
  const { wrong, run } = await trial(scheduleOf(seed), { tell: true })
  if (wrong.length > 0 && !options.whole) console.log(await story(seed))
  else if (run !== null) console.log([told(run), '', ...wrong].join('\n'))
  console.log(wrong.length === 0 ? `\nseed ${seed}: all holds` : `\nseed ${seed}: ${wrong.length} violations`)
  process.exitCode = wrong.length === 0 ? 0 : 1
}

async function tryMany(first: number, count: number): Promise<void> {
  const bad: number[] = []
  const rules = new Map<string, number>()
  const started = performance.now()
  const said = (done: number): string => {
    const seconds = (performance.now() - started) / 1_000
    return `${done} of ${count} seeds, ${bad.length} went wrong, ${((seconds / done) * 1_000).toFixed(1)} ms each`
  }
  for (let done = 0; done < count; done++) {
    const { wrong } = await trial(scheduleOf(first + done))
    if (wrong.length > 0) bad.push(first + done)
    for (const rule of new Set(wrong.map((each) => each.slice(0, each.indexOf(':'))))) {
      rules.set(rule, (rules.get(rule) ?? 0) + 1)
    }
    if ((done + 1) % 1_000 === 0 && done + 1 < count) console.log(said(done + 1))
  }
  console.log(said(count))
  const [worst] = bad
  if (worst === undefined) return
  for (const [rule, seeds] of rules) console.log(`  rule ${rule} in ${seeds} seeds`)
  console.log(`seeds ${bad.slice(0, 20).join(', ')}${bad.length > 20 ? ' …' : ''}\n\n${await story(worst)}`)
  process.exitCode = 1
}

function whole(name: string, given: string): number {
  const number = Number(given)
  if (Number.isSafeInteger(number) && number >= 0) return number
  throw new TypeError(`Expected --${name} to be a whole number, got ${given}`)
}

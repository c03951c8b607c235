import { judged } from './judge.ts'
import { scheduleOf, type Schedule } from './schedule.ts'
import { shrunk } from './shrink.ts'
import { simulate, type Run } from './simulate.ts'
import { told } from './told.ts'

/** What is wrong with a schedule's run, in words; and the run, if it came to an end. */
export async function trial(schedule: Schedule, { tell = false } = {}): Promise<{ wrong: string[]; run: Run | null }> {
  try {
    const run = await simulate(schedule, { tell })
    return { wrong: judged(run), run }
  } catch (error) {
    return { wrong: [`it broke off: ${error instanceof Error ? error.stack : String(error)}`], run: null }
  }
}

/** What happens in a seed that goes wrong: the verdict, the command that shows it again, and the smallest story found. */
export async function story(seed: number): Promise<string> {
  const schedule = scheduleOf(seed)
  const [first = ''] = (await trial(schedule)).wrong
  // The same rule, so that one mistake is not taken for another on the way.
  const rule = first.slice(0, first.indexOf(':') + 1)
  const small = await shrunk(schedule, async (smaller) =>
    (await trial(smaller)).wrong.some((each) => each.startsWith(rule)),
  )
  const { wrong, run } = await trial(small, { tell: true })
  const command = `npm run simulate -- --seed ${seed}`
  return [
    `${command} shows:`,
    ...wrong.slice(0, 10).map((each) => `  ${each}`),
    '',
    run === null ? '' : told(run),
  ].join('\n')
}

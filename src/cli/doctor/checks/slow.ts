import { about, type Finding } from '../finding.ts'
import type { Subject } from './subject.ts'
import { many, time } from '../../units.ts'

const voice = about('slow commands', 'docs/production.md#timeouts')

interface Slow {
  readonly command: string
  /** Milliseconds. */
  readonly took: number
  readonly ago: number
}

/** The slowest commands in the server's slow log. */
export async function slow({ connection, settings }: Subject): Promise<Finding[]> {
  const answer = await connection.ask('SLOWLOG', 'GET', 128)
  if ('refused' in answer) return [voice.note(`Not allowed to look at the slow log (${answer.refused})`)]
  const logged = (answer.reply as unknown[]).map(entryIn).toSorted((a, b) => b.took - a.took)
  const [slowest] = logged
  if (slowest === undefined) return [voice.ok('None in the slow log')]
  const worst = `${slowest.command} took ${time(slowest.took)}, ${time(slowest.ago)} ago`
  const what = `${many(logged.length, 'command')} in the slow log; ${worst}`
  if (slowest.took < settings.commandTimeout / 2) return [voice.ok(what)]
  const todo =
    'The server does one thing at a time: meanwhile every command waits, ' +
    `and after ${time(settings.commandTimeout)} (commandTimeout) it counts as away.`
  return [voice.warning(what, todo)]
}

// Only the name: the arguments are other applications' data.
function entryIn(entry: unknown): Slow {
  const [, at, micros, [command]] = entry as [unknown, number, number, [string]]
  return {
    command: command.toUpperCase(),
    took: Number(micros) / 1_000,
    ago: Math.max(0, Date.now() - 1_000 * Number(at)),
  }
}

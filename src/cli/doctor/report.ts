import type { Finding, Level } from './finding.ts'
import type { Question } from './options.ts'
import { pageAddress } from '../package.ts'
import { painted, wrapped } from '../terminal.ts'
import { many } from '../units.ts'

/** The findings: in a cluster by the name of each server, and those about the whole under `''`. */
export type Found = ReadonlyMap<string, readonly Finding[]>

/** The number of findings of each level. */
export function counted(found: Found): Record<Level, number> {
  const count = { ok: 0, note: 0, warning: 0, problem: 0 }
  for (const { level } of [...found.values()].flat()) count[level]++
  return count
}

/** The levels from the lightest to the heaviest, each with its colour: what is wrong comes last. */
const paints = { ok: 'green', note: 'cyan', warning: 'yellow', problem: 'red' } as const
const levels = Object.keys(paints) as Level[]

function byWeight(findings: readonly Finding[]): readonly Finding[] {
  return findings.toSorted((one, other) => levels.indexOf(one.level) - levels.indexOf(other.level))
}

function heaviest(findings: readonly Finding[]): number {
  return Math.max(...findings.map(({ level }) => levels.indexOf(level)))
}

/** The findings for people: the heaviest last, and the servers that have them. */
export function asText(question: Question, found: Found): string {
  const { namespace, wakeUp } = question.settings
  const parts = [...found]
    .toSorted(([, one], [, other]) => heaviest(one) - heaviest(other))
    .map(([server, findings]) => [...(server === '' ? [] : [server]), ...byWeight(findings).map(textOf)].join('\n'))
  const { problem, warning, note } = counted(found)
  const problems = problem === 0 ? 'No problem' : painted('red', many(problem, 'problem'))
  const sum = `${problems}, ${many(warning, 'warning')}, ${many(note, 'note')}.`
  return [`For namespace ${namespace}, with wakeUp: '${wakeUp}'`, ...parts, sum].join('\n\n')
}

function textOf({ check, level, what, todo, page }: Finding): string {
  const indent = ' '.repeat(24)
  const lines = level === 'ok' ? [what] : [what, ...(todo === '' ? [] : [todo]), pageAddress(page)]
  const text = wrapped(`${level.padEnd(8)} ${check.padEnd(13)}  ${lines.join('\n')}`, indent)
  return painted(paints[level], level) + text.slice(level.length)
}

/** The findings for programs. */
export function asJson(question: Question, found: Found, version: string): string {
  const findings = [...found].flatMap(([server, of]) => of.map((finding) => ({ server, ...finding })))
  return JSON.stringify({ herdless: version, settings: question.settings, levels: counted(found), findings })
}

/** The reason for an examination without findings, for programs. */
export function failureAsJson(message: string, version: string): string {
  return JSON.stringify({ herdless: version, error: message })
}

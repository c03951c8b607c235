import type { Finding, Level } from './finding.ts'
import type { Question } from './options.ts'
import { many } from './units.ts'

/** The findings: in a cluster by the name of each server, and those about the whole under `''`. */
export type Found = ReadonlyMap<string, readonly Finding[]>

/** The number of findings of each level. */
export function counted(found: Found): Record<Level, number> {
  const count = { ok: 0, note: 0, warning: 0, problem: 0 }
  for (const { level } of [...found.values()].flat()) count[level]++
  return count
}

/** The findings for people. */
export function asText(question: Question, found: Found, folder: string): string {
  const { namespace, wakeUp } = question.settings
  const parts = [...found].map(([server, findings]) => {
    const head = server === '' ? [] : [server]
    return [...head, ...findings.map(lineOf)].join('\n')
  })
  const { problem, warning, note } = counted(found)
  const sum = [
    problem === 0 ? 'No problem' : many(problem, 'problem'),
    many(warning, 'warning'),
    many(note, 'note'),
  ].join(', ')
  return [`For namespace ${namespace}, with wakeUp: '${wakeUp}'`, ...parts, `${sum}. The pages are in ${folder}.`].join(
    '\n\n',
  )
}

function lineOf({ check, level, what, todo, page }: Finding): string {
  const line = `${level.padEnd(8)} ${check.padEnd(13)}  ${what}`
  if (level === 'ok') return line
  const indent = ' '.repeat(24)
  return [line, ...(todo === '' ? [] : [indent + todo]), `${indent}${page}`].join('\n')
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

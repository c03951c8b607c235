/** The command `herdless doctor` as its users run it: compiled, in a process of its own. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Finding, Level } from '../../src/cli/doctor/finding.ts'
import { builtPackage } from '../support/fleet-build.ts'

/** How a command ended, what it printed, and how long it took in milliseconds. */
export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
  readonly took: number
}

/** A finding as `--json` has it. */
export type Told = Finding & { readonly server: string }

let built: Promise<string> | undefined

/** Runs the compiled `herdless` of a folder. */
export async function herdlessIn(folder: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const { REDIS_URL: _, ...others } = process.env
  const startedAt = performance.now()
  return await new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [join(folder, 'cli/main.js'), ...args],
      { env: { ...others, ...env }, timeout: 25_000 },
      (_error, out, err) => resolve({ code: child.exitCode, out, err, took: performance.now() - startedAt }),
    )
  })
}

/** Runs `herdless` with these arguments, in an environment that names no Redis unless `env` does. */
export async function herdless(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  return herdlessIn(await (built ??= builtPackage()), args, env)
}

/** What the doctor tells a program, with the code that it ended with. */
export async function examined(...args: string[]): Promise<{ readonly code: number | null; readonly told: Told[] }> {
  const { code, out, err } = await herdless(['doctor', '--json', ...args])
  expect(err).toBe('')
  const { findings, levels } = JSON.parse(out) as { findings: Told[]; levels: Record<Level, number> }
  for (const level of ['ok', 'note', 'warning', 'problem'] as const) {
    expect(findings.filter((finding) => finding.level === level)).toHaveLength(levels[level])
  }
  expect(code).toBe(levels.problem > 0 ? 1 : 0)
  return { code, told: findings }
}

/** The findings of one check. */
export function of(told: readonly Told[], check: string): Told[] {
  return told.filter((finding) => finding.check === check)
}

/** The checks that found something of this level. */
export function checksWith(told: readonly Told[], level: Level): string[] {
  return told.filter((finding) => finding.level === level).map(({ check }) => check)
}

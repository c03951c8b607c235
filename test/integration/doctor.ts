/** The command `herdless doctor` as its users run it: compiled, in a process of its own. */
import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Finding, Level } from '../../src/cli/doctor/finding.ts'
import { checkout } from '../../tools/command.mjs'
import { guardianOfThisProcess } from '../../tools/servers/guarded-process.mjs'
import { majorsFolder } from '../older/majors.mjs'
import { builtPackage } from '../support/fleet-build.ts'
import { clientLibrary } from '../support/node-redis.ts'

/** How a command ended, what it printed, and how long it took in milliseconds. */
export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
  readonly took: number
}

/** A finding as `--json` has it. */
export type Told = Finding & { readonly server: string }

/** The libraries of clients. */
export type Library = 'ioredis' | 'redis'

/** The compiled package in a folder as npm would lay it out, with what it depends on, and with this library alone. */
export async function installed(library: Library | null): Promise<string> {
  const packages = join(await guardianOfThisProcess().newFolder(), 'node_modules')
  const own = join(packages, 'herdless')
  await mkdir(own, { recursive: true })
  await cp(await builtPackage(), join(own, 'dist'), { recursive: true })
  await writeFile(join(own, 'package.json'), '{ "name": "herdless", "version": "1.2.3" }')
  const { dependencies } = JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  for (const name of Object.keys(dependencies))
    await symlink(join(checkout, 'node_modules', name), join(packages, name))
  if (library !== null) await symlink(join(majorsFolder, 'node_modules', library), join(packages, library))
  return join(own, 'dist')
}

/** The compiled package beside the library that this run is about. */
function given(): Promise<string> {
  return clientLibrary === 'node-redis' ? installed('redis') : builtPackage()
}

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
  return herdlessIn(await (built ??= given()), args, env)
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

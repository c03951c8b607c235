/** Lets spin search all that a model in spec/ can do. Needs spin, which is fetched where it is missing, and a C compiler. */
import { execFile } from 'node:child_process'
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { provisionSpin } from './servers/provision-spin.mjs'
import { findProgram, foldersOfPath } from './servers/redis-program.mjs'

/**
 * @typedef {{ spin: import('./servers/provision-spin.mjs').Spin, compiler: string }} ModelChecker
 *
 * @typedef {object} Search
 * @property {string} model the path of the Promela file
 * @property {Record<string, number>} settings its macros
 * @property {'states' | 'cycles'} looksFor states that break an assertion or are a dead end; or runs that never end
 *   although every process has its turns (weak fairness)
 * @property {boolean} [short] whether it is over before a compiler that takes its time would be ready
 * @property {number} [depth] most steps of a run
 * @property {number} [megabytes] most memory
 *
 * @typedef {object} Found
 * @property {string | null} counterexample what is wrong, in the words of spin
 * @property {string | null} incomplete why not everything was searched, so that nothing is proved
 * @property {number} states how many were searched
 * @property {number} depth the steps of the longest run
 * @property {number} megabytes
 * @property {number} seconds
 */

const execute = promisify(execFile)
const model = 'model.pml'

/**
 * What a search needs.
 * @returns {Promise<ModelChecker>}
 * @throws {Error} where it cannot be had: the message names the way out.
 */
export async function provisionModelChecker() {
  return { compiler: await provisionCompiler(), spin: await provisionSpin() }
}

async function provisionCompiler() {
  const compiler = ['cc', 'gcc', 'clang'].map((name) => findProgram(name, foldersOfPath())).find(Boolean)
  const wayOut = 'Install one, with the headers of the C library: on Debian `apt-get install gcc libc6-dev`.'
  if (compiler === undefined) throw new Error(`There is no C compiler on the PATH (cc, gcc or clang). ${wayOut}`)
  await inNewFolder(async (folder) => {
    const source = join(folder, 'empty.c')
    await writeFile(source, '#include <stdio.h>\nint main(void) { return 0; }\n')
    await execute(compiler, ['-o', join(folder, 'empty'), source])
  }).catch((cause) => {
    throw new Error(`${compiler} cannot compile a program here. ${wayOut}`, { cause })
  })
  return compiler
}

/**
 * Searches until there is a counterexample, or everything has been seen.
 * @param {ModelChecker} checker
 * @param {Search} search
 * @returns {Promise<Found>}
 */
export function searched(checker, search) {
  return inNewFolder(async (folder) => {
    const pan = await compiled(checker, search, folder)
    return foundIn(await said(pan, optionsOf(search), folder))
  })
}

/**
 * A way into the counterexample of a search, statement by statement; into a bad state the shortest.
 * @param {ModelChecker} checker
 * @param {Search} search
 * @returns {Promise<string>}
 */
export function trailOf(checker, search) {
  return inNewFolder(async (folder) => {
    const shortened = search.looksFor === 'states'
    const pan = await compiled(checker, search, folder, shortened ? ['-DREACH'] : [])
    await said(pan, [...optionsOf(search), ...(shortened ? ['-i'] : [])], folder)
    return runSpin(checker, search, ['-t', '-p'], folder)
  })
}

/**
 * @param {ModelChecker} checker
 * @param {Search} search
 * @param {string} folder
 * @param {string[]} [flags]
 */
async function compiled(checker, search, folder, flags = []) {
  const text = await readFile(search.model, 'utf8')
  const unknown = Object.keys(search.settings).find((name) => !new RegExp(`\\b${name}\\b`).test(text))
  // It would change nothing, and something smaller would be proved.
  if (unknown !== undefined) throw new TypeError(`Expected a macro of ${search.model}, got ${unknown}`)
  // spin and pan write beside the model.
  await copyFile(search.model, join(folder, model))
  await runSpin(checker, search, ['-a'], folder)
  const pan = join(folder, 'pan')
  const kind = search.looksFor === 'states' ? ['-DSAFETY'] : ['-DNP', '-DNFAIR=4']
  // Partial order reduction would save nothing here, so nobody needs to believe that it is right.
  const all = [
    ...kind,
    '-DNOREDUCE',
    `-DMEMLIM=${search.megabytes ?? 4_000}`,
    search.short ? '-O0' : '-O2',
    '-w',
    ...flags,
  ]
  await execute(checker.compiler, [...all, '-o', pan, 'pan.c'], { cwd: folder })
  return pan
}

/**
 * @param {ModelChecker} checker
 * @param {Search} search
 * @param {string[]} options
 * @param {string} folder
 */
async function runSpin({ spin, compiler }, { settings }, options, folder) {
  const macros = Object.entries(settings).map(([name, value]) => `-D${name}=${value}`)
  const running = execute(spin.program, [`-P${compiler} -E -x c`, ...macros, ...options, model], {
    cwd: folder,
    env: { ...process.env, ...spin.env },
    maxBuffer: 1e8,
  })
  const { stdout } = await running.catch((cause) => {
    throw new Error(`spin does not understand the model: ${cause.stdout || cause.message}`, { cause })
  })
  return stdout
}

/** @param {Search} search */
function optionsOf({ looksFor, depth = 10_000 }) {
  return [`-m${depth}`, ...(looksFor === 'cycles' ? ['-l', '-f'] : [])]
}

/**
 * All that a program says, however it ends: pan says itself whether it came to an end.
 * @param {string} program
 * @param {string[]} options
 * @param {string} cwd
 * @returns {Promise<string>}
 */
function said(program, options, cwd) {
  // The search spends most of its time in lookups of states all over its memory; pages of 2 MB save a sixth of it.
  const env = { ...process.env, GLIBC_TUNABLES: 'glibc.malloc.hugetlb=1' }
  return execute(program, options, { cwd, env, maxBuffer: 1e8 }).then(
    ({ stdout, stderr }) => stdout + stderr,
    ({ stdout, stderr, message }) => `${stdout}${stderr}\npan: ${message}`,
  )
}

/**
 * @param {string} report of pan
 * @returns {Found}
 */
function foundIn(report) {
  const number = (/** @type {RegExp} */ pattern) => Number(pattern.exec(report)?.[1] ?? Number.NaN)
  const wrong = /^pan:\d+: (.*) \(at depth \d+\)$/m.exec(report)?.[1] ?? null
  // Anything else is a failure of the search itself.
  const counterexample = /^(?:assertion violated|invalid end state|non-progress cycle)/.test(wrong ?? '') ? wrong : null
  const errors = number(/^State-vector .* errors: (\d+)$/m)
  const figures = {
    states: number(/^ *(\d+(?:\.\d+)?(?:e\+\d+)?) states, stored/m),
    depth: number(/depth reached (\d+)/),
    megabytes: number(/^ *([\d.]+)\ttotal actual memory usage$/m),
    seconds: number(/elapsed time ([\d.]+) seconds/),
  }
  // A search that was cut short says so in one of several ways, and counts no errors all the same.
  const complaint =
    /^(?:error: .*|pan:(?:\d+:)? (?!elapsed|rate|wrote|resizing).*|Warning: Search not completed)$/m.exec(report)
  const isWhole = errors === 0 && complaint === null && !Object.values(figures).some(Number.isNaN)
  const incomplete = counterexample !== null || isWhole ? null : (complaint?.[0] ?? `pan said:\n${report}`)
  return { counterexample, incomplete, ...figures }
}

/**
 * @template T
 * @param {(folder: string) => Promise<T>} run
 * @returns {Promise<T>}
 */
async function inNewFolder(run) {
  const folder = await mkdtemp(join(tmpdir(), 'herdless-spec-'))
  try {
    return await run(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Runs suites of `tools/suites.mjs`, with the packages that they need, and counts their tests. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { checkout, command } from './command.mjs'
import { isInstalled } from './installed.mjs'
import { suites } from './suites.mjs'
import { until } from './until.mjs'

/** @typedef {{ passed: number, failed: number, skipped: number }} Count */
/** @typedef {{ name: string, status: string, assertionResults: { status: string }[] }} FileResults */

/**
 * Runs suites in one go.
 * @param {readonly string[]} names
 * @param {Count} count what came of their tests is added to it
 * @throws {Error} if one of them fails
 */
export async function runSuites(names, count) {
  for (const folder of new Set(names.flatMap((name) => suites[name]?.packages ?? []))) await prepare(folder)
  const results = join(checkout, 'node_modules/.cache/herdless/test-results.json')
  await rm(results, { force: true })
  const projects = names.map((name) => `--project=${name}`)
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${results}`]
  const folder = await mkdtemp(join(tmpdir(), 'herdless-tests-'))
  // PostgreSQL runs as a user of its own, and has its folder in here.
  await chmod(folder, 0o711)
  const env = { TMPDIR: folder }
  const failure = await command('vitest', ['run', ...projects, ...reporters], { env }).then(
    () => allGone(folder),
    (/** @type {Error} */ error) => error,
  )
  await rm(folder, { recursive: true, force: true })
  await add(results, count).catch((cause) => {
    throw (
      failure ?? new Error('vitest ended with 0 and has written no results, so it ended before its tests', { cause })
    )
  })
  if (failure) throw failure
}

/**
 * The suites that run each test file.
 * @returns {Promise<Map<string, string[]>>} their names, by the path of the file in the checkout
 */
export async function suitesByFile() {
  const list = ['list', '--filesOnly', '--json']
  const vitest = join(checkout, 'node_modules/vitest/vitest.mjs')
  const options = { cwd: checkout, maxBuffer: 1e8 }
  const { stdout } = await promisify(execFile)(process.execPath, [vitest, ...list], options)
  const names = new Map()
  for (const { file, projectName } of /** @type {{ file: string, projectName: string }[]} */ (JSON.parse(stdout))) {
    const path = relative(checkout, file)
    names.set(path, [...(names.get(path) ?? []), projectName])
  }
  return names
}

/** The test files that no suite runs. */
export async function unnamedFiles() {
  const run = await suitesByFile()
  const files = await readdir(join(checkout, 'test'), { recursive: true })
  return files
    .filter((file) => file.endsWith('.test.ts') && !file.includes('node_modules'))
    .map((file) => join('test', file))
    .filter((path) => !run.has(path))
}

/**
 * Installs the packages of a folder and checks its types, which the types of the checkout leave out.
 * @param {string} folder
 */
export async function prepare(folder) {
  const path = join(checkout, folder)
  if (!(await isInstalled(path))) await command('npm', ['ci', '--no-audit', '--no-fund'], { cwd: path })
  if (existsSync(join(path, 'tsconfig.json')) && folder.startsWith('test/')) await command('tsc', ['-p', path])
}

/**
 * What is left of a run in its temporary folder, as an error. A guardian goes a moment after its process.
 * @param {string} folder
 */
async function allGone(folder) {
  const isEmpty = async () => (await readdir(folder)).length === 0
  return await until('the tests have left nothing in their temporary folder', isEmpty).then(
    () => undefined,
    async () => new Error(`The tests leave behind in their temporary folder: ${(await readdir(folder)).join(', ')}`),
  )
}

/**
 * A file that could not be run counts as one failure, so that it is not taken for a file without tests.
 * @param {string} results of vitest's reporter `json`
 * @param {Count} count
 */
async function add(results, count) {
  /** @type {FileResults[]} */
  const files = JSON.parse(await readFile(results, 'utf8')).testResults
  const outcomes = files.flatMap(({ assertionResults }) => assertionResults.map(({ status }) => status))
  const broken = files.filter(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.every((test) => test.status !== 'failed'),
  )
  const passed = outcomes.filter((status) => status === 'passed').length
  const failed = outcomes.filter((status) => status === 'failed').length
  count.passed += passed
  count.failed += failed + broken.length
  count.skipped += outcomes.length - passed - failed
}

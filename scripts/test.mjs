/**
 * `npm test`: what a change can plausibly break, from a fresh clone with nothing but Node and npm, within minutes. With `--full`, all there
 * is. It stops at the first step that fails and says what to do; its last line is the count of tests.
 */
import { readdir, readFile, rm } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { checkout, command } from '../tools/command.mjs'
import { isInstalled } from '../tools/installed.mjs'
import { suites } from '../tools/suites.mjs'

const { values: options } = parseArgs({ options: { full: { type: 'boolean', default: false } } })

/**
 * @typedef {object} Step
 * @property {string} what in words
 * @property {() => Promise<unknown>} run rejects when it fails
 * @property {string} remedy what to do then
 */

/** Of all that has been run so far. */
const tests = { passed: 0, failed: 0, skipped: 0 }

/** @type {Step[]} */
const steps = [
  {
    what: 'the packages are installed',
    run: installIfStale,
    remedy: 'see what npm says above; package.json and package-lock.json must agree',
  },
  {
    what: 'there is a Redis',
    run: () => npmRun('redis'),
    remedy: 'one of the ways out that are named above',
  },
  {
    what: 'the embedded Lua is that of src/redis/lua',
    run: () => npmRun('embed:check'),
    remedy: '`npm run embed`, and commit the result',
  },
  {
    what: 'it compiles for both module systems',
    run: () => npmRun('build'),
    remedy: 'mend what the compiler names above, then `npm run build`',
  },
  {
    what: 'the format is the common one',
    run: () => npmRun('format:check'),
    remedy: '`npm run format`',
  },
  {
    what: 'the linter has no complaint, and the types hold, for us and for our users',
    run: () => all([npmRun('lint', { isBeside: true }), npmRun('types')]),
    remedy: 'mend what they name above, then `npm run lint` and `npm run types`',
  },
  {
    what: 'the tests pass',
    run: () => runSuites('quick'),
    remedy: 'see the failures above; `npx vitest run <file>` runs one file again',
  },
  {
    what: 'the packed package can be used',
    run: () => npmRun('check:package'),
    remedy: 'see what is said above, then `npm run check:package`',
  },
  ...(options.full
    ? [
        {
          what: 'the long tests pass',
          run: () => runSuites('rest').then(checkAllRan),
          remedy: 'see the failures above; `npx vitest run <file>` runs one file again',
        },
      ]
    : []),
]

for (const [index, { what, run, remedy }] of steps.entries()) {
  console.log(`\n[${index + 1}/${steps.length}] ${what}`)
  try {
    await run()
  } catch (error) {
    console.log(`\nNot so: ${what}. ${error instanceof Error ? error.message : error}\nWhat to do: ${remedy}\n`)
    // A failure outside the tests is one too many all the same.
    tests.failed ||= 1
    process.exitCode = 1
    break
  }
}
console.log(`${tests.passed} passed, ${tests.failed} failed${tests.skipped > 0 ? `, ${tests.skipped} skipped` : ''}`)

async function installIfStale() {
  if (await isInstalled(checkout)) return
  await command('npm', ['ci', '--no-audit', '--no-fund'])
}

/**
 * As Promise.all, but it also waits for the others where one fails.
 * @param {Promise<void>[]} runs
 */
async function all(runs) {
  const ends = await Promise.allSettled(runs)
  const failure = ends.find((end) => end.status === 'rejected')
  if (failure) throw failure.reason
}

/** @param {keyof typeof suites} which */
async function runSuites(which) {
  const results = join(checkout, `node_modules/.cache/herdless/test-results-${which}.json`)
  await rm(results, { force: true })
  const projects = suites[which].map((project) => `--project=${project}`)
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${results}`]
  const failure = await command('vitest', ['run', ...projects, ...reporters]).then(
    () => undefined,
    (/** @type {Error} */ error) => error,
  )
  await count(results).catch((cause) => {
    throw (
      failure ?? new Error('vitest ended with 0 and has written no results, so it ended before its tests', { cause })
    )
  })
  if (failure) throw failure
}

/** @typedef {{ name: string, status: string, assertionResults: { status: string }[] }} FileResults */

/** @param {string} results of vitest's reporter `json` @returns {Promise<FileResults[]>} */
async function read(results) {
  return JSON.parse(await readFile(results, 'utf8')).testResults
}

/**
 * A file that could not be run counts as one failure, so that it is not taken for a file without tests.
 * @param {string} results
 */
async function count(results) {
  const files = await read(results)
  const outcomes = files.flatMap(({ assertionResults }) => assertionResults.map(({ status }) => status))
  const broken = files.filter(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.every((test) => test.status !== 'failed'),
  )
  const passed = outcomes.filter((status) => status === 'passed').length
  const failed = outcomes.filter((status) => status === 'failed').length
  tests.passed += passed
  tests.failed += failed + broken.length
  tests.skipped += outcomes.length - passed - failed
}

async function checkAllRan() {
  const folder = join(checkout, 'node_modules/.cache/herdless')
  const files = await Promise.all(Object.keys(suites).map((which) => read(join(folder, `test-results-${which}.json`))))
  const ran = new Set(files.flat().map(({ name }) => resolve(name)))
  const left = (await testFiles()).filter((file) => !ran.has(file)).map((file) => relative(checkout, file))
  if (left.length > 0) throw new Error(`No project of vitest.config.ts runs ${left.join(', ')}`)
}

async function testFiles() {
  const files = await readdir(join(checkout, 'test'), { recursive: true })
  return files.filter((file) => file.endsWith('.test.ts')).map((file) => join(checkout, 'test', file))
}

/**
 * @param {string} script of package.json
 * @param {{ isBeside?: boolean }} [options] as for `command`
 */
function npmRun(script, options = {}) {
  return command('npm', ['run', '--silent', script], options)
}

/**
 * `npm test`: what a change can break, from a fresh clone with nothing but Node and npm, within minutes. `--ring landing` adds what stands
 * between a change and main (`.ci/run`), and `--ring nightly` all there is. It stops at the first step that fails and says what to do; its last
 * line is the count of tests.
 */
import { parseArgs } from 'node:util'
import { checkout, command } from '../tools/command.mjs'
import { isInstalled } from '../tools/installed.mjs'
import { runSuites, unnamedFiles } from '../tools/run-suites.mjs'
import { rings, suitesOf } from '../tools/suites.mjs'

/** @typedef {import('../tools/suites.mjs').Ring} Ring */

const { values: options } = parseArgs({ options: { ring: { type: 'string', default: 'commit' } } })
const last = rings.indexOf(/** @type {Ring} */ (options.ring))
if (last === -1) throw new TypeError(`Expected --ring to be ${rings.join(' or ')}, got ${options.ring}`)

/**
 * @typedef {object} Step
 * @property {string} what in words
 * @property {() => Promise<unknown>} run rejects when it fails
 * @property {string} remedy what to do then
 * @property {Ring} [ring] the first ring with this step; the first of all by default
 */

/** Of all that has been run so far. */
const tests = { passed: 0, failed: 0, skipped: 0 }

/** @type {Step[]} */
const all = [
  {
    what: 'the packages are installed',
    run: async () => (await isInstalled(checkout)) || (await command('npm', ['ci', '--no-audit', '--no-fund'])),
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
    run: () => allOf([npmRun('lint', { isBeside: true }), npmRun('types')]),
    remedy: 'mend what they name above, then `npm run lint` and `npm run types`',
  },
  ...rings.map((ring) => testsOf(ring)),
  {
    ring: 'landing',
    what: 'the packed package can be used',
    run: () => npmRun('check:package'),
    remedy: 'see what is said above, then `npm run check:package`',
  },
]
const steps = all.filter(({ ring = 'commit' }) => rings.indexOf(ring) <= last)

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

/** @param {Ring} ring @returns {Step} */
function testsOf(ring) {
  return {
    ring,
    what: `the tests of the ring "${ring}" pass`,
    run: async () => {
      const unnamed = ring === 'commit' ? await unnamedFiles() : []
      if (unnamed.length > 0) throw new Error(`No project of vitest.config.ts runs ${unnamed.join(', ')}`)
      await runSuites(suitesOf(ring), tests)
    },
    remedy: 'see the failures above; `npx vitest run <file>` runs one file again',
  }
}

/**
 * As Promise.all, but it also waits for the others where one fails.
 * @param {Promise<void>[]} runs
 */
async function allOf(runs) {
  const ends = await Promise.allSettled(runs)
  const failure = ends.find((end) => end.status === 'rejected')
  if (failure) throw failure.reason
}

/**
 * @param {string} script of package.json
 * @param {{ isBeside?: boolean }} [given] as for `command`
 */
function npmRun(script, given = {}) {
  return command('npm', ['run', '--silent', script], given)
}

/**
 * `npm run mutate`: breaks a copy of the code in each way that tools/mutations/core.mjs and the lists beside it name, and runs the tests that must
 * turn red: first as far as they stand in the first two rings, and if these do not notice it, in the third. Fails if one of them stays green, or if a
 * break no longer applies.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { Command } from 'commander'
import { checkout } from '../tools/command.mjs'
import { allMutations } from '../tools/mutations/all.mjs'
import { prepare, suitesByFile } from '../tools/run-suites.mjs'
import { suites, suitesOf } from '../tools/suites.mjs'

const program = new Command('npm run mutate --')
  .description('Breaks a copy of the code in each way that tools/mutations lists; each break must turn the suites red.')
  .option('--only <text>', 'the breaks with this text in their names', '')
  .option('--shard <part>', 'a part of them, such as 1/4', '1/1')
  .option('--sample <number>', 'so many of them, drawn at random')
  .option('--seed <text>', 'what the draw depends on', '1')
  .option('--gate', 'run the tests only as far as they stand in the first two rings')
  .option('--list', 'only say which breaks no longer apply')
  .parse()
/** @type {{ only: string, shard: string, sample?: string, seed: string, gate?: boolean, list?: boolean }} */
const options = program.opts()
const [shard = 1, shards = 1] = options.shard.split('/').map(Number)
if (!(shard >= 1 && shard <= shards)) program.error(`error: expected --shard to be like 1/2, got ${options.shard}`)
const execute = promisify(execFile)
/** How long the tests of one break may take in a ring, in minutes: some breaks make Vitest itself hang. */
const longest = 20
const gate = [...suitesOf('commit'), ...suitesOf('landing')]
const steps = options.gate ? [gate] : [gate, suitesOf('nightly')]

const flaws = [...(await flawsOf()), ...namesTwice()]
for (const flaw of flaws) console.log(flaw)
if (flaws.length > 0 || options.list) {
  console.log(`${allMutations.length} breaks, of which ${flaws.length} do not apply.`)
  process.exit(flaws.length > 0 ? 1 : 0)
}

const mutations = chosen()
const byFile = await suitesByFile()
const running = mutations.flatMap(({ tests }) => steps.flatMap((names) => suitesRunning(tests, names)))
for (const folder of new Set(running.flatMap((name) => suites[name]?.packages ?? []))) await prepare(folder)
const copy = await copyOfCheckout()
let unnoticed = 0
try {
  for (const mutation of mutations) {
    const started = performance.now()
    const verdict = await judged(mutation)
    if (verdict.what !== 'caught') unnoticed++
    const seconds = Math.round((performance.now() - started) / 1_000)
    const rule = mutation.rule === null ? '' : ` (rule ${mutation.rule})`
    console.log(`${verdict.what.padEnd(8)}  ${mutation.name}${rule}, ${seconds} s\n          ${verdict.by}`)
  }
} finally {
  await rm(copy, { recursive: true, force: true })
}
console.log(unnoticed === 0 ? 'Every break turns the suites red.' : `${unnoticed} breaks were not noticed.`)
process.exitCode = unnoticed === 0 ? 0 : 1

/** Which breaks do not fit the code, or name tests that are not there. */
async function flawsOf() {
  const found = await Promise.all(
    allMutations.map(async ({ name, file, from, to, tests }) => {
      const text = await readFile(join(checkout, file), 'utf8').catch(() => '')
      const missing = tests.filter((each) => !existsSync(join(checkout, each)))
      if (text.split(from).length !== 2) return `${name}: its text does not stand in ${file} exactly once`
      if (to === from) return `${name}: it breaks nothing`
      return missing.length > 0 ? `${name}: ${missing.join(', ')} is not there` : []
    }),
  )
  return found.flat()
}

function namesTwice() {
  const names = allMutations.map(({ name }) => name)
  return names.filter((name, index) => names.indexOf(name) !== index).map((name) => `${name}: two have this name`)
}

/** Those of this shard, or as many as were to be drawn. */
function chosen() {
  const all = allMutations.filter(({ name }, index) => name.includes(options.only) && index % shards === shard - 1)
  if (all.length === 0) program.error(`error: no break has ${JSON.stringify(options.only)} in its name`)
  if (options.sample === undefined) return all
  // The draw is the same wherever it is made: a hash orders them.
  const drawn = all.map((mutation) => ({
    mutation,
    order: createHash('sha256').update(`${options.seed} ${mutation.name}`).digest('hex'),
  }))
  drawn.sort((one, other) => (one.order < other.order ? -1 : 1))
  return drawn.slice(0, Number(options.sample)).map(({ mutation }) => mutation)
}

async function copyOfCheckout() {
  const folder = await mkdtemp(join(tmpdir(), 'herdless-mutate-'))
  const { stdout } = await execute('git', ['ls-files', '-co', '--exclude-standard'], { cwd: checkout, maxBuffer: 1e8 })
  for (const file of stdout.split('\n').filter(Boolean)) {
    await mkdir(dirname(join(folder, file)), { recursive: true })
    await cp(join(checkout, file), join(folder, file)).catch((error) => {
      // Deleted, but not committed yet.
      if (error.code !== 'ENOENT') throw error
    })
  }
  for (const home of ['.', ...new Set(Object.values(suites).flatMap(({ packages = [] }) => packages))]) {
    const packages = join(checkout, home, 'node_modules')
    if (existsSync(packages)) await symlink(packages, join(folder, home, 'node_modules'))
  }
  return folder
}

/** @typedef {{ what: 'caught' | 'SURVIVED' | 'NOT RUN', by: string }} Verdict */

/** @param {import('../tools/mutations/core.mjs').Mutation} mutation @returns {Promise<Verdict>} */
async function judged({ file, from, to, tests }) {
  const path = join(copy, file)
  const before = await readFile(path, 'utf8')
  await writeFile(
    path,
    before.replace(from, () => to),
  )
  try {
    await execute('node', ['scripts/embed-lua.mjs'], { cwd: copy })
    await execute('node', ['scripts/build.mjs'], { cwd: copy })
    return await verdictOf(tests)
  } catch (error) {
    return { what: 'NOT RUN', by: `the broken code does not even build: ${error}` }
  } finally {
    await writeFile(path, before)
  }
}

/** Those of the suites that run one of the tests, each a file or a folder. @param {string[]} tests @param {string[]} names */
function suitesRunning(tests, names) {
  const files = [...byFile.keys()].filter((file) => tests.some((test) => file.startsWith(test)))
  return names.filter((name) => files.some((file) => byFile.get(file)?.includes(name)))
}

/** What the tests say, in the first rings that notice the break. @param {string[]} tests @returns {Promise<Verdict>} */
async function verdictOf(tests) {
  const all = tests.join(', ')
  /** @type {Verdict} */
  let verdict = { what: 'NOT RUN', by: `none of these stands in these rings: ${all}` }
  for (const names of steps) {
    const some = suitesRunning(tests, names)
    if (some.length > 0) verdict = await verdictIn(some, tests)
    if (verdict.what === 'caught') break
  }
  return verdict
}

/** @param {string[]} names @param {string[]} tests @param {string[]} flags @returns {Promise<Verdict>} */
async function verdictIn(names, tests, flags = ['--bail=1']) {
  const results = join(copy, 'mutation-results.json')
  await rm(results, { force: true })
  const projects = names.map((name) => `--project=${name}`)
  const reporter = ['--reporter=json', `--outputFile=${results}`]
  const vitest = join(copy, 'node_modules/vitest/vitest.mjs')
  const failure = await execute(process.execPath, [vitest, 'run', ...tests, ...projects, ...flags, ...reporter], {
    cwd: copy,
    maxBuffer: 1e8,
    timeout: longest * 60_000,
    killSignal: 'SIGKILL',
  }).then(
    () => null,
    (error) => error,
  )
  if (failure?.killed) return { what: 'NOT RUN', by: `the tests did not end within ${longest} minutes` }
  const all = tests.join(', ')
  if (!existsSync(results)) return { what: 'NOT RUN', by: `none of these tests runs: ${all}` }
  /** @type {{ testResults: { name: string, status: string, message: string, assertionResults: { status: string, fullName: string }[] }[] }} */
  const { testResults } = JSON.parse(await readFile(results, 'utf8'))
  const failures = testResults.flatMap(({ assertionResults }) =>
    assertionResults.filter(({ status }) => status === 'failed'),
  )
  const [first] = failures
  if (first !== undefined) return { what: 'caught', by: first.fullName }
  const broken = testResults.find(({ status }) => status === 'failed')
  if (broken !== undefined) return { what: 'NOT RUN', by: `${broken.name} could not be run: ${broken.message}` }
  // Whoever stops at the first failure may do so before it is told.
  if (failure !== null && flags.length > 0) return await verdictIn(names, tests, [])
  if (testResults.length === 0) return { what: 'NOT RUN', by: `none of these tests runs: ${all}` }
  return { what: 'SURVIVED', by: `${testResults.length} test files passed: ${all}` }
}

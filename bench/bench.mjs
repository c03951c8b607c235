/**
 * Measures what a call costs against a floor, in the same process and by turns.
 *
 * npm run bench [-- joins near …] [-- --rounds 7] [-- --json results.json] [-- --check <folder of another build>]
 *
 * With `--check`, the other build is measured beside this one, and the command fails if a line of this build is worse by
 * more than its own spread.
 */
import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { openRedis } from '../tools/servers/start-redis.mjs'
import { lines } from './lines/index.mjs'
import { median } from './median.mjs'

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '7' },
    json: { type: 'string' },
    check: { type: 'string' },
  },
})
const unknown = positionals.filter((name) => !Object.hasOwn(lines, name))
if (unknown.length > 0) {
  console.error(`Unknown line ${unknown.join(', ')}; expected some of ${Object.keys(lines).join(', ')}`)
  process.exit(2)
}
const here = fileURLToPath(new URL('../dist/esm', import.meta.url))
/** @type {Record<string, string>} */
const builds = options.check === undefined ? { '': here } : { other: resolve(options.check), this: here }
const server = await openRedis()
const names = positionals.length > 0 ? positionals : Object.keys(lines)
const results = []
let worse = 0
for (const name of names) {
  const line = /** @type {import('./lines/line.mjs').Line} */ (lines[name])
  const figures = await measure(name)
  const rows = rowsOf(line, figures)
  results.push({ name, title: line.title, unit: line.unit, better: line.better, rows })
  console.log(`\n${line.title} (${name})`)
  console.table(
    rows.map(({ way, middle, least, most, ratio, goal }) => ({
      '': way,
      [line.unit]: rounded(middle),
      'least – most': `${rounded(least)} – ${rounded(most)}`,
      'ratio to the floor': ratio === null ? '' : ratio.toFixed(2),
      goal: goal ?? '',
    })),
  )
  if (options.check !== undefined) worse += compare(line, figures)
}
await server.stop()
if (options.json !== undefined) {
  const machine = { node: process.version, cpu: cpus()[0]?.model ?? '', cores: cpus().length }
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], {
    cwd: join(here, '..'),
    encoding: 'utf8',
  }).trim()
  await writeFile(
    options.json,
    `${JSON.stringify({ machine, commit, rounds: Number(options.rounds), results }, null, 2)}\n`,
  )
}
if (worse > 0) {
  console.error(
    `${worse} ${worse === 1 ? 'line is' : 'lines are'} worse than in the other build by more than the spread.`,
  )
  process.exitCode = 1
}

/** @param {string} line @returns {Promise<Record<string, number[]>>} figures of each round, by way */
async function measure(line) {
  const order = { line, builds, url: server.url, rounds: Number(options.rounds) }
  const worker = fileURLToPath(new URL('measure-line.mjs', import.meta.url))
  const child = fork(worker, [JSON.stringify(order)], { execArgv: ['--expose-gc'] })
  const [figures] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`Measuring ${line} ended with ${code}`))),
  ])
  return figures
}

/** @param {import('./lines/line.mjs').Line} line @param {Record<string, number[]>} figures */
function rowsOf({ floor, goals }, figures) {
  return Object.entries(figures).map(([way, each]) => {
    const ofFloor = figures[way.includes(': ') ? way.replace(/: .*/u, `: ${floor}`) : floor]
    const isFloor = ofFloor === each || ofFloor === undefined
    return {
      way,
      middle: median(each),
      least: Math.min(...each),
      most: Math.max(...each),
      ratio: isFloor ? null : median(each.map((figure, round) => figure / (ofFloor[round] ?? 1))),
      goal: goals[way.replace(/^(this|other): /u, '')],
    }
  })
}

/**
 * How many ways of this build are worse than those of the other one, by more than the spread of both.
 * @param {import('./lines/line.mjs').Line} line
 * @param {Record<string, number[]>} figures
 */
function compare({ better, floor }, figures) {
  let count = 0
  for (const [way, ours] of Object.entries(figures)) {
    if (!way.startsWith('this: ') || way === `this: ${floor}`) continue
    const theirs = figures[way.replace('this: ', 'other: ')] ?? []
    const [isLess, worst, best] =
      better === 'less'
        ? [true, Math.min(...ours), Math.max(...theirs)]
        : [false, Math.max(...ours), Math.min(...theirs)]
    if (isLess ? worst > best : worst < best) {
      count++
      console.log(`worse: ${way}`)
    }
  }
  return count
}

/** @param {number} figure */
function rounded(figure) {
  return figure >= 100 ? Math.round(figure) : Number(figure.toPrecision(3))
}

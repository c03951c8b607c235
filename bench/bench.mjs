/** `npm run bench`: measures the cost of a call against a floor, and herdless beside its peers. */
import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Redis } from 'ioredis'
import { checkout } from '../tools/command.mjs'
import { openRedis } from '../tools/servers/start-redis.mjs'
import { lines } from './lines/index.mjs'
import { median } from './median.mjs'
import { resultsFolder, writePages } from './pages/files.mjs'
import { peerCases } from './peers/cases.mjs'
import { measurePeers } from './peers/measure.mjs'

const usage = `npm run bench -- [lines] [options]

Measures the cost of a call against a floor, in the same process and by turns, and herdless beside its peers. Without
names, all lines. peers stands for the comparison with other packages, which it installs, and peers:cold for one case of it.

  --rounds <n>      how often each way takes its turn (default 5)
  --json <folder>   writes the results to performance.json and peers.json in that folder
  --write           the same in bench/results, and writes the pages and the picture in docs/ from them
  --check <folder>  measures another build beside this one, and fails if a line of this build is worse by more than its
                    own spread: the folder with its index.js, such as ../other/dist/esm
  --list            says which lines there are
  --help            says this
`
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    help: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '5' },
    json: { type: 'string' },
    write: { type: 'boolean', default: false },
    check: { type: 'string' },
  },
})
const everything = [...Object.keys(lines), 'peers']
const single = peerCases.map((name) => `peers:${name}`)
if (options.help || options.list) {
  console.log(options.help ? usage : [...everything, ...single].join('\n'))
  process.exit()
}
const unknown = positionals.filter((name) => ![...everything, ...single].includes(name))
if (unknown.length > 0) {
  console.error(`Unknown line ${unknown.join(', ')}; expected some of ${[...everything, ...single].join(', ')}`)
  process.exit(2)
}
const names =
  positionals.length > 0 ? positionals : everything.filter((name) => options.check === undefined || name !== 'peers')
const chosen = names.filter((name) => !name.startsWith('peers'))
const cases = names.includes('peers') ? peerCases : peerCases.filter((name) => names.includes(`peers:${name}`))
if (
  options.write &&
  (![0, Object.keys(lines).length].includes(chosen.length) || ![0, peerCases.length].includes(cases.length))
) {
  console.error(
    `Expected --write with all lines, or with peers alone: a page of ${names.join(', ')} would lack the others`,
  )
  process.exit(2)
}
const here = fileURLToPath(new URL('../dist/esm', import.meta.url))
/** @type {Record<string, string>} */
const builds = options.check === undefined ? { '': here } : { other: resolve(options.check), this: here }
const server = await openRedis()
const results = []
let worse = 0
for (const name of chosen) {
  const line = /** @type {import('./lines/line.mjs').Line} */ (lines[name])
  const figures = await measure(name)
  const rows = rowsOf(line, figures)
  results.push({ name, title: line.title, unit: line.unit, better: line.better, rows })
  console.log(`\n${line.title} (${name})`)
  console.table(
    rows.map(({ way, middle, least, most, ratio, goal }) => ({
      way,
      [line.unit]: rounded(middle),
      'least – most': `${rounded(least)} – ${rounded(most)}`,
      'ratio to the floor': ratio === null ? '' : ratio.toFixed(2),
      goal: goal ?? '',
    })),
  )
  if (options.check !== undefined) worse += compare(line, figures)
}
const peers = cases.length > 0 ? await measurePeers(server.url, cases) : null
const setting = await settingOf(server.url)
await server.stop()
const folder = options.write ? resultsFolder : options.json
if (folder !== undefined) {
  await mkdir(folder, { recursive: true })
  const rounds = Number(options.rounds)
  if (results.length > 0) await save(join(folder, 'performance.json'), { ...setting, rounds, results })
  if (peers !== null) await save(join(folder, 'peers.json'), { ...setting, ...peers })
}
if (options.write) await writePages()
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

/** @param {string} url */
async function settingOf(url) {
  const client = new Redis(url)
  const redis = /redis_version:(\S+)/.exec(await client.info('server'))?.[1] ?? ''
  client.disconnect()
  const machine = { node: process.versions.node, redis, cpu: cpus()[0]?.model ?? '', cores: cpus().length }
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: checkout, encoding: 'utf8' }).trim()
  return { date: new Date().toISOString().slice(0, 10), commit, machine }
}

/** @param {string} file @param {object} content */
async function save(file, content) {
  await writeFile(file, `${JSON.stringify(content, null, 2)}\n`)
}

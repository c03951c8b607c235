/**
 * Writes the table of docs/hot-key.md, in English and in Chinese: runs the lab, on this machine as it is now, and puts its figures
 * between the comments `lab:begin` and `lab:end`. For a machine that has nothing else to do. With a file as its argument it
 * takes the figures from there (`npm run --silent lab -- --json > file`).
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sources } from '../../examples/stampede-lab/sources.mjs'
import { ways } from '../../examples/stampede-lab/ways.mjs'
import { checkout } from '../../tools/command.mjs'

/**
 * @typedef {import('../../examples/stampede-lab/stampede.mjs').Outcome & { alone: number, ratio: number }} Outcome
 * @typedef {Record<string, string | number>} Setting
 * @typedef {{ setting: Setting, outcomes: Outcome[] }} Results
 * @typedef {import('../../examples/stampede-lab/sources.mjs').SourceName} SourceName
 * @typedef {import('../../examples/stampede-lab/ways.mjs').WayName} WayName
 *
 * @typedef {object} Language
 * @property {(callers: number, setting: Setting) => string} before  stands above the table
 * @property {(source: SourceName, alone: number) => string} head  the head of a column
 * @property {(way: WayName) => string} way  the head of a row
 * @property {(errors: number, callers: number) => string} wrong  follows the figures of callers that got an error
 * @property {string} protection  the head of the first column
 * @property {(setting: Setting) => string} after  stands below the table
 */

/** @type {Language} */
const english = {
  protection: 'protection',
  before: (
    callers,
    { processes },
  ) => `${callers} callers in ${processes} processes ask for one cold key at the same instant.
Each cell holds the queries that reached the database, the time until the last caller had its answer (as a multiple of the time that the source takes alone), and the commands that Redis received.`,
  head(source, alone) {
    const title = sources[source].title.replace(/^an? /i, '')
    return `${title[0]?.toUpperCase()}${title.slice(1)} (${alone} ms alone)<br>queries / × alone / commands`
  },
  way: (way) => ways[way].title,
  wrong: (errors, callers) => `; **${errors} of ${callers} callers got an error**`,
  after: ({
    postgres,
    redis,
    node,
    cores,
  }) => `*Slower than its lease*: the load takes three times as long as the lock and the lease live. *Failing source*: the error is the right answer for every caller.
*Killed leader*: the process that loads is killed half-way (\`kill -9\`), with a lock and a lease of 10 s; its own callers are not counted.

PostgreSQL ${postgres} (PGlite), Redis ${redis}, Node.js ${node}, ${cores} cores, all on one machine; [how it is measured](../examples/stampede-lab/README.md).`,
}

/** @type {Record<SourceName, string>} */
const chineseSources = { fast: '快速数据源', slow: '比租约还慢', failing: '数据源报错', killed: '领头进程被杀' }

/** @type {Record<WayName, string>} */
const chineseWays = {
  nothing: '无保护',
  coalescing: '进程内合并',
  lock: '常见的 SET NX 互斥锁',
  herdless: 'herdless',
}

/** @type {Language} */
const chinese = {
  protection: '方案',
  before: (callers, { processes }) => `${processes} 个进程里的 ${callers} 个调用方，在同一瞬间请求同一个冷 key。
每格依次是：打到数据库的查询数、最后一个调用方拿到结果的耗时（是数据源单独执行耗时的多少倍）、Redis 收到的命令数。`,
  head: (source, alone) => `${chineseSources[source]}（单独 ${alone} ms）<br>查询 / 耗时倍数 / 命令`,
  way: (way) => chineseWays[way],
  wrong: (errors, callers) => `；**${callers} 个调用方中有 ${errors} 个收到错误**`,
  after: ({
    postgres,
    redis,
    node,
    cores,
  }) => `*比租约还慢*：加载耗时是锁和租约有效期的三倍。*数据源报错*：对每个调用方来说，这个错误就是正确答案。
*领头进程被杀*：负责加载的进程中途被杀（\`kill -9\`），锁和租约的有效期为 10 s；该进程自己的调用方不计入。

PostgreSQL ${postgres}（PGlite）、Redis ${redis}、Node.js ${node}，${cores} 核，全部在同一台机器上；[测量方法](../../examples/stampede-lab/README.md)。`,
}

const [, , file] = process.argv
/** @type {Results} */
const results = JSON.parse(file === undefined ? runLab() : readFileSync(file, 'utf8'))
write('docs/hot-key.md', english)
write('docs/zh/hot-key.md', chinese)

function runLab() {
  return execFileSync(process.execPath, [join(checkout, 'scripts/lab.mjs'), '--json'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

/**
 * @param {string} name
 * @param {Language} language
 */
function write(name, language) {
  const page = join(checkout, name)
  const place = /(?<=<!-- lab:begin -->\n)[^]*(?=<!-- lab:end -->)/
  writeFileSync(
    page,
    readFileSync(page, 'utf8').replace(place, () => table(language)),
  )
}

/** @param {Language} language */
function table(language) {
  const { setting, outcomes } = results
  const columns = /** @type {SourceName[]} */ (Object.keys(sources))
  const lines = /** @type {WayName[]} */ (Object.keys(ways)).map((way) => {
    const cells = columns.map((source) =>
      cell(
        outcomes.find((outcome) => outcome.way === way && outcome.source === source),
        language,
      ),
    )
    return row([way === 'herdless' ? `**${language.way(way)}**` : language.way(way), ...cells])
  })
  return `${language.before(Number(setting['processes']) * Number(setting['callersPerProcess']), setting)}

${row([language.protection, ...columns.map((source) => language.head(source, alone(source)))])}
${row(Array(columns.length + 1).fill('---'))}
${lines.join('\n')}

${language.after(setting)}
`
}

/** Whole milliseconds. @param {SourceName} source */
function alone(source) {
  return Math.round(results.outcomes.find((outcome) => outcome.source === source)?.alone ?? Number.NaN)
}

/**
 * @param {Outcome | undefined} outcome
 * @param {Language} language
 */
function cell(outcome, language) {
  if (outcome === undefined) return ''
  const { source, queries, ratio, commands, errors, callers } = outcome
  const figures = `${queries} / ${ratio.toFixed(ratio < 9.95 ? 1 : 0)} / ${commands}`
  // A failing source is right to give every caller its error.
  const wrong = errors > 0 && source !== 'failing'
  return wrong ? `${figures}${language.wrong(errors, callers)}` : figures
}

/** @param {string[]} cells */
function row(cells) {
  return `| ${cells.join(' | ')} |`
}

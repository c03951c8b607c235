/** The table of the README, in English and in Chinese, of the results of `npm run bench -- peers`. */
import { middle } from '../../examples/stampede-lab/stampede.mjs'
import { processes } from '../peers/cases.mjs'
import { table } from './table.mjs'

/**
 * @typedef {import('../peers/measure.mjs').PeerResults} PeerResults
 * @typedef {import('../peers/fleet.mjs').Round} Round
 *
 * @typedef {object} Words
 * @property {(date: string) => string} before stands above the table
 * @property {string} after stands below it
 * @property {string} head of the cases
 * @property {Record<'invalidated' | 'killed' | 'failing' | 'cold', string>} rows
 * @property {[fresh: string, old: string]} values
 * @property {(loads: number) => string} loads
 * @property {(seconds: string) => string} late follows the loads, where the answers came late
 * @property {Record<'error' | 'nothing' | 'unanswered', (callers: string) => string>} wrongs
 */

/** @type {Words} */
export const english = {
  before: (date) =>
    `Four processes with 250 callers each, one Redis, each package set up as its own documentation says, measured on ${date}:`,
  after: `🟢 one load for the whole fleet, and right answers · 🟡 one load per process, or late answers · 🔴 more loads, or wrong answers.
*Invalidated*: what the next callers are given. *Killed*: two loads are the least, because the first one died with its process.
A load per process is often good enough: [do you need this?](docs/do-you-need-this.md) [How it compares](docs/comparison.md) has the versions, times and commands, and what speaks for each package.`,
  head: 'what happens',
  rows: {
    invalidated: 'the key is invalidated while it is loaded',
    killed: 'the process that loads is killed',
    failing: 'the source fails',
    cold: 'one cold key',
  },
  values: ['the new value', 'the old value'],
  loads: (loads) => `${number(loads)} ${loads === 1 ? 'load' : 'loads'}`,
  late: (seconds) => `, after ${seconds} s`,
  wrongs: {
    error: (callers) => `${callers} errors`,
    nothing: (callers) => `${callers} × \`undefined\``,
    unanswered: (callers) => `${callers} without an answer`,
  },
}

/** @type {Words} */
export const chinese = {
  before: (date) => `4 个进程，各有 250 个调用方，同一个 Redis，每个库都按其自身文档的说法配置，测于 ${date}：`,
  after: `🟢 整个集群一次加载，结果正确 · 🟡 每个进程一次加载，或者结果来得晚 · 🔴 加载更多，或者结果错误。
*失效*：此后的调用方拿到的值。*被杀*：至少要加载两次，因为第一次随进程一起没了。
每个进程加载一次往往已经够用：[你需要它吗？](docs/do-you-need-this.md)[横向对比](docs/comparison.md)列出了版本、耗时、命令数，以及每个库的长处。`,
  head: '情形',
  rows: {
    invalidated: '加载途中 key 被失效',
    killed: '负责加载的进程被杀',
    failing: '数据源报错',
    cold: '一个冷 key',
  },
  values: ['新值', '旧值'],
  loads: (loads) => `${number(loads)} 次加载`,
  late: (seconds) => `，${seconds} s 后`,
  wrongs: {
    error: (callers) => `${callers} 个错误`,
    nothing: (callers) => `${callers} 个 \`undefined\``,
    unanswered: (callers) => `${callers} 个没有结果`,
  },
}

/** Milliseconds that the loader takes where the times of answers are judged. */
const time = 200

/**
 * Rows of cases and columns of packages; packages with the same outcomes share a column.
 * @param {{ date: string, peers: PeerResults[] }} comparison
 * @param {Words} words
 */
export function overview({ date, peers }, words) {
  /** @type {Map<string, { names: string[], cells: string[] }>} */
  const columns = new Map()
  for (const peer of [...peers.filter(isOurs), ...peers.filter((peer) => !isOurs(peer))]) {
    if (peer.name === 'herdless-near') continue
    const cells = cellsOf(peer, words)
    const column = columns.get(cells.join()) ?? { names: [], cells }
    column.names.push(isOurs(peer) ? `**${peer.title}**` : peer.title.replace(/,.*/, ''))
    columns.set(cells.join(), column)
  }
  const heads = [...columns.values()].map(({ names }) => names.join('<br>'))
  const rows = Object.entries(words.rows).map(([name, row], index) => [
    `${row}<br>\`npm run bench -- peers:${name}\``,
    ...[...columns.values()].map(({ cells }) => cells[index] ?? ''),
  ])
  return `${words.before(date)}

${table([words.head, ...heads], rows)}

${words.after}
`
}

/** @param {PeerResults} peer */
function isOurs({ package: from, name }) {
  return from === null && name !== 'nothing'
}

/** @param {PeerResults} peer @param {Words} words */
function cellsOf({ stampedes: { killed, failing, cold }, invalidations }, words) {
  const isOld = Object.values(invalidations).some((rounds) => rounds.some((round) => round.isOld))
  return [
    isOld ? `🔴 ${words.values[1]}` : `🟢 ${words.values[0]}`,
    cell(killed, words, { least: 2 }),
    cell(failing, words, { right: 'error' }),
    cell(cold, words, { isTimed: true }),
  ]
}

/**
 * @param {Round[]} rounds
 * @param {Words} words
 * @param {{ least?: number, right?: 'value' | 'error', isTimed?: boolean }} what  `least`: the loads of one load for the fleet
 */
function cell(rounds, words, { least = 1, right = 'value', isTimed = false }) {
  const { loads, last, outcomes } = middle(rounds, (round) => round.last)
  const wrongs = /** @type {(keyof Words['wrongs'])[]} */ (Object.keys(words.wrongs))
    .filter((outcome) => outcome !== right && outcomes[outcome] > 0)
    .map((outcome) => words.wrongs[outcome](number(outcomes[outcome])))
  if (wrongs.length > 0) return `🔴 ${wrongs.join(', ')}`
  const isLate = isTimed && last > 2 * time
  const colour = loads > processes ? '🔴' : loads > least || isLate ? '🟡' : '🟢'
  return `${colour} ${words.loads(loads)}${isLate ? words.late((last / 1_000).toFixed(1)) : ''}`
}

/** @param {number} figure */
function number(figure) {
  return figure.toLocaleString('en')
}

import { sources } from './sources.mjs'
import { ways } from './ways.mjs'

/**
 * @typedef {import('./stampede.mjs').Outcome} Outcome
 * @typedef {import('./report.mjs').Block} Block
 * @typedef {(style: 'bold' | 'dim' | 'green', text: string) => string} Paint
 */

const columns = [
  { head: ['', 'source'], width: 31 },
  { head: ['', 'protection'], width: 24 },
  { head: ['queries to', 'database'], width: 11, right: true },
  { head: ['last answer', '÷ source'], width: 13, right: true },
  { head: ['callers', 'with error'], width: 12, right: true },
  { head: ['commands', 'to Redis'], width: 9, right: true },
]
const rule = '─'.repeat(columns.reduce((sum, { width }) => sum + width, 0))

/**
 * A block for each source, a line for each way.
 * @param {Block[]} blocks
 * @param {Paint} paint
 */
export function table(blocks, paint) {
  const head = [0, 1].map((line) => paint('dim', row(columns.map((column) => column.head[line] ?? ''))))
  const body = blocks.flatMap((block) => [paint('dim', rule), ...linesOf(block, paint)])
  return [...head, ...body, paint('dim', rule)].join('\n')
}

/**
 * @param {Block} block
 * @param {Paint} paint
 */
function linesOf({ source, alone, outcomes }, paint) {
  const { title, about } = /** @type {import('./sources.mjs').Source} */ (sources[source])
  const left = [title, ...about(`${Math.round(alone)} ms`)]
  return Array.from({ length: Math.max(left.length, outcomes.length) }, (_, line) => {
    const start = paint(line === 0 ? 'bold' : 'dim', cell(left[line] ?? '', 0))
    const outcome = outcomes[line]
    if (!outcome) return start.trimEnd()
    const figures = row(['', ways[outcome.way].title, ...shown(outcome, alone)]).slice(cell('', 0).length)
    return start + (outcome.way === 'herdless' ? paint('green', figures) : figures)
  })
}

/**
 * @param {Outcome} outcome
 * @param {number} alone
 */
function shown({ queries, lastAnswer, errors, callers, commands }, alone) {
  return [whole(queries), times(lastAnswer / alone), `${errors} of ${callers}`, whole(commands)]
}

/** @param {number} ratio */
function times(ratio) {
  return `${ratio.toFixed(ratio < 9.95 ? 1 : 0)} ×`
}

/** @param {number} count */
function whole(count) {
  return count.toLocaleString('en').replaceAll(',', ' ')
}

/** @param {string[]} cells */
function row(cells) {
  return cells.map(cell).join('')
}

/**
 * @param {string} text
 * @param {number} index  of its column
 */
function cell(text, index) {
  const { width = 0, right = false } = columns[index] ?? {}
  return right ? text.padStart(width) : text.padEnd(width)
}

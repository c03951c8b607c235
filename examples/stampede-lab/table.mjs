import { sources } from './sources.mjs'
import { ways } from './ways.mjs'

/**
 * @typedef {import('./stampede.mjs').Outcome} Outcome
 * @typedef {(style: 'bold' | 'dim' | 'green' | 'red', text: string) => string} Paint
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
 * @param {Outcome[]} outcomes
 * @param {Paint} paint
 */
export function table(outcomes, paint) {
  const head = [0, 1].map((line) => paint('dim', row(columns.map((column) => column.head[line] ?? ''))))
  const blocks = [...new Set(outcomes.map(({ source }) => source))].map((source) =>
    block(
      outcomes.filter((outcome) => outcome.source === source),
      paint,
    ),
  )
  return [...head, ...blocks.flatMap((lines) => [paint('dim', rule), ...lines]), paint('dim', rule)].join('\n')
}

/**
 * @param {Outcome[]} outcomes  of one source
 * @param {Paint} paint
 */
function block(outcomes, paint) {
  const first = /** @type {Outcome} */ (outcomes[0])
  const { title, about } = /** @type {import('./sources.mjs').Source} */ (sources[first.source])
  const left = [title, ...about(`${Math.round(first.alone)} ms`)]
  const lines = Math.max(left.length, outcomes.length)
  return Array.from({ length: lines }, (_, line) => {
    const outcome = outcomes[line]
    const source = paint(line === 0 ? 'bold' : 'dim', cell(left[line] ?? '', 0))
    if (!outcome) return source.trimEnd()
    const figures = row(['', ways[outcome.way].title, ...shown(outcome)]).slice(columns[0]?.width)
    return source + (outcome.way === 'herdless' ? paint('green', figures) : figures)
  })
}

/** @param {Outcome} outcome */
function shown({ queries, lastAnswer, alone, errors, callers, commands }) {
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

import { styleText } from 'node:util'

import { reading } from './reading.mjs'
import { table } from './table.mjs'

/**
 * @typedef {object} Setting
 * @property {number} processes
 * @property {number} callersPerProcess
 * @property {number} patience  milliseconds after which a caller gives up
 * @property {number} cores
 * @property {string} node
 * @property {string} postgres
 * @property {string} redis
 *
 * @typedef {object} Block  all that was done with one source
 * @property {import('./sources.mjs').SourceName} source
 * @property {number} alone  milliseconds that it takes when it is asked alone
 * @property {import('./stampede.mjs').Outcome[]} outcomes
 *
 * @typedef {object} Results
 * @property {Setting} setting
 * @property {Block[]} blocks
 * @property {number} seconds
 */

/** @param {Results} results */
export function json({ setting, blocks, seconds }) {
  const outcomes = blocks.flatMap(({ outcomes, alone }) =>
    outcomes.map((outcome) => ({ ...outcome, alone, ratio: outcome.lastAnswer / alone })),
  )
  return `${JSON.stringify({ setting, seconds, outcomes, reading: reading(outcomes) }, null, 2)}\n`
}

/**
 * @param {Results} results
 * @param {{ colours?: boolean, hasBrowser?: boolean }} [terminal]
 */
export function report({ setting, blocks, seconds }, { colours = false, hasBrowser = true } = {}) {
  /** @type {import('./table.mjs').Paint} */
  const paint = (style, text) => (colours ? styleText(style, text) : text)
  const { processes, callersPerProcess, patience, cores, node, postgres, redis } = setting
  return `
${paint('bold', `${processes * callersPerProcess} callers in ${processes} processes ask for one cold key at the same instant`)}
PostgreSQL ${postgres} (one query at a time), Redis ${redis}, Node ${node}, ${cores} cores; ${Math.round(seconds)} s in all

${table(blocks, paint)}

${paint('dim', legend(patience / 1_000))}

${paint('bold', wrapped(reading(blocks.flatMap(({ outcomes }) => outcomes))))}

${hasBrowser ? '' : `${pageFromAfar}\n\n`}Next:  examples/stampede-lab/ways.mjs   the four ways, side by side
       npm run lab -- --help            a larger herd, one way alone, figures as JSON
       README.md                        herdless in your own code
`
}

/** The page listens on loopback alone, so it is reached through a tunnel. */
const pageFromAfar = `To watch it happen:  npm run lab -- --page --port 8080
                     and on your own machine:  ssh -L 8080:127.0.0.1:8080 <this one>, then http://127.0.0.1:8080`

/** @param {number} patience  in seconds */
function legend(patience) {
  return `
queries to database    counted by the database itself, inside the query
last answer ÷ source   when the last caller knew, over what the source takes when it is asked alone
callers with error     of those whose process lived; a caller gives up after ${patience} s
commands to Redis      as Redis saw them arrive; what a script does inside Redis is not counted
each line              one stampede; of those that are over within half a second, the middle one of three`.trim()
}

/** @param {string} text */
function wrapped(text) {
  return text.replaceAll(/(.{1,99})(?: |$)/g, '$1\n').trimEnd()
}

import { ways } from './ways.mjs'

/** @typedef {import('./stampede.mjs').Outcome} Outcome */

/**
 * What the table says, in one sentence, with the figures of this run.
 * @param {Outcome[]} outcomes
 */
export function reading(outcomes) {
  const sources = new Set(outcomes.map(({ source }) => source))
  const stampedes = sources.size === 1 ? 'this stampede' : `these ${sources.size} stampedes`
  const queries = perWay(outcomes, ({ queries }) => queries)
  return `In ${stampedes} the database was queried ${listed(queries, often)}${losses(outcomes)}.`
}

/** @param {Outcome[]} outcomes */
function losses(outcomes) {
  // A failing source is right to give every caller its error.
  const working = outcomes.filter(({ source }) => source !== 'failing')
  if (working.length === 0) return ''
  const errors = perWay(working, ({ errors }) => errors)
  const some = errors.filter(([, sum]) => sum > 0)
  if (some.length === 0) return '; no caller got an error where the source worked'
  const others = some.length < errors.length ? ', none with the others' : ''
  return `; where the source worked, callers got errors all the same: ${listed(some, String)}${others}`
}

/**
 * Sums over the sources, the lowest first.
 * @param {Outcome[]} outcomes
 * @param {(outcome: Outcome) => number} figure
 */
function perWay(outcomes, figure) {
  /** @type {Map<import('./ways.mjs').WayName, number>} */
  const sums = new Map()
  for (const outcome of outcomes) sums.set(outcome.way, (sums.get(outcome.way) ?? 0) + figure(outcome))
  return [...sums].sort(([, a], [, b]) => a - b)
}

/** @param {number} count */
function often(count) {
  return count === 1 ? 'once' : `${count} times`
}

/**
 * @param {[import('./ways.mjs').WayName, number][]} sums
 * @param {(sum: number) => string} inWords
 */
function listed(sums, inWords) {
  const parts = sums.map(([way, sum]) => `${inWords(sum)} with ${ways[way].title}`)
  return new Intl.ListFormat('en-GB').format(parts)
}

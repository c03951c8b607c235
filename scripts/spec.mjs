/** `npm run spec`: searches all that the models of the protocol (spec/lease.pml and spec/permits.pml) can do. */
import { parseArgs } from 'node:util'
import { permitBreaks, permitProofs } from '../spec/permit-searches.mjs'
import { breaks, model, proofs } from '../spec/searches.mjs'
import { provisionModelChecker, searched, trailOf } from '../tools/model-checker.mjs'

/** @typedef {import('../spec/searches.mjs').Question} Question */

const all = [...proofs, ...permitProofs, ...breaks, ...permitBreaks]

const usage = `npm run spec -- [names] [options]

Lets spin search everything that the model of the protocol can do. A proof must end without a counterexample, and a break,
which takes a rule away, with one. Without names, all of them.

  --list    says which there are
  --trail   shows the way into each counterexample, statement by statement
`

try {
  await main()
} catch (error) {
  const { message } = /** @type {Error} */ (error)
  process.stderr.write(`herdless: ${message}\n${error instanceof TypeError ? `\n${usage}` : ''}`)
  process.exitCode = 2
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { help: { type: 'boolean' }, list: { type: 'boolean' }, trail: { type: 'boolean' } },
  })
  if (values.help) return console.log(usage)
  const chosen = positionals.length === 0 ? all : positionals.map(named)
  if (values.list) {
    for (const { name, what } of chosen) console.log(`${name.padEnd(28)} ${what}`)
    return
  }
  const checker = await provisionModelChecker()
  let wrong = 0
  for (const question of chosen) {
    const search = { model, ...question }
    const found = await searched(checker, search)
    const verdict = verdictOn(question, found)
    if (verdict === 'WRONG') wrong++
    console.log(`${verdict.padEnd(9)} ${question.name}: ${question.what}`)
    console.log(`          ${found.incomplete ?? found.counterexample ?? 'no counterexample'}; ${sizeOf(found)}`)
    if (values.trail && found.counterexample !== null) console.log(await trailOf(checker, search))
  }
  console.log(wrong === 0 ? 'All is as it must be.' : `${wrong} of ${chosen.length} are not as they must be.`)
  process.exitCode = wrong === 0 ? 0 : 1
}

/**
 * @param {string} name
 * @returns {Question}
 */
function named(name) {
  const question = all.find((each) => each.name === name)
  if (question === undefined) throw new TypeError(`Expected the name of a proof or a break, got ${name}`)
  return question
}

/**
 * @param {Question} question
 * @param {import('../tools/model-checker.mjs').Found} found
 */
function verdictOn({ shows }, { counterexample, incomplete }) {
  if (incomplete !== null) return 'WRONG'
  if (shows === undefined) return counterexample === null ? 'proved' : 'WRONG'
  return shows.test(counterexample ?? '') ? 'found out' : 'WRONG'
}

/** @param {import('../tools/model-checker.mjs').Found} found */
function sizeOf({ states, depth, megabytes, seconds }) {
  return `${states.toLocaleString('en').replaceAll(',', ' ')} states, runs of up to ${depth} steps, ${megabytes.toFixed(0)} MB, ${seconds.toFixed(1)} s`
}

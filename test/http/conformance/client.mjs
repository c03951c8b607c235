/** The suite's client, in a thread of its own: its modules keep what they have run, and run nothing twice. */
import { createRequire } from 'node:module'
import { parentPort, workerData } from 'node:worker_threads'
import { getResults, runTests } from 'http-cache-tests/client/runner.mjs'
import { determineTestResult } from 'http-cache-tests/lib/display.mjs'
// Without the suite's tests/surrogate-control.mjs: they are of a note of 2001, which no standard took up.
import suites from 'http-cache-tests/tests/index.mjs'

/** @typedef {import('./run.ts').Result} Result */
/** @typedef {import('./run.ts').Outcome} Outcome */

const { url, only, isTimed = true } = /** @type {import('./run.ts').Order} */ (workerData)

/** What the suite's command line fetches with. */
const fetch = createRequire(createRequire(import.meta.url).resolve('http-cache-tests/package.json'))('node-fetch')

/** The suite has no other names for them that can be imported. */
const outcomes = /** @type {const} */ ({
  '✅': 'passed',
  '⛔️': 'failed',
  '⚠️': 'failed',
  Y: 'yes',
  N: 'no',
  '🔹': 'setup failed',
  '⁉️': 'harness failed',
  '⚪️': 'dependency failed',
  '↻': 'retried',
  '-': 'untested',
})

const all = new Map(suites.flatMap(({ tests }) => tests).map((test) => [test.id, test]))

const chosen = suites.flatMap(({ tests, ...suite }) =>
  tests
    .filter(({ id, browser_only: browserOnly }) => !browserOnly && (only === undefined || id === only))
    .filter(({ id }) => isTimed || !goesByTheClock(id))
    // Some share lists of headers, to which the client adds its own.
    .map((test) => ({ ...suite, tests: [{ ...structuredClone(test), dump: only !== undefined }] })),
)
if (chosen.length === 0) throw new TypeError(`The suite has no test ${only}`)

// Those that pause, for 3 s each, do so together, in the first chunk.
const pausing = chosen.filter(({ tests: [test] }) => test?.requests.some((request) => request.pause_after))
const others = chosen.filter((each) => !pausing.includes(each))
await runTests([...pausing, ...others], fetchOrGiveUp, false, url, Math.max(pausing.length, 1))

const answers = getResults()
parentPort?.postMessage(chosen.flatMap(({ name: suite, tests }) => tests.map((test) => resultOf(suite, test))))

/**
 * Whether a test, or one without which it says nothing, pauses until something is stale, and asks for something else that is not.
 * @param {string} id
 * @returns {boolean}
 */
function goesByTheClock(id) {
  const { requests = [], depends_on: needed = [] } = all.get(id) ?? {}
  return requests.some((request) => request.pause_after) || needed.some(goesByTheClock)
}

/**
 * A request that is never answered fails its own test, and not the whole run.
 * @param {string} address
 * @param {object} init
 */
function fetchOrGiveUp(address, init) {
  return fetch(address, { ...init, timeout: 120_000 })
}

/**
 * @param {string} suite
 * @param {import('http-cache-tests/tests/index.mjs').Test} test
 * @returns {Result}
 */
function resultOf(suite, { id, name, kind = 'required', depends_on: needed = [] }) {
  // One alone has not run what it depends on.
  const [, , symbol] = determineTestResult(suites, id, answers, only === undefined)
  const outcome = /** @type {Record<string, Outcome>} */ (outcomes)[symbol]
  if (outcome === undefined) throw new Error(`The suite says ${symbol} of ${id}, which has no name here`)
  const answer = answers[id] ?? true
  const wrong = answer === true ? '' : answer.join(': ')
  const detail = outcome === 'dependency failed' ? `It depends on ${needed.join(', ')}. ${wrong}`.trimEnd() : wrong
  return { id, suite, name, kind, outcome, detail }
}

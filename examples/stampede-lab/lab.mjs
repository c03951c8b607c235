import { constants } from 'node:os'

import { stopChildren } from './children.mjs'
import { measure, stopMeasuring } from './measure.mjs'
import { readOptions } from './options.mjs'
import { showProgress } from './progress.mjs'
import { json, report } from './report.mjs'

/** The program: shows the page, or measures and prints the table; stops everything that it has started. */

/** What else has to be stopped. @type {() => Promise<void>} */
let stopRest = stopMeasuring

/** @param {import('./options.mjs').Options} options */
async function printTable(options) {
  const progress = showProgress(process.stderr)
  process.stderr.write('Starting PostgreSQL and Redis …\n')
  const results = await measure(options, progress).finally(() => progress.end())
  const terminal = { colours: process.stdout.hasColors?.() ?? false, hasBrowser: options.hasBrowser }
  process.stdout.write(options.json ? json(results) : report(results, terminal))
  await stop()
}

/** @param {import('./options.mjs').Options} options */
async function showPage({ port, hasBrowser }) {
  process.stderr.write('Starting PostgreSQL, Redis and four processes …\n')
  const { startLive } = await import('./live/live.mjs')
  const live = await startLive({ port })
  stopRest = () => live.stop()
  process.stdout.write(
    `The stampede lab: ${live.url}\nCtrl-C ends it. The table of figures: npm run lab -- --headless\n`,
  )
  if (!hasBrowser) return
  const { default: open } = await import('open')
  // The address has been printed: a browser that does not open is no failure.
  await open(live.url).catch(() => {})
}

/** Leaves nothing running, and nothing in a Redis that is not the lab's own. */
async function stop() {
  stopChildren()
  await stopRest()
}

let interrupted = false

/** @param {NodeJS.Signals} signal */
async function interrupt(signal) {
  interrupted = true
  await stop().catch(() => {})
  process.stderr.write('The lab was interrupted, and everything it started is stopped.\n')
  process.exit(128 + constants.signals[signal])
}

process.on('exit', stopChildren)
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) process.once(signal, interrupt)

try {
  const options = readOptions()
  if (options) await (options.shows === 'page' ? showPage(options) : printTable(options))
} catch (error) {
  if (!interrupted) {
    process.stderr.write(`The lab stopped: ${error instanceof Error ? error.message : error}\n`)
    process.exitCode = 1
    await stop()
  }
}

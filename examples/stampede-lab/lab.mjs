import { availableParallelism, constants } from 'node:os'

import { startChild, stopChildren } from './children.mjs'
import { countCommands } from './command-counter.mjs'
import { readOptions } from './options.mjs'
import { showProgress } from './progress.mjs'
import { startRedis } from './redis.mjs'
import { json, report } from './report.mjs'
import { sources } from './sources.mjs'
import { middle, stampede, timeAlone } from './stampede.mjs'
import { ways } from './ways.mjs'

/** The program: starts what is needed, lets the herd loose once for each source and way, prints, and stops everything. */

const processes = 4
// Longer than the unprotected herd takes, shorter than the 10 s for which a lock outlives its killed owner.
const patience = 7_000

/** @type {import('./redis.mjs').LabRedis | undefined} */
let redis

/**
 * @param {import('./options.mjs').Options} options
 * @param {import('./progress.mjs').Progress} progress
 * @returns {Promise<import('./report.mjs').Results>}
 */
async function measure(options, progress) {
  const start = performance.now()
  progress.say('starting PostgreSQL and Redis')
  const database = startChild('database.mjs')
  const [databaseStarted, redisStarted] = await Promise.all([database.ask('start'), startRedis()])
  redis = redisStarted
  const { url, namespace, version } = redis

  const startWorker = async () => {
    const worker = startChild('worker.mjs', [url, namespace, `${databaseStarted.port}`])
    await worker.ask('start')
    return worker
  }
  const workers = await Promise.all(Array.from({ length: processes }, startWorker))
  const commands = await countCommands(url, namespace)
  try {
    const lab = { workers, startWorker, database, commands, namespace, callers: options.callers, patience }
    const blocks = await stampedes(lab, options, progress)
    const seconds = (performance.now() - start) / 1_000
    const machine = { cores: availableParallelism(), node: process.versions.node }
    const herd = { processes, callersPerProcess: options.callers, patience }
    return { setting: { ...herd, ...machine, postgres: databaseStarted.version, redis: version }, blocks, seconds }
  } finally {
    commands.close()
  }
}

/**
 * @param {import('./stampede.mjs').Lab} lab
 * @param {import('./options.mjs').Options} options
 * @param {import('./progress.mjs').Progress} progress
 * @returns {Promise<import('./report.mjs').Block[]>}
 */
async function stampedes(lab, options, progress) {
  const total = options.sources.length * options.ways.length
  let number = 0
  const blocks = []
  // By what the loader does: two of the sources do the same.
  /** @type {Map<unknown, number[]>} */
  const measured = new Map()
  for (const source of options.sources) {
    const goes = measured.get(sources[source].work) ?? []
    measured.set(sources[source].work, goes)
    const alone = () => middle(goes, (time) => time)
    const outcomes = []
    for (const way of options.ways) {
      progress.say(`${++number} of ${total}: ${sources[source].title.toLowerCase()}, ${ways[way].title}`)
      // A short source is measured again and again, because the machine's mood weighs on it.
      if (goes.length === 0 || alone() < 300) goes.push(...(await timeAlone(lab, source)))
      outcomes.push(await stampede(lab, { way, source, alone: alone() }))
    }
    blocks.push({ source, alone: alone(), outcomes })
  }
  return blocks
}

/** Leaves nothing running and nothing in anybody's Redis. */
async function stop() {
  stopChildren()
  await redis?.stop()
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
  if (options) {
    const progress = showProgress(process.stderr)
    const results = await measure(options, progress).finally(() => progress.end())
    process.stdout.write(options.json ? json(results) : report(results, process.stdout.hasColors?.()))
  }
} catch (error) {
  if (!interrupted) {
    process.stderr.write(`The lab stopped: ${error instanceof Error ? error.message : error}\n`)
    process.exitCode = 1
  }
} finally {
  if (!interrupted) await stop()
}

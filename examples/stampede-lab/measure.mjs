import { availableParallelism } from 'node:os'

import { startChild } from './children.mjs'
import { countCommands } from './command-counter.mjs'
import { startRedis } from './redis.mjs'
import { sources } from './sources.mjs'
import { middle, stampede, timeAlone } from './stampede.mjs'
import { ways } from './ways.mjs'

/** The figures of the table: the herd is let loose once for each source and way. */

const processes = 4
// Longer than the unprotected herd takes, shorter than the 10 s for which a lock outlives its killed owner.
const patience = 4_000

/** @type {import('./redis.mjs').LabRedis | undefined} */
let redis

/** Leaves nothing in a Redis that is not the lab's own. */
export async function stopMeasuring() {
  await redis?.stop()
}

/**
 * @param {import('./options.mjs').Options} options
 * @param {import('./progress.mjs').Progress} progress
 * @returns {Promise<import('./report.mjs').Results>}
 */
export async function measure(options, progress) {
  const start = performance.now()
  const database = startChild('database.mjs')
  const [databaseStarted, redisStarted] = await Promise.all([database.ask('start'), startRedis()])
  redis = redisStarted
  const { url, namespace, version } = redis

  const startWorker = async () => {
    const worker = startChild('worker.mjs', [url, namespace, `${databaseStarted.port}`])
    await worker.ask('start')
    return worker
  }
  // Before the workers talk to Redis: ioredis fails if a command comes by while it turns to MONITOR.
  const commands = await countCommands(url, namespace)
  const workers = await Promise.all(Array.from({ length: processes }, startWorker))
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

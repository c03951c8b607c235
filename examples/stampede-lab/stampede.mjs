import { setTimeout as sleep } from 'node:timers/promises'

import { now } from './clock.mjs'
import { sources } from './sources.mjs'

/**
 * @typedef {import('./children.mjs').Child} Child
 *
 * @typedef {object} Lab  what a stampede needs
 * @property {Child[]} workers  a dead one is replaced before the next stampede
 * @property {() => Promise<Child>} startWorker
 * @property {Child} database
 * @property {import('./command-counter.mjs').CommandCounter} commands
 * @property {string} namespace
 * @property {number} callers  in each worker
 * @property {number} patience  milliseconds after which a caller gives up
 *
 * @typedef {object} Outcome
 * @property {import('./ways.mjs').WayName} way
 * @property {import('./sources.mjs').SourceName} source
 * @property {number} callers  not counting those that died with their process
 * @property {number} tries  of which this is the middle one, by its last answer
 * @property {number} queries  that reached the database
 * @property {number} commands  that reached Redis
 * @property {number} lastAnswer  milliseconds from the common instant to the last caller's answer or error
 * @property {number} errors
 * @property {Record<string, number>} messages  what the errors said, and how often
 */

/**
 * All callers of all workers ask for one cold key at one instant, in one way, from one source. A stampede that is over
 * within half a second is tried three times: what else the machine does then counts for a lot.
 * @param {Lab} lab
 * @param {{ way: import('./ways.mjs').WayName, source: import('./sources.mjs').SourceName, alone: number }} run
 *   `alone`: milliseconds that the source takes when it is asked alone
 * @returns {Promise<Outcome>}
 */
export async function stampede(lab, { way, source, alone }) {
  await replaceDead(lab)
  await askAll(lab.workers, 'prepare', { way, source, namespace: `${lab.namespace}:${source}:${way}` })
  const { killAt } = /** @type {import('./sources.mjs').Source} */ (sources[source])
  const killAfter = killAt === undefined ? undefined : killAt * alone

  const tries = [await oneTry(lab, 'report', killAfter)]
  const isShort = tries.every(({ lastAnswer }) => lastAnswer < 500)
  while (isShort && killAfter === undefined && tries.length < 3) {
    tries.push(await oneTry(lab, `report:${tries.length}`, killAfter))
  }
  await askAll(survivors(lab), 'close')
  const figures = middle(tries, ({ lastAnswer }) => lastAnswer)
  return { way, source, tries: tries.length, ...figures }
}

/**
 * @param {Lab} lab
 * @param {string} key
 * @param {number | undefined} killAfter  milliseconds after which a loader loses its process
 */
async function oneTry(lab, key, killAfter) {
  const queriesBefore = await lab.database.ask('queries')
  await lab.commands.start()
  if (killAfter !== undefined) void killLeader(lab.workers, killAfter)
  const details = { key, at: now() + 100, callers: lab.callers, patience: lab.patience }
  /** @type {import('./worker.mjs').Answer[][]} */
  const answers = await Promise.all(
    lab.workers.map((worker) =>
      worker.ask('stampede', details).catch((error) => {
        if (killAfter !== undefined && !worker.alive()) return []
        throw error
      }),
    ),
  )
  await askAll(survivors(lab), 'settle')
  const commands = await lab.commands.stop()
  const queries = (await lab.database.ask('queries')) - queriesBefore
  return { queries, commands, ...summary(answers.flat()) }
}

/**
 * What the source takes when nobody else asks it, some times over.
 * @param {Lab} lab
 * @param {import('./sources.mjs').SourceName} source
 * @returns {Promise<number[]>} milliseconds
 */
export async function timeAlone(lab, source) {
  await replaceDead(lab)
  return /** @type {Child} */ (lab.workers[0]).ask('measure', { source })
}

/**
 * Kills the first process whose loader runs, some time after it began.
 * @param {Child[]} workers
 * @param {number} delay
 */
async function killLeader(workers, delay) {
  const leader = await new Promise((resolve) => {
    const listening = workers.map((worker) =>
      worker.onNews(() => {
        for (const stopListening of listening) stopListening()
        resolve(worker)
      }),
    )
  })
  await sleep(delay)
  await leader.kill()
}

/** @param {Lab} lab */
function survivors(lab) {
  return lab.workers.filter((worker) => worker.alive())
}

/** @param {Lab} lab */
async function replaceDead(lab) {
  lab.workers = await Promise.all(lab.workers.map(async (worker) => (worker.alive() ? worker : lab.startWorker())))
}

/**
 * @param {Child[]} workers
 * @param {string} what
 * @param {object} [details]
 */
async function askAll(workers, what, details) {
  await Promise.all(workers.map((worker) => worker.ask(what, details)))
}

/** @param {import('./worker.mjs').Answer[]} answers */
function summary(answers) {
  /** @type {Record<string, number>} */
  const messages = {}
  for (const { error } of answers) if (error !== null) messages[error] = (messages[error] ?? 0) + 1
  return {
    callers: answers.length,
    lastAnswer: Math.max(...answers.map(({ after }) => after)),
    errors: answers.filter(({ error }) => error !== null).length,
    messages,
  }
}

/**
 * @template T
 * @param {T[]} list  not empty
 * @param {(item: T) => number} by
 */
export function middle(list, by) {
  return /** @type {T} */ (list.toSorted((a, b) => by(a) - by(b))[list.length >> 1])
}

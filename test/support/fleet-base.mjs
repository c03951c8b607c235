/**
 * What the processes of all fleets have in common: caches and locks on Redis of the built package, clients, and a socket
 * over which a test tells them what to do, in lines of JSON. A process ends when that socket does.
 */
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { setImmediate as turn } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

const [port = '', index = '', built = ''] = process.argv.slice(2)

/** Which process of its fleet this is. */
export const processIndex = Number(index)

/** The events of a cache that tell what became of a call or a load. */
export const eventNames = /** @type {const} */ ([
  'hit',
  'stale',
  'miss',
  'load',
  'wait',
  'fill',
  'refused',
  'lost',
  'failure',
  'garbage',
  'queued',
  'degraded',
  'recovered',
])

/**
 * A module of the built package.
 * @param {string} path its path below the folder of the build
 */
export const fromBuild = (path) => import(pathToFileURL(`${built}/${path}`).href)

/** @type {typeof import('../../src/index.ts')} */
export const { createCache, loadFailure } = await fromBuild('index.js')
/** @type {typeof import('../../src/redis/index.ts')} */
export const { redisLock, redisStore, redlock } = await fromBuild('redis/index.js')

export { openClient } from './fleet-clients.mjs'

const socket = connect({ host: '127.0.0.1', port: Number(port), noDelay: true })
socket.on('close', () => process.exit())
socket.on('error', () => process.exit())

/**
 * Says something to the test. It has left this process when this returns, unless the test does not read.
 * @param {object} message
 */
export function tell(message) {
  socket.write(`${JSON.stringify(message)}\n`)
}

/**
 * Begins to do what the test says, besides what every process can do.
 * @param {Record<string, (details: never) => unknown>} actions by the word that the test says
 * @param {(error: unknown) => object} [complaintOf] an error as the test is told of it
 */
export function obey(actions, complaintOf = namedOnly) {
  const all = /** @type {Record<string, (details: object) => unknown>} */ ({ ...common, ...actions })
  createInterface({ input: socket }).on('line', async (line) => {
    const { id, word, ...details } = JSON.parse(line)
    try {
      tell({ id, answer: (await all[word]?.({ ...details, id })) ?? null })
    } catch (error) {
      tell({ id, complaint: complaintOf(error) })
    }
  })
  tell({ index: processIndex })
}

/** The bytes that are in use once what can be collected has been. */
export async function bytesInUse() {
  for (let round = 0; round < 4; round++) {
    await turn()
    globalThis.gc?.()
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** @param {unknown} error */
function namedOnly(error) {
  const { name, message } = /** @type {Error} */ (error)
  return { name, message }
}

const common = {
  /** @param {{ ms: number }} details */
  block({ ms }) {
    // After this has been answered.
    setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms))
  },

  heap: bytesInUse,

  /** From here on nothing of ours keeps this process alive. */
  leave() {
    socket.unref()
  },
}

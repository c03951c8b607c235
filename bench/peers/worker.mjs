/** One process of an application that caches with a peer: `node worker.mjs <peer>`. */
import { setTimeout as sleep } from 'node:timers/promises'
import { serveParent, tellParent } from '../../examples/stampede-lab/children.mjs'
import { now } from '../../examples/stampede-lab/clock.mjs'
import { hitsInMemory, hitsInRedis } from './hits.mjs'

/** @type {{ open: (setup: import('./peer.mjs').Setup) => Promise<import('./peer.mjs').Peer> }} */
const { open } = await import(`./adapters/${process.argv[2]}.mjs`)

/** @typedef {'value' | 'error' | 'nothing' | 'unanswered'} Outcome the answer to a caller: `nothing` is undefined or null */
/** @typedef {{ last: number, outcomes: Record<Outcome, number> }} Answers `last`: milliseconds from the common instant to the last answer */

/** @type {import('./peer.mjs').Peer | undefined} */
let cache
let source = ''
/** @type {Set<Promise<unknown>>} */
const loads = new Set()

serveParent({
  /** @param {import('./peer.mjs').Setup} setup */
  async open(setup) {
    await cache?.close()
    cache = await open(setup)
  },

  /** Loads and hits of keys of this process alone: a stampede meets a process that has been running for a while. */
  async rehearse() {
    for (let round = 0; round < 3; round++) {
      const keys = Array.from({ length: 200 }, (_, key) => `rehearsal:${process.pid}:${round}:${key}`)
      for (let turn = 0; turn < 2; turn++)
        await Promise.all(keys.map((key) => peer().getOrLoad(key, async () => [key])))
    }
  },

  /**
   * So many callers of one key at one instant; each is answered, or is not within its patience.
   * @param {{ key: string, at: number, callers: number, patience: number, time: number, fails: boolean }} order
   * @returns {Promise<Answers>}
   */
  async stampede({ key, at, callers, patience, time, fails }) {
    const load = () => counted(time, fails ? new Error('the source is broken') : [key])
    const outcomes = { value: 0, error: 0, nothing: 0, unanswered: 0 }
    let last = 0
    await sleep(at - now())
    const gaveUp = new AbortController()
    const deadline = sleep(patience, /** @type {const} */ ('unanswered'), { signal: gaveUp.signal })
    deadline.catch(() => {})
    await Promise.all(
      Array.from({ length: callers }, async () => {
        const outcome = await Promise.race([outcomeOf(peer().getOrLoad(key, load)), deadline])
        outcomes[outcome]++
        if (outcome !== 'unanswered') last = Math.max(last, now() - at)
      }),
    )
    gaveUp.abort()
    return { last, outcomes }
  },

  /** Changes the value in the source. @param {{ value: string }} order */
  async change({ value }) {
    source = value
  },

  /**
   * The answer to one caller. A load reads the source at its beginning, and then takes its time.
   * @param {{ key: string, time: number }} order
   */
  async get({ key, time }) {
    return peer().getOrLoad(key, () => counted(time, { value: source }))
  },

  /** @param {{ key: string }} order */
  async invalidate({ key }) {
    await peer().invalidate(key)
  },

  /** Waits for loads whose callers have gone: they are part of the cost of the stampede. */
  async settle() {
    while (loads.size > 0) await Promise.allSettled(loads)
  },

  /** @param {{ url: string, rounds: number }} order */
  hitsInRedis: ({ url, rounds }) => hitsInRedis(peer(), url, rounds),

  /** @param {{ rounds: number }} order */
  hitsInMemory: ({ rounds }) => hitsInMemory(peer(), rounds),
})

function peer() {
  if (cache === undefined) throw new Error('Expected the peer to be open')
  return cache
}

/** @param {number} time @param {unknown} result an Error is thrown */
function counted(time, result) {
  tellParent('loading')
  const load = sleep(time).then(() => (result instanceof Error ? Promise.reject(result) : result))
  loads.add(load)
  load.catch(() => {}).finally(() => loads.delete(load))
  return load
}

/** @param {Promise<unknown>} answer @returns {Promise<Outcome>} */
function outcomeOf(answer) {
  return answer.then(
    (value) => (value === undefined || value === null ? 'nothing' : 'value'),
    () => 'error',
  )
}

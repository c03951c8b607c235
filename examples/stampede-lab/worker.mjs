import { setTimeout as sleep } from 'node:timers/promises'

import { Redis } from 'ioredis'
import pg from 'pg'

import { serveParent, tellParent } from './children.mjs'
import { now } from './clock.mjs'
import { sources } from './sources.mjs'
import { ways } from './ways.mjs'

/** One process of an application: a database pool, a Redis connection, and callers that all want the same key. */

const [redisUrl = '', connectionName = '', databasePort = ''] = process.argv.slice(2)

const address = { host: '127.0.0.1', port: Number(databasePort), user: 'postgres', database: 'postgres' }
const connections = 10
const database = new pg.Pool({ ...address, max: connections, idleTimeoutMillis: 0 })
// Without a listener an idle connection that breaks would end the process; a query that meets it is told anyway.
database.on('error', () => {})

/** @type {Redis} */
let redis
/** @type {import('./ways.mjs').Way} */
let way
/** @type {() => Promise<unknown>} */
let load
/** @type {Set<Promise<unknown>>} */
const loads = new Set()

serveParent({
  /** Opens all connections of the pool, so that no stampede has to, and asks for some reports. */
  async start() {
    await Promise.all(Array.from({ length: connections }, () => database.query('select 1')))
    for (let report = 0; report < 3; report++) await sources.fast.work(database)
  },

  /**
   * What the source takes when it is alone: five goes, or fewer if they take long.
   * @param {{ source: import('./sources.mjs').SourceName }} details
   * @returns {Promise<number[]>} milliseconds
   */
  async measure({ source }) {
    /** @type {number[]} */
    const goes = []
    const start = now()
    while (goes.length < 5 && now() - start < 500) {
      const before = now()
      await sources[source].work(database).catch(() => {})
      goes.push(now() - before)
    }
    return goes
  },

  /** @param {{ way: import('./ways.mjs').WayName, source: import('./sources.mjs').SourceName, namespace: string }} details */
  async prepare({ way: name, source, namespace }) {
    const { work, lockTtl } = sources[source]
    redis = new Redis(redisUrl, { connectionName })
    way = ways[name].setUp({ redis, namespace, lockTtl })
    load = () => {
      tellParent('loading')
      const loading = work(database)
      loads.add(loading)
      loading.catch(() => {}).finally(() => loads.delete(loading))
      return loading
    }
    // A stampede meets a process that has been running for a while: connections open, scripts in Redis, code compiled.
    for (let round = 0; round < 3; round++) await rehearse(round)
  },

  /**
   * So many callers of one key at one instant; each of them is answered, or gives up in the end.
   * @param {{ key: string, at: number, callers: number, patience: number }} details
   * @returns {Promise<Answer[]>}
   */
  async stampede({ key, at, callers, patience }) {
    await sleep(at - now())
    return Promise.all(
      Array.from({ length: callers }, async () => {
        const error = await outcome(way.get(key, load, AbortSignal.timeout(patience)), patience)
        return { after: now() - at, error }
      }),
    )
  },

  /** Waits for loads that go on although nobody waits for them any more: they are part of what the stampede cost. */
  async settle() {
    while (loads.size > 0) await Promise.allSettled(loads)
  },

  async close() {
    await way.close?.()
    redis.disconnect()
  },
})

/**
 * A stampede of this process alone, on keys of its own and without the database.
 * @param {number} round
 */
async function rehearse(round) {
  const signal = AbortSignal.timeout(5_000)
  const key = (/** @type {number} */ caller) => `rehearsal:${process.pid}:${round}:${caller % 20}`
  await Promise.all(Array.from({ length: 200 }, (_, caller) => way.get(key(caller), async () => ['rehearsed'], signal)))
}

/**
 * @typedef {object} Answer
 * @property {number} after  milliseconds from the common instant
 * @property {string | null} error  what the caller was told instead of a report
 */

/**
 * @param {Promise<unknown>} answer
 * @param {number} patience
 * @returns {Promise<string | null>}
 */
async function outcome(answer, patience) {
  const givenUp = `gave up after ${patience / 1_000} s`
  const timer = new AbortController()
  const timeout = sleep(patience, givenUp, { signal: timer.signal }).catch(() => null)
  const told = answer.then(
    () => null,
    (error) => (error.name === 'AbortError' ? givenUp : error.message),
  )
  const error = await Promise.race([told, timeout])
  timer.abort()
  return error
}

import { setTimeout as sleep } from 'node:timers/promises'

import { Redis } from 'ioredis'
import pg from 'pg'

import { serveParent, tellParent } from './children.mjs'
import { now } from './clock.mjs'
import { sources } from './sources.mjs'
import { ways } from './ways.mjs'

/** One process of an application: a database pool, a Redis connection, and callers that all want the same key. */

const [redisUrl = '', connectionName = '', databasePort = ''] = process.argv.slice(2)

const pool = { host: '127.0.0.1', port: Number(databasePort), user: 'postgres', database: 'postgres' }
const database = new pg.Pool({ ...pool, max: 10, idleTimeoutMillis: 0 })
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
  /** Opens all connections of the pool, so that no stampede has to. */
  async start() {
    await Promise.all(Array.from({ length: 10 }, () => database.query('select 1')))
  },

  /**
   * What the source takes when it is alone: the median of five goes, or of fewer if they take more than a second.
   * @param {{ source: import('./sources.mjs').SourceName }} details
   */
  async measure({ source }) {
    /** @type {number[]} */
    const times = []
    const start = now()
    while (times.length < 5 && now() - start < 1_000) {
      const before = now()
      await sources[source].work(database).catch(() => {})
      times.push(now() - before)
    }
    return times.sort((a, b) => a - b)[times.length >> 1]
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
    // One key of its own first: a stampede meets a process with its connections open and its scripts in Redis.
    await way.get(`warm-up:${process.pid}`, async () => 'warm', AbortSignal.timeout(5_000))
  },

  /**
   * So many callers of one key at one instant; each of them is answered, or gives up in the end.
   * @param {{ at: number, callers: number, patience: number }} details
   * @returns {Promise<Answer[]>}
   */
  async stampede({ at, callers, patience }) {
    await sleep(at - now())
    return Promise.all(
      Array.from({ length: callers }, async () => {
        const error = await outcome(way.get('report', load, AbortSignal.timeout(patience)), patience)
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

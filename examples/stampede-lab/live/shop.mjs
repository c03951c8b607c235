import { setTimeout as sleep } from 'node:timers/promises'

import { Redis } from 'ioredis'
import pg from 'pg'

import { serveParent, tellParent } from '../children.mjs'
import { ways } from '../ways.mjs'
import { everyCaller, keys, lockTtl, patience, sides, valueTtl } from './settings.mjs'

/**
 * One process of the shop under steady load. Each caller asks twice at the same moment: once on the side without
 * herdless, once on the side with it. Each side has a database, a connection to Redis and a namespace of its own.
 *
 * @typedef {import('./settings.mjs').Key} Key
 * @typedef {import('./settings.mjs').Side} Side
 *
 * @typedef {object} SideReport  of the time since the last report
 * @property {number} requests
 * @property {number} queries  sent to the database
 * @property {number} errors
 * @property {number} outdated  answers with data that had been replaced and invalidated before the caller asked
 * @property {number[]} latencies  milliseconds
 * @property {Record<string, number>} loading  loads under way, by key
 * @property {Record<string, number>} waiting  callers without an answer, by key
 */

const [redisUrl = '', namespace = '', ...databasePorts] = process.argv.slice(2)
const reportEvery = 200

/** What the source does at the moment. */
let source = { delay: 0, isBroken: false }

/** One side of this process. */
class ShopSide {
  /** @param {Side} side @param {number} databasePort */
  constructor(side, databasePort) {
    this.side = side
    this.redis = new Redis(redisUrl, { commandTimeout: 2_000, retryStrategy: () => 200 })
    this.redis.on('error', () => {})
    this.database = new pg.Pool({
      host: '127.0.0.1',
      port: databasePort,
      user: 'postgres',
      database: 'postgres',
      max: 10,
      idleTimeoutMillis: 0,
    })
    this.database.on('error', () => {})
    /** The edition of each key that a caller may expect at least. @type {Record<string, number>} */
    this.editions = {}
    /** @type {Record<string, number>} */
    this.loading = {}
    /** @type {Record<string, number>} */
    this.waiting = {}
    this.counted = counters()
    this.way = this.setUp(side === 'with' ? 'herdless' : 'nothing')
  }

  /** @param {import('../ways.mjs').WayName} name */
  setUp(name) {
    this.name = name
    return ways[name].setUp({ redis: this.redis, namespace: `${namespace}-${this.side}`, lockTtl, valueTtl })
  }

  /** @param {import('../ways.mjs').WayName} name */
  async change(name) {
    if (name === this.name) return
    const before = this.way
    this.way = this.setUp(name)
    await before.close?.()
  }

  /** One caller. @param {Key} key */
  async ask(key) {
    const { counted } = this
    const expected = this.editions[key] ?? 1
    const askedAt = performance.now()
    counted.requests++
    this.waiting[key] = (this.waiting[key] ?? 0) + 1
    try {
      const answer = await this.way.get(key, () => this.load(key), AbortSignal.timeout(patience))
      if (/** @type {{ edition: number }} */ (answer).edition < expected) this.counted.outdated++
    } catch {
      this.counted.errors++
    } finally {
      this.waiting[key]--
      this.counted.latencies.push(Math.round(performance.now() - askedAt))
    }
  }

  /** The loader. @param {Key} key */
  async load(key) {
    this.counted.queries++
    this.loading[key] = (this.loading[key] ?? 0) + 1
    tellParent({ loads: { side: this.side, key } })
    try {
      const { delay, isBroken } = source
      if (isBroken) await this.database.query('select report(broken => true)')
      const { rows } = await this.database.query('select number as edition, report() from edition')
      await sleep(delay)
      return rows[0]
    } finally {
      this.loading[key]--
    }
  }

  /** @returns {SideReport} */
  report() {
    const { loading, waiting, counted } = this
    this.counted = counters()
    return { ...counted, loading: { ...loading }, waiting: { ...waiting } }
  }
}

/** @returns {Pick<SideReport, 'requests' | 'queries' | 'errors' | 'outdated' | 'latencies'>} */
function counters() {
  return { requests: 0, queries: 0, errors: 0, outdated: 0, latencies: [] }
}

const shop = {
  without: new ShopSide('without', Number(databasePorts[0])),
  with: new ShopSide('with', Number(databasePorts[1])),
}

serveParent({
  async start() {
    await Promise.all(sides.flatMap((side) => [shop[side].redis.ping(), shop[side].database.query('select report()')]))
    for (const [index, key] of /** @type {Key[]} */ (Object.keys(keys)).entries()) {
      await sleep(everyCaller / 3)
      setInterval(() => sides.forEach((side) => void shop[side].ask(key)), everyCaller + index)
    }
    setInterval(() => tellParent({ report: { without: shop.without.report(), with: shop.with.report() } }), reportEvery)
  },

  /** @param {{ way: import('../ways.mjs').WayName }} details */
  choose: ({ way }) => shop.without.change(way),

  /** @param {{ source: { delay: number, isBroken: boolean } }} details */
  behave(details) {
    source = details.source
  },

  /** Invalidates a key. @param {{ side: Side, key: Key }} details */
  invalidate: ({ side, key }) => shop[side].way.invalidate(key),

  /** From now on, callers expect this edition. @param {{ side: Side, key: Key, edition: number }} details */
  expect({ side, key, edition }) {
    shop[side].editions[key] = edition
  },
})

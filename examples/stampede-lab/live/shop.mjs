import { setTimeout as sleep } from 'node:timers/promises'

import { Redis } from 'ioredis'
import pg from 'pg'

import { serveParent, tellParent } from '../children.mjs'
import { ways } from '../ways.mjs'
import {
  allKeys,
  everyCaller,
  lockTtl,
  patience,
  redisTimeout,
  reportEvery,
  sides,
  sourceLimit,
  valueTtl,
} from './settings.mjs'

/**
 * One process of the shop under steady load. Each caller asks twice at the same moment: once on the side without
 * herdless, once on the side with it. Each side has a database, a connection to Redis and a namespace of its own.
 *
 * @typedef {import('./settings.mjs').Key | 'product'} Key  all products are counted as one
 * @typedef {import('./settings.mjs').Side} Side
 *
 * @typedef {object} Counts  of the callers that have asked since the last event
 * @property {number} requests
 * @property {number} answered
 * @property {number} errors
 * @property {number} outdated  answers with data that had been replaced and invalidated before the caller asked
 * @property {number} slowest  the longest wait, of those that still wait, too; in milliseconds
 * @property {number} queries  sent to the database
 *
 * @typedef {object} SideReport
 * @property {Counts} counts
 * @property {Record<string, number>} loading  loads under way, by key; those of all products are one
 * @property {number} waiting  callers without an answer
 */

const [redisUrl = '', namespace = '', ...databasePorts] = process.argv.slice(2)

/** What the source does at the moment. */
let source = { delay: 0, isBroken: false }

/** Loads that have ended, and end for those who wait once the lab knows of it. @type {Map<number, () => void>} */
const ended = new Map()
let loads = 0

/** One side of this process. */
class ShopSide {
  /** @param {Side} side @param {number} databasePort */
  constructor(side, databasePort) {
    this.side = side
    this.redis = new Redis(redisUrl, { commandTimeout: redisTimeout, retryStrategy: () => 200 })
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
    /** When the callers asked that have no answer, those first that wait longest. @type {Set<{ askedAt: number, counts: Counts }>} */
    this.waiting = new Set()
    this.counts = zero()
    this.way = this.setUp(side === 'with' ? 'herdless' : 'nothing')
  }

  /** @param {import('../ways.mjs').WayName} name */
  setUp(name) {
    this.name = name
    const limit = this.side === 'with' ? { limit: sourceLimit } : {}
    return ways[name].setUp({ redis: this.redis, namespace: `${namespace}-${this.side}`, lockTtl, valueTtl, ...limit })
  }

  /** @param {import('../ways.mjs').WayName} name */
  async change(name) {
    if (name === this.name) return
    const before = this.way
    this.way = this.setUp(name)
    await before.close?.()
  }

  /** One caller. What it meets counts for the event before which it asked. @param {Key} key @param {string} [name] of a product */
  async ask(key, name = key) {
    const { counts } = this
    const expected = this.editions[key] ?? 1
    const caller = { askedAt: performance.now(), counts }
    this.waiting.add(caller)
    counts.requests++
    try {
      const answer = await this.way.get(name, () => this.load(key), AbortSignal.timeout(patience))
      counts.answered++
      if (/** @type {{ edition: number }} */ (answer).edition < expected) counts.outdated++
    } catch {
      counts.errors++
    } finally {
      this.waiting.delete(caller)
      counts.slowest = Math.max(counts.slowest, Math.round(performance.now() - caller.askedAt))
    }
  }

  /** The loader. @param {Key} key */
  async load(key) {
    this.counts.queries++
    this.loading[key] = (this.loading[key] ?? 0) + 1
    tellParent({ loads: { side: this.side, key, underWay: this.underWay } })
    try {
      const { delay, isBroken } = source
      if (isBroken) await this.database.query('select report(broken => true)')
      const report = key === 'product' ? '' : ', report()'
      const { rows } = await this.database.query(`select number as edition${report} from edition`)
      await sleep(delay)
      return rows[0]
    } finally {
      this.loading[key]--
      // The next load may begin in another process, whose word could overtake this one.
      const id = ++loads
      const isKnown = new Promise((/** @type {(value?: undefined) => void} */ resolve) => ended.set(id, resolve))
      tellParent({ ended: { id, side: this.side, underWay: this.underWay } })
      await isKnown
    }
  }

  get underWay() {
    return Object.values(this.loading).reduce((sum, count) => sum + count, 0)
  }

  get isBusy() {
    return this.waiting.size > 0 || this.underWay > 0
  }

  /** @returns {SideReport} */
  report() {
    const { loading, waiting, counts } = this
    const [oldest] = [...waiting].filter((caller) => caller.counts === counts)
    const longest = oldest === undefined ? 0 : Math.round(performance.now() - oldest.askedAt)
    return {
      counts: { ...counts, slowest: Math.max(counts.slowest, longest) },
      loading: { ...loading },
      waiting: waiting.size,
    }
  }
}

/** @returns {Counts} */
function zero() {
  return { requests: 0, answered: 0, errors: 0, outdated: 0, slowest: 0, queries: 0 }
}

const shop = {
  without: new ShopSide('without', Number(databasePorts[0])),
  with: new ShopSide('with', Number(databasePorts[1])),
}

let isHeld = false

/** A caller on each side. @param {Key} key */
function askAll(key) {
  if (!isHeld) for (const side of sides) void shop[side].ask(key)
}

/** The event since which is counted. */
let event = 0

serveParent({
  async start() {
    await Promise.all(sides.flatMap((side) => [shop[side].redis.ping(), shop[side].database.query('select report()')]))
    for (const [index, key] of allKeys.entries()) {
      await sleep(everyCaller / allKeys.length)
      setInterval(() => askAll(key), everyCaller + index)
    }
    setInterval(
      () => tellParent({ report: { event, without: shop.without.report(), with: shop.with.report() } }),
      reportEvery,
    )
  },

  /** @param {{ way: import('../ways.mjs').WayName }} details */
  choose: ({ way }) => shop.without.change(way),

  /** @param {{ source: { delay: number, isBroken: boolean } }} details */
  behave(details) {
    source = details.source
  },

  /** An event begins, and all counts with it. @param {{ event: number }} details */
  begin(details) {
    event = details.event
    for (const side of sides) shop[side].counts = zero()
  },

  /** The lab knows that a load has ended. @param {{ id: number }} details */
  know({ id }) {
    ended.get(id)?.()
    ended.delete(id)
  },

  /** A crawler asks for products, all at once, on both sides. @param {{ names: string[] }} details */
  crawl({ names }) {
    for (const name of names) for (const side of sides) void shop[side].ask('product', name)
  },

  /** Nobody asks any more. Resolves when nothing is under way. */
  async hold() {
    isHeld = true
    while (sides.some((side) => shop[side].isBusy)) await sleep(10)
  },

  go() {
    isHeld = false
  },

  /** Asks for every key on both sides, so that all are in Redis. */
  async warm() {
    const signal = AbortSignal.timeout(patience)
    const all = sides.flatMap((side) => allKeys.map((key) => ({ side, key })))
    await Promise.all(all.map(({ side, key }) => shop[side].way.get(key, () => shop[side].load(key), signal)))
  },

  /** Invalidates a key. @param {{ side: Side, key: Key }} details */
  invalidate: ({ side, key }) => shop[side].way.invalidate(key),

  /** From now on, callers expect this edition. @param {{ side: Side, key: Key, edition: number }} details */
  expect({ side, key, edition }) {
    shop[side].editions[key] = edition
  },
})

import { Redis } from 'ioredis'

import { provisionRedis } from '../../../tools/servers/provision-redis.mjs'
import { startServer, urlOf } from '../../../tools/servers/start-redis.mjs'
import { startChild } from '../children.mjs'
import { startRedis } from '../redis.mjs'
import { keys, processNames, sides } from './settings.mjs'

/**
 * What the live lab runs: a Redis, a database for each side, and four processes of the shop under steady load.
 *
 * @typedef {import('./settings.mjs').Key} Key
 * @typedef {import('./settings.mjs').Side} Side
 * @typedef {import('../ways.mjs').WayName} WayName
 * @typedef {{ name: string, child: import('../children.mjs').Child, state: 'running' | 'paused' | 'starting' }} Shop
 * @typedef {{ shop: string, side: Side, key: Key }} LoadNews
 * @typedef {{ shop: string, report: Record<Side, import('./shop.mjs').SideReport> }} ReportNews
 */

/** A table of this size is summed up in some milliseconds. */
const sales = 15_000

export class Fleet {
  /** @type {WayName} */
  way = 'nothing'
  source = { delay: 0, isBroken: false }
  isRedisUp = true
  /** @type {Shop[]} */
  shops = []
  /** @type {(news: LoadNews) => void} */
  onLoad = () => {}
  /** @type {(news: ReportNews) => void} */
  onReport = () => {}

  /** @param {Awaited<ReturnType<typeof openRedis>>} redis @param {Record<Side, import('../children.mjs').Child>} databases */
  constructor(redis, databases) {
    this.redis = redis
    this.databases = databases
    this.client = new Redis(redis.url, { commandTimeout: 1_000, retryStrategy: () => 100 })
    this.client.on('error', () => {})
    /** @type {string[]} */
    this.ports = []
  }

  static async start() {
    const redis = await openRedis()
    const databases = {
      without: startChild('database.mjs', [`${sales}`]),
      with: startChild('database.mjs', [`${sales}`]),
    }
    const fleet = new Fleet(redis, databases)
    const started = await Promise.all(sides.map((side) => databases[side].ask('start')))
    fleet.ports = started.map(({ port }) => `${port}`)
    fleet.shops = await Promise.all(processNames.map((name) => fleet.#open(name)))
    return fleet
  }

  /** @param {string} name @returns {Promise<Shop>} */
  async #open(name) {
    const child = startChild('live/shop.mjs', [this.redis.url, this.redis.namespace, ...this.ports])
    child.onNews(({ loads, report }) => {
      if (loads !== undefined) this.onLoad({ shop: name, ...loads })
      else this.onReport({ shop: name, report })
    })
    await Promise.all([child.ask('behave', { source: this.source }), child.ask('choose', { way: this.way })])
    await child.ask('start')
    return { name, child, state: 'running' }
  }

  /** @param {WayName} way of the side without herdless */
  async choose(way) {
    this.way = way
    await this.flush('without')
    await this.#askAll('choose', { way })
  }

  /** @param {Partial<Fleet['source']>} change */
  async behave(change) {
    this.source = { ...this.source, ...change }
    await this.#askAll('behave', { source: this.source })
  }

  /** Removes the values of some keys, as their expiry does. @param {readonly Key[]} expired */
  async expire(expired) {
    await this.client.unlink(expired.flatMap((key) => sides.map((side) => this.valueName(side, key))))
  }

  /** Removes what the lab has stored. @param {Side} [only] */
  async flush(only) {
    const all = (only === undefined ? sides : [only]).flatMap((side) =>
      Object.keys(keys).flatMap((key) => [this.valueName(side, key), this.leaseName(side, key)]),
    )
    await this.client.unlink(all)
  }

  /** Changes the source, then invalidates a key as the process does that has changed it. @param {Side} side @param {Key} key */
  async edit(side, key) {
    const edition = await this.databases[side].ask('edit')
    const [shop] = this.#running()
    await shop?.child.ask('invalidate', { side, key })
    await this.#askAll('expect', { side, key, edition })
  }

  /** Kills a process, and starts another in its place. @param {string} name */
  async kill(name) {
    const shop = this.#shop(name)
    shop.state = 'starting'
    await shop.child.kill()
    const { child, state } = await this.#open(name)
    Object.assign(shop, { child, state })
  }

  /** @param {string} name */
  pause(name) {
    const shop = this.#shop(name)
    if (shop.state !== 'running') return
    shop.state = 'paused'
    shop.child.pause(true)
  }

  /** Tells the process also what it has missed. @param {string} name */
  async resume(name) {
    const shop = this.#shop(name)
    if (shop.state !== 'paused') return
    shop.state = 'running'
    shop.child.pause(false)
    await Promise.all([shop.child.ask('behave', { source: this.source }), shop.child.ask('choose', { way: this.way })])
  }

  async stopRedis() {
    this.isRedisUp = false
    await this.redis.halt()
  }

  async startRedis() {
    await this.redis.resume()
    this.isRedisUp = true
  }

  /** The time left of each lease or lock, in milliseconds; 0 if there is none. @returns {Promise<Record<Side, Record<string, number>>>} */
  async leases() {
    const names = sides.flatMap((side) => Object.keys(keys).map((key) => ({ side, key })))
    const pipeline = this.client.pipeline()
    for (const { side, key } of names) pipeline.pttl(this.leaseName(side, key))
    const replies = (await pipeline.exec()) ?? []
    /** @type {Record<Side, Record<string, number>>} */
    const left = { without: {}, with: {} }
    names.forEach(({ side, key }, index) => (left[side][key] = Math.max(0, Number(replies[index]?.[1] ?? 0))))
    return left
  }

  async stop() {
    this.client.disconnect()
    await this.redis.stop()
  }

  /** @param {Side} side @param {string} key */
  valueName(side, key) {
    const namespace = `${this.redis.namespace}-${side}`
    return side === 'with' ? `{${namespace}:${key}}` : `${namespace}:${key}`
  }

  /** @param {Side} side @param {string} key */
  leaseName(side, key) {
    return `${this.valueName(side, key)}:${side === 'with' ? 'lease' : 'lock'}`
  }

  /** @param {string} name */
  #shop(name) {
    return /** @type {Shop} */ (this.shops.find((shop) => shop.name === name))
  }

  #running() {
    return this.shops.filter(({ state }) => state === 'running')
  }

  /** @param {string} what @param {object} details */
  async #askAll(what, details) {
    await Promise.all(this.#running().map(({ child }) => child.ask(what, details)))
  }
}

/** A Redis that the lab may stop and start again, or one that REDIS_URL names, which it leaves alone. */
async function openRedis() {
  const { kind } = await provisionRedis()
  if (kind !== 'binary') {
    const refuse = async () => Promise.reject(new Error('This Redis is not the lab’s own, so the lab does not stop it'))
    return { ...(await startRedis()), isOwn: false, halt: refuse, resume: refuse }
  }
  let server = await startServer()
  const { address } = server
  return {
    url: urlOf(address),
    namespace: 'lab',
    isOwn: true,
    halt: () => server.stop(),
    resume: async () => void (server = await startServer({ listen: address })),
    stop: () => server.stop(),
  }
}

import { Redis } from 'ioredis'

import { provisionRedis } from '../../../tools/servers/provision-redis.mjs'
import { startServer, urlOf } from '../../../tools/servers/start-redis.mjs'
import { startChild } from '../children.mjs'
import { startRedis } from '../redis.mjs'
import { allKeys, processNames, products, sides } from './settings.mjs'

/**
 * What the live lab runs: a Redis, a database for each side, and four processes of the shop under steady load.
 *
 * @typedef {import('./settings.mjs').Key} Key
 * @typedef {import('./settings.mjs').Side} Side
 * @typedef {import('../ways.mjs').WayName} WayName
 * @typedef {{ name: string, child: import('../children.mjs').Child, state: 'running' | 'paused' | 'starting' }} Shop
 * @typedef {{ shop: string, side: Side, key: Key | 'product', underWay: number }} LoadNews  `underWay` with it, in its process
 * @typedef {Omit<LoadNews, 'key'>} EndNews
 * @typedef {{ event: number } & Record<Side, import('./shop.mjs').SideReport>} Report
 * @typedef {{ shop: string, life: number, report: Report }} ReportNews  a process that was started anew has another life
 */

/** A table of this size is summed up within some milliseconds: what makes the source slow is the wait after the query. */
const sales = 2_000

export class Fleet {
  /** @type {WayName} */
  way = 'nothing'
  source = { delay: 0, isBroken: false }
  isRedisUp = true
  /** The event since which is counted. */
  event = 0
  #lives = 0
  /** @type {Shop[]} */
  shops = []
  /** @type {(news: LoadNews) => void} */
  onLoad = () => {}
  /** @type {(news: EndNews) => void} */
  onEnd = () => {}
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
    const databases = {
      without: startChild('database.mjs', [`${sales}`]),
      with: startChild('database.mjs', [`${sales}`]),
    }
    const starting = sides.map((side) => databases[side].ask('start'))
    const [redis, ...started] = await Promise.all([openRedis(), ...starting])
    const fleet = new Fleet(redis, databases)
    fleet.ports = started.map(({ port }) => `${port}`)
    fleet.shops = await Promise.all(processNames.map((name) => fleet.#open(name)))
    return fleet
  }

  /** @param {string} name @returns {Promise<Shop>} */
  async #open(name) {
    const child = startChild('live/shop.mjs', [this.redis.url, this.redis.namespace, ...this.ports])
    const life = ++this.#lives
    child.onNews(({ loads, ended, report }) => {
      if (loads !== undefined) this.onLoad({ shop: name, ...loads })
      else if (report !== undefined) this.onReport({ shop: name, life, report })
      else {
        this.onEnd({ shop: name, ...ended })
        // A process that is killed meanwhile needs no answer.
        child.ask('know', { id: ended.id }).catch(() => {})
      }
    })
    await this.#tellAll(child)
    await child.ask('start')
    return { name, child, state: 'running' }
  }

  /** Tells a process all that the others know. @param {import('../children.mjs').Child} child */
  async #tellAll(child) {
    await child.ask('choose', { way: this.way })
    await child.ask('behave', { source: this.source })
    await child.ask('begin', { event: this.event })
  }

  /** @param {WayName} way of the side without herdless */
  async choose(way) {
    this.way = way
    await this.#askAll('choose', { way })
  }

  /** Lets all counts begin again. */
  async begin() {
    this.event++
    await this.#askAll('begin', { event: this.event })
  }

  /** Lets all keys be in Redis on both sides, as new as one another. Nobody asks meanwhile: that would be a herd. */
  async warm() {
    const { source } = this
    await this.#askAll('hold')
    await this.behave({ delay: 0, isBroken: false })
    await this.expire(allKeys)
    await this.#running()[0]?.child.ask('warm')
    await this.behave(source)
    await this.#askAll('go')
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

  /** Removes what the lab has stored. */
  async flush() {
    const all = [...allKeys, ...products].flatMap((key) =>
      sides.flatMap((side) => [this.valueName(side, key), this.leaseName(side, key)]),
    )
    await this.client.unlink(all)
  }

  /** Lets the processes ask for all products at once, each for its part, on both sides. */
  async crawl() {
    const running = this.#running()
    const partOf = (/** @type {number} */ part) => products.filter((_, index) => index % running.length === part)
    await Promise.all(running.map(({ child }, index) => child.ask('crawl', { names: partOf(index) })))
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
    await this.#tellAll(shop.child)
  }

  async stopRedis() {
    this.isRedisUp = false
    await this.redis.halt()
  }

  async startRedis() {
    await this.redis.resume()
    this.isRedisUp = true
  }

  /**
   * How long each lease or lock, and each value, will be in Redis; 0 if it is not there.
   * @returns {Promise<{ side: Side, key: Key, lease: number, value: number }[]>} in milliseconds
   */
  async timesLeft() {
    const names = this.#names()
    const pipeline = this.client.pipeline()
    for (const { side, key } of names) pipeline.pttl(this.leaseName(side, key)).pttl(this.valueName(side, key))
    const replies = (await pipeline.exec()) ?? []
    const left = replies.map(([, ms]) => Math.max(0, Number(ms ?? 0)))
    return names.map((name, index) => ({ ...name, lease: left[2 * index] ?? 0, value: left[2 * index + 1] ?? 0 }))
  }

  async stop() {
    this.client.disconnect()
    await this.redis.stop()
  }

  #names() {
    return sides.flatMap((side) => allKeys.map((key) => ({ side, key })))
  }

  /** @param {Side} side */
  isHerdless(side) {
    return side === 'with' || this.way === 'herdless'
  }

  /** @param {Side} side @param {string} key */
  valueName(side, key) {
    const namespace = `${this.redis.namespace}-${side}`
    return this.isHerdless(side) ? `{${namespace}:${key}}` : `${namespace}:${key}`
  }

  /** @param {Side} side @param {string} key */
  leaseName(side, key) {
    return `${this.valueName(side, key)}:${this.isHerdless(side) ? 'lease' : 'lock'}`
  }

  /** @param {string} name */
  #shop(name) {
    return /** @type {Shop} */ (this.shops.find((shop) => shop.name === name))
  }

  #running() {
    return this.shops.filter(({ state }) => state === 'running')
  }

  /** @param {string} what @param {object} [details] */
  async #askAll(what, details = {}) {
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

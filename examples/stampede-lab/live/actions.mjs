import { setTimeout as sleep } from 'node:timers/promises'

import { ways } from '../ways.mjs'
import { allKeys, lockTtl, sides, slowness } from './settings.mjs'

/**
 * What a viewer may do. Each action resolves when it is done, and says in the tape what was done.
 *
 * @typedef {import('./settings.mjs').Key} Key
 * @typedef {import('./settings.mjs').Side} Side
 * @typedef {import('../ways.mjs').WayName} WayName
 * @typedef {(value?: string) => Promise<unknown>} Action
 */

/** A load of the slow source lasts longer than this, once it has begun. */
const midLoad = slowness / 2

/** A load of an expired key begins sooner, in milliseconds: there are callers all the time. */
const longestPause = 5_000

/**
 * @param {import('./fleet.mjs').Fleet} fleet
 * @param {import('./scene.mjs').Scene} scene
 * @returns {Record<string, Action>}
 */
export function actionsOn(fleet, scene) {
  /** @type {Set<(news: import('./fleet.mjs').LoadNews) => void>} */
  const listeners = new Set()
  fleet.onLoad = (news) => {
    scene.addLoad(news)
    for (const listener of listeners) listener(news)
  }
  fleet.onEnd = (news) => scene.addEnd(news)

  /** Resolves with the process that begins the next load of a key on a side. @param {Side} side @param {Key} key */
  function nextLoad(side, key) {
    return new Promise((/** @type {(shop: string) => void} */ resolve, reject) => {
      const listener = (/** @type {import('./fleet.mjs').LoadNews} */ news) => {
        if (news.side === side && news.key === key) settle(() => resolve(news.shop))
      }
      const late = setTimeout(() => settle(() => reject(new Error('No load has begun'))), longestPause)
      const settle = (/** @type {() => void} */ how) => {
        clearTimeout(late)
        listeners.delete(listener)
        how()
      }
      listeners.add(listener)
    })
  }

  /** From now on, all counts are of this event. @param {string} kind */
  async function begin(kind) {
    scene.conclude()
    await fleet.begin()
    scene.begin(kind, fleet.event)
  }

  /** @param {string} action @param {{ value?: string, shops?: string[] }} [details] */
  function tell(action, details = {}) {
    scene.tape.add({ kind: 'act', action, ...details })
  }

  /** Lets a key expire while the source is slow; resolves with the leader of each side in the middle of its load. @param {string} action */
  async function inMidLoad(action) {
    needRedis()
    scene.tape.add({ kind: 'soon', action })
    await begin(action)
    const key = 'prices'
    const { delay } = fleet.source
    if (delay === 0) await fleet.behave({ delay: slowness })
    try {
      const leaders = Promise.all(sides.map((side) => nextLoad(side, key)))
      await Promise.all([leaders, fleet.expire([key])])
      const [without = '', leader = ''] = await leaders
      await sleep(midLoad)
      return { key: /** @type {Key} */ (key), leaders: [...new Set([leader, without])] }
    } finally {
      // What is under way stays slow.
      if (delay === 0) await fleet.behave({ delay: 0 })
    }
  }

  function needRedis() {
    if (!fleet.isRedisUp) throw new Error('Redis is down')
  }

  /** Tells the page of work that fails after its action has ended. @param {Promise<unknown>} work */
  function inBackground(work) {
    work.catch((error) =>
      scene.tape.add({ kind: 'trouble', message: `${error instanceof Error ? error.message : error}` }),
    )
  }

  /** @param {string} kind */
  async function expire(kind) {
    needRedis()
    await begin(kind)
    tell(kind)
    await fleet.expire(allKeys)
  }

  return {
    async way(value) {
      const way = /** @type {WayName | undefined} */ (Object.keys(ways).find((name) => name === value))
      if (way === undefined) throw new TypeError(`Expected a way of ${Object.keys(ways).join(', ')}, got ${value}`)
      await fleet.choose(way)
      if (fleet.isRedisUp) await fleet.warm()
      await begin('way')
      tell('way', { value: way })
    },
    expire: () => expire('expire'),
    age: () => expire('age'),
    async invalidate() {
      const { key } = await inMidLoad('invalidate')
      tell('invalidate')
      await Promise.all(sides.map((side) => fleet.edit(side, key)))
    },
    async kill() {
      const { leaders } = await inMidLoad('kill')
      tell('kill', { shops: leaders })
      for (const shop of leaders) {
        scene.remove(shop)
        inBackground(fleet.kill(shop))
      }
    },
    async pause() {
      const { leaders } = await inMidLoad('pause')
      tell('pause', { shops: leaders })
      for (const shop of leaders) fleet.pause(shop)
      inBackground(sleep(3 * lockTtl).then(() => Promise.all(leaders.map((shop) => fleet.resume(shop)))))
    },
    async slow(value) {
      await fleet.behave({ delay: value === 'on' ? slowness : 0 })
      tell(value === 'on' ? 'slow' : 'fast')
    },
    async failing(value) {
      const isBroken = value === 'on'
      await begin(isBroken ? 'failing' : 'healed')
      tell(isBroken ? 'failing' : 'healed')
      await fleet.behave({ isBroken })
      // A source that nobody asks does not fail.
      if (isBroken && fleet.isRedisUp) await fleet.expire(allKeys)
    },
    async redisDown() {
      if (!fleet.isRedisUp) return
      await begin('redisDown')
      await fleet.stopRedis()
      scene.forgetLeases()
      tell('redisDown')
    },
    async redisUp() {
      if (fleet.isRedisUp) return
      await begin('redisUp')
      await fleet.startRedis()
      tell('redisUp')
    },
    async flush() {
      needRedis()
      await begin('flush')
      tell('flush')
      await fleet.flush()
    },
    /** A herd of different keys, which is what a flushed Redis brings. */
    async crawl() {
      needRedis()
      // The wait of a slow source costs it nothing, however many wait: here, what makes it slow is to be the herd.
      await fleet.behave({ delay: 0 })
      await begin('crawl')
      tell('crawl')
      await fleet.flush()
      await fleet.crawl()
    },
    /** All is well, and herdless has nothing beside it on the left: how the tour begins. */
    async calm() {
      if (!fleet.isRedisUp) await fleet.startRedis()
      await fleet.behave({ delay: slowness, isBroken: false })
      await fleet.choose('nothing')
      await fleet.warm()
      await begin('way')
    },
  }
}

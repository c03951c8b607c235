import { setTimeout as sleep } from 'node:timers/promises'

import { ways } from '../ways.mjs'
import { nameOf } from './scene.mjs'
import { keys, lockTtl, sides, slowness } from './settings.mjs'

/**
 * What a viewer may do. Each action resolves with a sentence that says what was done.
 *
 * @typedef {import('./settings.mjs').Key} Key
 * @typedef {import('./settings.mjs').Side} Side
 * @typedef {(value?: string) => Promise<string>} Action
 */

const allKeys = /** @type {Key[]} */ (Object.keys(keys))

/** A load of the slow source lasts longer than this, once it has begun. */
const midLoad = slowness / 2

/**
 * @param {import('./fleet.mjs').Fleet} fleet
 * @param {import('./scene.mjs').Scene} scene
 * @returns {Record<string, Action>}
 */
export function actionsOn(fleet, scene) {
  /** @type {Set<(news: import('./fleet.mjs').LoadNews) => void>} */
  const listeners = new Set()
  fleet.onLoad = (news) => {
    const others = fleet.shops.length > 1 && news.side === 'with' ? ', all others wait' : ''
    if (news.side === 'with')
      scene.note({ kind: 'load', side: 'with', text: `${news.shop} loads ${nameOf(news.key)}${others}` })
    for (const listener of listeners) listener(news)
  }

  /** Resolves with the process that begins the next load of a key on a side. @param {Side} side @param {Key} key */
  function nextLoad(side, key) {
    return new Promise((/** @type {(shop: string) => void} */ resolve) => {
      const listener = (/** @type {import('./fleet.mjs').LoadNews} */ news) => {
        if (news.side !== side || news.key !== key) return
        listeners.delete(listener)
        resolve(news.shop)
      }
      listeners.add(listener)
    })
  }

  /** Lets a key expire while the source is slow; resolves with the leader of each side in the middle of its load. */
  async function inMidLoad() {
    const [key = 'prices'] = allKeys
    const { delay } = fleet.source
    if (delay === 0) await fleet.behave({ delay: slowness })
    const leaders = Promise.all(sides.map((side) => nextLoad(side, key)))
    await fleet.expire([key])
    const [without = '', leader = ''] = await leaders
    await sleep(midLoad)
    // What is under way stays slow.
    if (delay === 0) await fleet.behave({ delay: 0 })
    return { key, without, with: leader }
  }

  /** Tells the page of work that fails after its action has ended. @param {Promise<unknown>} work */
  function inBackground(work) {
    work.catch((error) => scene.note({ kind: 'act', text: `${error instanceof Error ? error.message : error}` }))
  }

  return {
    async way(value) {
      const way = Object.keys(ways).find((name) => name === value)
      if (way === undefined) throw new TypeError(`Expected a way of ${Object.keys(ways).join(', ')}, got ${value}`)
      await fleet.choose(/** @type {import('../ways.mjs').WayName} */ (way))
      scene.reset()
      return `Left side: ${ways[/** @type {import('../ways.mjs').WayName} */ (way)].title}. Both counts start again.`
    },
    async expire() {
      await fleet.expire(allKeys)
      return 'All keys have expired.'
    },
    async invalidate() {
      const { key } = await inMidLoad()
      await Promise.all(sides.map((side) => fleet.edit(side, key)))
      return `${nameOf(key)} was changed and invalidated while a load of the old data was under way.`
    },
    async kill() {
      const leaders = await inMidLoad()
      const killed = [...new Set([leaders.with, leaders.without])]
      for (const shop of killed) {
        scene.remove(shop)
        inBackground(fleet.kill(shop))
      }
      return `Killed in mid-load: ${listed(killed)}. A new process starts in its place.`
    },
    async pause() {
      const leaders = await inMidLoad()
      const paused = [...new Set([leaders.with, leaders.without])]
      for (const shop of paused) fleet.pause(shop)
      inBackground(sleep(3 * lockTtl).then(() => Promise.all(paused.map((shop) => fleet.resume(shop)))))
      return `Paused in mid-load for ${(3 * lockTtl) / 1_000} s: ${listed(paused)}.`
    },
    async slow(value) {
      await fleet.behave({ delay: value === 'on' ? slowness : 0 })
      return value === 'on' ? `A load takes ${slowness / 1_000} s longer now.` : 'The source is fast again.'
    },
    async failing(value) {
      await fleet.behave({ isBroken: value === 'on' })
      return value === 'on' ? 'Each query fails now.' : 'Queries succeed again.'
    },
    async redisDown() {
      await fleet.stopRedis()
      return 'Redis is down.'
    },
    async redisUp() {
      await fleet.startRedis()
      return 'Redis is back, and empty.'
    },
    async flush() {
      await fleet.flush()
      return 'All values, leases and locks have been removed from Redis.'
    },
  }
}

/** @param {readonly string[]} names */
function listed(names) {
  return new Intl.ListFormat('en-GB').format(names)
}

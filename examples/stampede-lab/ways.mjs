import { setTimeout as sleep } from 'node:timers/promises'

import { createCache } from 'herdless'
import { redisStore } from 'herdless/redis'

/**
 * Four ways to answer "give me the report, from the cache if it is there". They are meant to be read side by side.
 * Each is set up once in every process, with that process's own Redis connection.
 *
 * @typedef {object} Setup
 * @property {import('ioredis').Redis} redis
 * @property {string} namespace  what every key in Redis begins with
 * @property {number} lockTtl  milliseconds after which Redis forgets a lock, or a lease, that is not renewed
 * @property {number} [valueTtl]  milliseconds, a minute by default
 * @property {number} [limit]  loads at a time in all processes, of which herdless alone takes notice; none by default
 *
 * @typedef {object} Way
 * @property {(key: string, load: () => Promise<unknown>, signal: AbortSignal) => Promise<unknown>} get
 *   what one caller does; `signal` says that the caller has given up
 * @property {(key: string) => Promise<unknown>} invalidate  what a process does after it has changed the source
 * @property {() => Promise<void>} [close]
 */

const minute = 60_000

/**
 * Look; if it is not there, load it and store it. Most caches in front of a database are this.
 * @param {Setup} setup
 * @returns {Way}
 */
function nothing({ redis, namespace, valueTtl = minute }) {
  return {
    async get(name, load) {
      const key = `${namespace}:${name}`
      const cached = await redis.get(key)
      if (cached !== null) return JSON.parse(cached)
      const value = await load()
      await redis.set(key, JSON.stringify(value), 'PX', valueTtl)
      return value
    },
    invalidate: (name) => redis.del(`${namespace}:${name}`),
  }
}

/**
 * The same, but callers in one process share one promise. Other processes do not see it.
 * @param {Setup} setup
 * @returns {Way}
 */
function coalescing(setup) {
  const unshared = nothing(setup)
  /** @type {Map<string, Promise<unknown>>} */
  const underWay = new Map()
  return {
    get(key, load, signal) {
      let answer = underWay.get(key)
      if (!answer) {
        answer = unshared.get(key, load, signal).finally(() => underWay.delete(key))
        underWay.set(key, answer)
      }
      return answer
    },
    invalidate: unshared.invalidate,
  }
}

/**
 * The lock of the usual tutorial: whoever sets the lock key loads, everybody else looks again every 50 ms. It even
 * has the `finally` that many tutorials leave out, without which every failing load would block the key for the
 * whole ttl.
 * @param {Setup} setup
 * @returns {Way}
 */
function lock({ redis, namespace, lockTtl, valueTtl = minute }) {
  return {
    async get(name, load, signal) {
      const key = `${namespace}:${name}`
      for (;;) {
        const cached = await redis.get(key)
        if (cached !== null) return JSON.parse(cached)
        if (await redis.set(`${key}:lock`, '1', 'PX', lockTtl, 'NX')) {
          try {
            const value = await load()
            await redis.set(key, JSON.stringify(value), 'PX', valueTtl)
            return value
          } finally {
            await redis.del(`${key}:lock`)
          }
        }
        await sleep(50, undefined, { signal })
      }
    },
    invalidate: (name) => redis.del(`${namespace}:${name}`),
  }
}

/**
 * @param {Setup} setup
 * @returns {Way}
 */
function herdless({ redis, namespace, lockTtl, valueTtl = minute, limit }) {
  // The source is named like the namespace: the limit is not that of anybody else on this Redis.
  const limited = limit && { sources: { [namespace]: { concurrency: limit, throttle: false } }, source: namespace }
  const cache = createCache({ store: redisStore(redis), namespace, ttl: valueTtl, leaseTtl: lockTtl, ...limited })
  return {
    get: (key, load, signal) => cache.getOrLoad(key, load, { signal }),
    invalidate: (key) => cache.invalidate(key),
    close: () => cache.close(),
  }
}

/** By the name that `--only` takes; `title` is what the table says. */
export const ways = {
  nothing: { title: 'nothing', setUp: nothing },
  coalescing: { title: 'in-process coalescing', setUp: coalescing },
  lock: { title: 'the usual SET NX lock', setUp: lock },
  herdless: { title: 'herdless', setUp: herdless },
}

/** @typedef {keyof typeof ways} WayName */

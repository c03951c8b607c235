/** What the blocks marked `in=cache` have before they begin: an empty cache, another process's view of it, and things to load. */
import { createCache } from 'herdless'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'
import { atEnd } from './at-end.mjs'

const url = process.env['REDIS_URL'] ?? ''

/** A busy machine takes its time, and a block has a deadline of its own. */
const options = /** @type {const} */ ({ namespace: 'docs', commandTimeout: '30s' })

export const redis = new Redis(url)
export const cache = createCache({ store: redisStore(redis), ...options })
const redisOfAnotherProcess = new Redis(url)
export const cacheOfAnotherProcess = createCache({ store: redisStore(redisOfAnotherProcess), ...options })

atEnd(async () => {
  await Promise.all([cache.close(), cacheOfAnotherProcess.close()])
  redis.disconnect()
  redisOfAnotherProcess.disconnect()
})

/** @type {Record<string, { name: string, private?: boolean }>} */
const rows = { 'user:1': { name: 'Ada' } }

export const db = {
  /** @param {string} key */
  find: async (key) => rows[key],
}

/** @param {number} id */
export const fetchPrice = async (id) => ({ id, cents: 1999 })

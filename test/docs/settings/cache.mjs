/** What the blocks marked `in=cache` have before they begin: an empty cache, another process's view of it, and things to load. */
import { createCache } from 'herdless'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'

const url = process.env['REDIS_URL'] ?? ''

export const redis = new Redis(url)
export const cache = createCache({ store: redisStore(redis), namespace: 'docs' })
export const cacheOfAnotherProcess = createCache({ store: redisStore(new Redis(url)), namespace: 'docs' })

/** @type {Record<string, { name: string, private?: boolean }>} */
const rows = { 'user:1': { name: 'Ada' } }

export const db = {
  /** @param {string} key */
  find: async (key) => rows[key],
}

/** @param {number} id */
export const fetchPrice = async (id) => ({ id, cents: 1999 })

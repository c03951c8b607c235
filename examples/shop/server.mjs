import { createCache } from 'herdless'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { shop } from './app.mjs'

/** One process of the shop. It keeps copies of pages in its memory, so that most answers cost no command in Redis. */

const redis = new Redis(process.env['REDIS_URL'] ?? '')
const cache = createCache({ store: redisStore(redis), namespace: 'shop', near: {} })
const db = new Pool()

shop(db, cache).listen(0, '127.0.0.1')

process.once('disconnect', async () => {
  await cache.close()
  redis.disconnect()
  await db.end()
})

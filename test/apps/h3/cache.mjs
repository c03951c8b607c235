import { createCache } from 'herdless'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'

const redis = new Redis(process.env.REDIS_URL ?? '')
redis.on('error', () => {})

export const cache = createCache({
  store: redisStore(redis),
  namespace: process.env.NAMESPACE ?? 'h3',
  warnings: false,
})

import { createCache } from 'herdless'
import { nextCache } from 'herdless/next'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'

export default nextCache(() => {
  const redis = new Redis(process.env.REDIS_URL)
  redis.on('error', () => {})
  return createCache({ store: redisStore(redis), namespace: process.env.NAMESPACE, commandTimeout: '5s' })
})

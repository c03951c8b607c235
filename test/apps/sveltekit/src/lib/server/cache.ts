import { createCache } from 'herdless'
import { redisStore } from 'herdless/redis'
import { Redis } from 'ioredis'

const redis = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379')
redis.on('error', (error) => console.error(error.message))

export const cache = createCache({ store: redisStore(redis), namespace: process.env.NAMESPACE ?? 'svelte' })

process.on('sveltekit:shutdown', async () => {
  await cache.close()
  await redis.quit()
})

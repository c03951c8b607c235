/** As the README of the package sets it up for production, without its messages. */
import { CacheHandler } from '@fortedigital/nextjs-cache-handler'
import createCompositeHandler from '@fortedigital/nextjs-cache-handler/composite'
import createLruHandler from '@fortedigital/nextjs-cache-handler/local-lru'
import createRedisHandler from '@fortedigital/nextjs-cache-handler/redis-strings'
import { createClient } from '@redis/client'

CacheHandler.onCreation(() => {
  global.cacheHandlerConfig ??= configured()
  return global.cacheHandlerConfig
})

async function configured() {
  const lru = createLruHandler()
  if (process.env.NEXT_PHASE === 'phase-production-build') return { handlers: [lru] }
  const client = createClient({ url: process.env.REDIS_URL, pingInterval: 10_000 })
  client.on('error', () => (global.cacheHandlerConfig = undefined))
  await client.connect()
  const redis = createRedisHandler({ client, keyPrefix: `${process.env.NAMESPACE}:` })
  const setStrategy = (context) => (context?.tags.includes('memory-cache') ? 0 : 1)
  return { handlers: [createCompositeHandler({ handlers: [lru, redis], setStrategy })] }
}

export default CacheHandler

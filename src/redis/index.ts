export { redisLock, type RedisLockOptions } from './locks/redis-lock.ts'
export { redlock, type RedlockOptions } from './locks/redlock.ts'
export { redisStore, type RedisStoreOptions } from './redis-store.ts'
export type { RedisClient, RedisSubscriber } from './connection/client.ts'

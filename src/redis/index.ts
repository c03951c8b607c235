export { redisLock, type RedisLockOptions } from './redis-lock.ts'
export { redlock, type RedlockOptions } from './redlock.ts'
export { redisStore, type RedisStoreOptions } from './redis-store.ts'
export type { RedisClient, RedisSubscriber } from './client.ts'

export { redisStore, type RedisStoreOptions } from './redis-store.ts'
export type { RedisClient, RedisSubscriber } from './client.ts'

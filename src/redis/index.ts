export { redisStore, type RedisStoreOptions } from './store.ts'
export type { RedisClient, RedisSubscriber } from './client.ts'

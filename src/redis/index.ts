export { redisLock, type RedisLockOptions } from './locks/redis-lock.ts'
export { redisSemaphore, type RedisSemaphoreOptions } from './locks/redis-semaphore.ts'
export { redlock, type RedlockOptions } from './locks/redlock.ts'
export { redisStore, type RedisStoreOptions } from './redis-store.ts'
export type { GlideClient } from './clients/glide-client.ts'
export type { IoredisClient } from './clients/ioredis.ts'
export type { NodeRedisClient, NodeRedisCluster, NodeRedisSentinel } from './clients/node-redis-kinds.ts'
export type { RedisClient } from './clients/redis-client.ts'
export type {
  ClientEvent,
  RedisArgument,
  RedisNode,
  RedisPort,
  RedisSubscriber,
  SubscriberEvents,
  TrackingEvents,
} from './connection/port.ts'

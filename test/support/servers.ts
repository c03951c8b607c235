/**
 * Real servers for tests: one, a cluster, or a group under sentinels. Each resolves when it can be used, and is gone
 * when its test process is, however that ends.
 */
export { startRedis, RedisServer } from './redis-server.ts'
export { startCluster, RedisCluster, type ClusterShape } from './redis-cluster.ts'
export { startSentinel, SentinelGroup, type SentinelShape } from './redis-sentinel.ts'
export type { CommandCounts } from './command-counts.ts'

/**
 * Real servers for tests: one, several, a cluster, or a group under sentinels. Each resolves when it can be used, and
 * is gone when its test process is, however that ends.
 */
export { startRedis, missingFor, RedisServer } from './redis-server.ts'
export type { RedisShape } from './redis-shape.ts'
export { startNodes, RedisNodes } from './redis-nodes.ts'
export { startCluster, RedisCluster, type ClusterShape } from './redis-cluster.ts'
export type { SlotMove, MovePace } from './slot-move.ts'
export { startSentinel, SentinelGroup, type SentinelShape } from './redis-sentinel.ts'
export type { Failover } from './replication.ts'
export type { CommandCounts } from './command-counts.ts'

export { zookeeperLock, type ZooKeeperLockOptions } from './zookeeper-lock.ts'
export type { Callback, Stat, Transaction, ZooKeeperClient } from './client.ts'

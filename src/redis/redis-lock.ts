import { checkOptions, oneOf, timeout, integer, boolean } from '../core/options/checks.ts'
import { formatValue, type Duration } from '../core/time/duration.ts'
import { FleetLock } from '../core/lock/fleet-lock.ts'
import { acquireChecks, lockDefaults, type LockPlan } from '../core/options/lock-plan.ts'
import type { AcquireOptions, Lock } from '../core/contract/lock.ts'
import type { RedisClient } from './client.ts'
import { RedisLocks } from './locks.ts'
import { checkClient } from './redis-store.ts'

/** How a `redisLock` works: what is not said when it is asked for, and how it uses Redis. */
export interface RedisLockOptions extends Omit<AcquireOptions, 'signal'> {
  /** Stands before the name of each lock; the key of the lock is both. Default `'lock:'`. */
  readonly prefix?: string | undefined
  /**
   * How those who wait learn that the lock is free: `'push'` (default) by a message, over one more connection, or `'poll'`
   * by asking again `retryEvery`.
   */
  readonly wakeUp?: 'push' | 'poll' | undefined
  /**
   * Whether whoever waits may take the lock over from a process whose subscription is gone, instead of waiting for the
   * end of its ttl; the holder's `signal` is aborted when its subscription breaks. One node and Sentinel. Default `false`.
   */
  readonly stealFromDead?: boolean | undefined
  /** How many replicas must know of a lock before it is held (`WAIT`). Narrows what a failover may forget. Default 0. */
  readonly minReplicas?: number | undefined
  /** How long Redis may take to answer. Default 500 ms. */
  readonly commandTimeout?: Duration | undefined
}

const { signal: _, ...ofEach } = acquireChecks
const checks = {
  ...ofEach,
  prefix: checkedPrefix,
  wakeUp: oneOf('push', 'poll'),
  stealFromDead: boolean,
  minReplicas: integer(0),
  commandTimeout: timeout(1),
}

/**
 * A lock on Redis 6.2 or newer, or Valkey: one node, Sentinel or Cluster. Whoever holds `SET <prefix><name> <token> NX PX`
 * is excluded, and excludes.
 * @param client an ioredis `Redis` or `Cluster`; it stays yours, as it is
 * @throws TypeError for something that is not such a client, or a wrong option
 */
export function redisLock(client: RedisClient, options: RedisLockOptions = {}): Lock {
  checkClient(client)
  checkPrefix(client)
  const {
    prefix = 'lock:',
    wakeUp = 'push',
    stealFromDead = false,
    minReplicas = 0,
    commandTimeout = 500,
    ...plan
  }: Partial<LockPlan> & { prefix?: string; wakeUp?: 'push' | 'poll'; stealFromDead?: boolean } & {
    minReplicas?: number
    commandTimeout?: number
  } = checkOptions('redisLock', options, checks)
  if (minReplicas > 0 && client.isCluster) {
    throw new TypeError('Expected `minReplicas` to be 0 on a cluster: WAIT names no key, so it may ask another node')
  }
  const how = { prefix, wakeUp, stealFromDead, minReplicas, replicaTimeout: commandTimeout }
  return new FleetLock(new RedisLocks(client, how), { plan: { ...lockDefaults, ...plan }, commandTimeout })
}

/** The lock has its plain name, and what is beside it has that name in braces: a prefix before both puts them apart. */
function checkPrefix(client: RedisClient): void {
  const { options } = client as { options?: { keyPrefix?: unknown } }
  if (!client.isCluster || !options?.keyPrefix) return
  throw new TypeError('Expected a client of a cluster without `keyPrefix`: say `prefix` instead')
}

/** What stands before the names of locks. */
export function checkedPrefix(name: string, value: unknown): string {
  if (typeof value === 'string' && value.length <= 200 && value.isWellFormed()) return value
  throw new TypeError(`Expected \`${name}\` to be a string of up to 200 characters, got ${formatValue(value)}`)
}

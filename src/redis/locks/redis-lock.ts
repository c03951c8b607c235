import { checkOptions, oneOf, timeout, integer, boolean } from '../../core/options/checks.ts'
import { formatValue, type Duration } from '../../core/time/duration.ts'
import { FleetLock } from '../../core/lock/fleet-lock.ts'
import { acquireChecks, lockDefaults, type LockPlan } from '../../core/options/lock-plan.ts'
import type { AcquireOptions, Lock } from '../../core/contract/lock.ts'
import { portOf, type RedisClient } from '../clients/redis-client.ts'
import type { RedisPort } from '../connection/port.ts'
import { RedisLocks } from './locks.ts'

/** The options of a `redisLock`: the defaults of its requests, and its use of Redis. */
export interface RedisLockOptions extends Omit<AcquireOptions, 'signal'> {
  /** The prefix of every name; both together are the lock's key. Default `'lock:'`. */
  readonly prefix?: string | undefined
  /**
   * How waiters learn that the lock is free: `'push'` (default) by a message on one more connection, or `'poll'` by
   * requesting again every `retryEvery`.
   */
  readonly wakeUp?: 'push' | 'poll' | undefined
  /**
   * Whether a waiter may take the lock over from a process whose subscription is gone, instead of waiting for the end
   * of its ttl. The holder's `signal` then aborts when its subscription breaks. One node and Sentinel only. Default
   * `false`.
   */
  readonly stealFromDead?: boolean | undefined
  /**
   * How many replicas must know of a lock before it counts as held (`WAIT`). It narrows the loss in a failover. Default
   * 0.
   */
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
 * A lock on Redis 6.2 or newer, or Valkey: one node, Sentinel or Cluster. It excludes clients that use `SET
 * <prefix><name> <token> NX PX`, and is excluded by them.
 * @param client a client of ioredis, iovalkey, node-redis or Valkey GLIDE, or an adapter; it is neither changed nor closed
 * @throws TypeError for another kind of client, or a wrong option
 */
export function redisLock(client: RedisClient, options: RedisLockOptions = {}): Lock {
  const port = portOf(client)
  checkPrefix(port)
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
  if (minReplicas > 0 && port.isCluster) {
    throw new TypeError('Expected `minReplicas` to be 0 on a cluster: WAIT names no key, so it may ask another node')
  }
  const how = { prefix, wakeUp, stealFromDead, minReplicas, replicaTimeout: commandTimeout }
  return new FleetLock(new RedisLocks(port, how), { plan: { ...lockDefaults, ...plan }, commandTimeout })
}

/**
 * A key prefix of the client would put the lock, which has its plain name, and the keys beside it, which have that name
 * in braces, into different slots.
 */
function checkPrefix({ isCluster, keyPrefix }: RedisPort): void {
  if (!isCluster || keyPrefix === '') return
  throw new TypeError('Expected a client of a cluster without `keyPrefix`: say `prefix` instead')
}

/**
 * The prefix of lock names.
 * @throws TypeError unless it is a well-formed string of up to 200 characters
 */
export function checkedPrefix(name: string, value: unknown): string {
  if (typeof value === 'string' && value.length <= 200 && value.isWellFormed()) return value
  throw new TypeError(`Expected \`${name}\` to be a string of up to 200 characters, got ${formatValue(value)}`)
}

import type { AcquireOptions, Lock } from '../../core/contract/lock.ts'
import { FleetLock } from '../../core/lock/fleet-lock.ts'
import { checkOptions, integer, oneOf, timeout } from '../../core/options/checks.ts'
import { acquireChecks, lockDefaults, type LockPlan } from '../../core/options/lock-plan.ts'
import type { Duration } from '../../core/time/duration.ts'
import { portOf, type RedisClient } from '../clients/redis-client.ts'
import { checkedPrefix } from './redis-lock.ts'
import { RedisSemaphores } from './semaphores.ts'

/** The options of a `redisSemaphore`: the defaults of its requests, and its use of Redis. */
export interface RedisSemaphoreOptions extends Omit<AcquireOptions, 'signal' | 'fair'> {
  /** How many may hold a name at a time. If processes say different numbers, the smallest counts. */
  readonly permits: number
  /** The prefix of every name; both together are the key of the semaphore. Default `'semaphore:'`. */
  readonly prefix?: string | undefined
  /** How waiters learn that a permit is free, as with `redisLock`. Default `'push'`. */
  readonly wakeUp?: 'push' | 'poll' | undefined
  /** How long Redis may take to answer. Default 500 ms. */
  readonly commandTimeout?: Duration | undefined
}

const { signal: _signal, fair: _fair, ...ofEach } = acquireChecks
const checks = {
  ...ofEach,
  permits: integer(1, 100_000),
  prefix: checkedPrefix,
  wakeUp: oneOf('push', 'poll'),
  commandTimeout: timeout(1),
}

/**
 * A semaphore on Redis 6.2 or newer, or Valkey: a lock that so many may hold at a time. Those that wait are served in the
 * order in which they asked. It has no fencing tokens.
 * @param client a client of ioredis, iovalkey, node-redis or Valkey GLIDE, or an adapter; it is neither changed nor closed
 * @throws TypeError for another kind of client, or a wrong option
 */
export function redisSemaphore(client: RedisClient, options: RedisSemaphoreOptions): Lock {
  const given: Partial<LockPlan> &
    Partial<Omit<RedisSemaphoreOptions, 'commandTimeout' | keyof AcquireOptions>> & {
      commandTimeout?: number
    } = checkOptions('redisSemaphore', options, checks)
  const { permits, prefix = 'semaphore:', wakeUp = 'push', commandTimeout = 500, ...plan } = given
  if (permits === undefined) throw new TypeError('Expected the option `permits` of redisSemaphore, got none')
  const backend = new RedisSemaphores(portOf(client), { permits, prefix, wakeUp })
  return new FleetLock(backend, { plan: { ...lockDefaults, ...plan }, commandTimeout })
}

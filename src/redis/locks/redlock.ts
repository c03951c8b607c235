import { checkOptions } from '../../core/options/checks.ts'
import { formatValue } from '../../core/time/duration.ts'
import { FleetLock } from '../../core/lock/fleet-lock.ts'
import { acquireChecks, lockDefaults, type LockPlan } from '../../core/options/lock-plan.ts'
import type { AcquireOptions, Lock } from '../../core/contract/lock.ts'
import { portOf, type RedisClient } from '../clients/redis-client.ts'
import { RedisLocks } from './locks.ts'
import { Majority } from './majority.ts'
import { checkedPrefix } from './redis-lock.ts'

/** The options of a `redlock`: the defaults of its requests. It keeps no order and sends no messages. */
export interface RedlockOptions extends Omit<AcquireOptions, 'signal' | 'fair'> {
  /** The prefix of every name; both together are the lock's key on each server. Default `'lock:'`. */
  readonly prefix?: string | undefined
}

const { signal: _, fair: __, ...ofEach } = acquireChecks
const checks = { ...ofEach, prefix: checkedPrefix }

/**
 * A lock on several independent Redis servers, held if a majority grants it: it survives the loss of a minority. It has
 * no fencing token; if correctness depends on one, see docs/locks.md.
 * @param clients three or five clients of ioredis, iovalkey, node-redis or Valkey GLIDE, or adapters, each of another
 *   server; they are neither changed nor closed
 * @throws TypeError for fewer than three clients, another kind of client, or a wrong option
 */
export function redlock(clients: readonly RedisClient[], options: RedlockOptions = {}): Lock {
  if (!Array.isArray(clients) || clients.length < 3) {
    throw new TypeError(
      `Expected three clients or more, got ${Array.isArray(clients) ? clients.length : formatValue(clients)}`,
    )
  }
  const ports = clients.map(portOf)
  if (new Set(clients).size < clients.length) throw new TypeError('Expected clients of different servers')
  const { prefix = 'lock:', ...plan }: Partial<LockPlan> & { prefix?: string } = checkOptions(
    'redlock',
    options,
    checks,
  )
  const how = { prefix, wakeUp: 'poll', stealFromDead: false, minReplicas: 0, replicaTimeout: 0 } as const
  const majority = new Majority(ports.map((port) => new RedisLocks(port, how)))
  return new FleetLock(majority, { plan: { ...lockDefaults, ...plan }, commandTimeout: 1_000, ordered: false })
}

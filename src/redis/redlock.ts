import { checkOptions } from '../core/options/checks.ts'
import { formatValue } from '../core/time/duration.ts'
import { FleetLock } from '../core/lock/fleet-lock.ts'
import { acquireChecks, lockDefaults, type LockPlan } from '../core/options/lock-plan.ts'
import type { AcquireOptions, Lock } from '../core/contract/lock.ts'
import type { RedisClient } from './client.ts'
import { RedisLocks } from './locks.ts'
import { Majority } from './majority.ts'
import { checkedPrefix } from './redis-lock.ts'
import { checkClient } from './redis-store.ts'

/** How a `redlock` works: what is not said when it is asked for. It keeps no order and sends no messages. */
export interface RedlockOptions extends Omit<AcquireOptions, 'signal' | 'fair'> {
  /** Stands before the name of each lock; the key of the lock, on each server, is both. Default `'lock:'`. */
  readonly prefix?: string | undefined
}

const { signal: _, fair: __, ...ofEach } = acquireChecks
const checks = { ...ofEach, prefix: checkedPrefix }

/**
 * A lock on several Redis servers that know nothing of each other, held where a majority says so: it survives the loss
 * of a minority of them. It has no fence: where correctness depends on it, see docs/locks.md.
 * @param clients three or five ioredis `Redis`, each of another server; they stay yours
 * @throws TypeError for fewer than three, something that is not such a client, or a wrong option
 */
export function redlock(clients: readonly RedisClient[], options: RedlockOptions = {}): Lock {
  if (!Array.isArray(clients) || clients.length < 3) {
    throw new TypeError(
      `Expected three clients or more, got ${Array.isArray(clients) ? clients.length : formatValue(clients)}`,
    )
  }
  for (const client of clients) checkClient(client)
  if (new Set(clients).size < clients.length) throw new TypeError('Expected clients of different servers')
  const { prefix = 'lock:', ...plan }: Partial<LockPlan> & { prefix?: string } = checkOptions(
    'redlock',
    options,
    checks,
  )
  const how = { prefix, wakeUp: 'poll', stealFromDead: false, minReplicas: 0, replicaTimeout: 0 } as const
  const majority = new Majority(clients.map((client) => new RedisLocks(client, how)))
  return new FleetLock(majority, { plan: { ...lockDefaults, ...plan }, commandTimeout: 1_000, ordered: false })
}

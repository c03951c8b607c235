import { checkOptions, timeout } from '../core/options/checks.ts'
import { formatValue, type Duration } from '../core/time/duration.ts'
import { FleetLock } from '../core/lock/fleet-lock.ts'
import { acquireChecks, lockDefaults, type LockPlan } from '../core/options/lock-plan.ts'
import type { AcquireOptions, Lock } from '../core/contract/lock.ts'
import type { ZooKeeperClient } from './client.ts'
import { ZooKeeperLocks } from './locks.ts'

/** The options of a `zookeeperLock`: the defaults of its requests, and its use of ZooKeeper. It is always fair. */
export interface ZooKeeperLockOptions extends Omit<AcquireOptions, 'signal' | 'fair'> {
  /** The node of all its nodes, created if it is missing. Default `'/herdless/locks'`. */
  readonly root?: string | undefined
  /** How long ZooKeeper may take to answer. Default 1 s. */
  readonly commandTimeout?: Duration | undefined
}

const { signal: _, fair: __, ...ofEach } = acquireChecks
const checks = { ...ofEach, root: checkedRoot, commandTimeout: timeout(1) }

/**
 * A lock in ZooKeeper, held as long as the session of this process; a dead holder blocks it for the session timeout at
 * most.
 * @param client a client of `node-zookeeper-client`, which is neither changed nor closed; or a function that makes one,
 *   so that the lock survives an expired session: such clients are connected and closed by the lock
 * @throws TypeError for another kind of client, or a wrong option
 */
export function zookeeperLock(
  client: ZooKeeperClient | (() => ZooKeeperClient),
  options: ZooKeeperLockOptions = {},
): Lock {
  if (typeof client !== 'function' && !isClient(client)) {
    throw new TypeError(
      `Expected a client of node-zookeeper-client, or a function that makes one, got ${formatValue(client)}`,
    )
  }
  const given: Partial<LockPlan> & { root?: string; commandTimeout?: number } = checkOptions(
    'zookeeperLock',
    options,
    checks,
  )
  const { root = '/herdless/locks', commandTimeout = 1_000, ...plan } = given
  return new FleetLock(new ZooKeeperLocks(client, root), { plan: { ...lockDefaults, ...plan }, commandTimeout })
}

const used = [
  'connect',
  'close',
  'getState',
  'getSessionTimeout',
  'getChildren',
  'exists',
  'getData',
  'transaction',
  'on',
] as const

function isClient(client: unknown): boolean {
  if (typeof client !== 'object' || client === null) return false
  return used.every((name) => typeof (client as Record<string, unknown>)[name] === 'function')
}

function checkedRoot(name: string, value: unknown): string {
  if (typeof value === 'string' && /^(?:\/[^/\0]+)+$/.test(value) && !/\/\.\.?(?:\/|$)/.test(value)) return value
  throw new TypeError(
    `Expected \`${name}\` to be the path of a node, such as '/herdless/locks', got ${formatValue(value)}`,
  )
}

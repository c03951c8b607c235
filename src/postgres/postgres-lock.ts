import { checkOptions, oneOf, timeout, boolean } from '../core/options/checks.ts'
import { formatValue, type Duration } from '../core/time/duration.ts'
import { FleetLock } from '../core/lock/fleet-lock.ts'
import { acquireChecks, lockDefaults, type LockPlan } from '../core/options/lock-plan.ts'
import type { AcquireOptions, Lock } from '../core/contract/lock.ts'
import { AdvisoryLocks } from './advisory-locks.ts'
import { databaseOf, type PostgresClient } from './client.ts'
import { PostgresLocks } from './locks.ts'

/** The options of a `postgresLock`: the defaults of its requests, and its use of PostgreSQL. */
export interface PostgresLockOptions extends Omit<AcquireOptions, 'signal'> {
  /** The schema of its tables. Default: the first schema of the `search_path`. */
  readonly schema?: string | undefined
  /**
   * How waiters learn that the lock is free: `'push'` (default) by LISTEN and NOTIFY on one more connection, or
   * `'poll'` by requesting again every `retryEvery`.
   */
  readonly wakeUp?: 'push' | 'poll' | undefined
  /**
   * Whether to use advisory locks of a session instead of a table. Nothing is created, and a lock is free as soon as
   * the connection of its holder ends. It has no fencing token and no order, waiters poll, and it needs a `Pool` of
   * `pg`. Default `false`.
   */
  readonly advisory?: boolean | undefined
  /** How long the database may take to answer. Default 1 s. */
  readonly commandTimeout?: Duration | undefined
}

const { signal: _, ...ofEach } = acquireChecks
const checks = {
  ...ofEach,
  schema: checkedSchema,
  wakeUp: oneOf('push', 'poll'),
  advisory: boolean,
  commandTimeout: timeout(1),
}

type Options = Partial<LockPlan> & { schema?: string; wakeUp?: 'push' | 'poll' } & {
  advisory?: boolean
  commandTimeout?: number
}

/**
 * A lock in PostgreSQL 12 or newer: leases in a table, created on first use, by the clock of the database.
 * @param client a `Pool` of `pg`, or the `sql` of postgres.js; it is neither changed nor ended
 * @throws TypeError for another kind of client, or a wrong option
 */
export function postgresLock(client: PostgresClient, options: PostgresLockOptions = {}): Lock {
  const database = databaseOf(client)
  const given: Options = checkOptions('postgresLock', options, checks)
  const { schema, wakeUp = 'push', advisory = false, commandTimeout = 1_000, ...plan } = given
  if (advisory && (schema !== undefined || given.wakeUp !== undefined || plan.fair === true)) {
    throw new TypeError(
      'Expected `advisory` without `schema`, `wakeUp` and `fair`: it has no table, and keeps no order',
    )
  }
  const { session } = database
  if (advisory && session === null) {
    throw new TypeError('Expected a Pool of pg for `advisory`: postgres.js has no connection that stays the same')
  }
  const locks = advisory && session ? new AdvisoryLocks(session) : new PostgresLocks(database, { schema, wakeUp })
  return new FleetLock(locks, { plan: { ...lockDefaults, ...plan }, commandTimeout, ordered: !advisory })
}

function checkedSchema(name: string, value: unknown): string {
  if (typeof value === 'string' && value !== '' && Buffer.byteLength(value) <= 63 && !value.includes('\0')) return value
  throw new TypeError(`Expected \`${name}\` to be the name of a schema, got ${formatValue(value)}`)
}

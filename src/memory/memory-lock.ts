import { checkOptions, shape } from '../core/options/checks.ts'
import { replaceableClock, type Clock } from '../core/time/clock.ts'
import { FleetLock } from '../core/lock/fleet-lock.ts'
import { acquireChecks, lockDefaults, type LockPlan } from '../core/options/lock-plan.ts'
import type { AcquireOptions, Lock } from '../core/contract/lock.ts'
import { MemoryLocks } from './lock.ts'

/** The options of a `memoryLock`: the defaults of its requests, and its clock. */
export interface MemoryLockOptions extends Omit<AcquireOptions, 'signal'> {
  /** The clock by which leases age, for tests on virtual time. Default: this machine's. */
  readonly clock?: Clock | undefined
}

const { signal: _, ...ofEach } = acquireChecks
const checks = { ...ofEach, clock: shape('an object with now() and after()', ['now', 'after']) }

/**
 * A lock in the memory of this process: for one process, for tests, and for experiments.
 * @throws TypeError for an unknown option or a wrong value
 */
export function memoryLock(options: MemoryLockOptions = {}): Lock {
  const { clock = replaceableClock, ...plan }: Partial<LockPlan> & { clock?: Clock } = checkOptions(
    'memoryLock',
    options,
    checks,
  )
  // Memory replies at once. A missing reply means that this process itself is paused.
  return new FleetLock(new MemoryLocks(clock), { plan: { ...lockDefaults, ...plan }, commandTimeout: 60_000, clock })
}

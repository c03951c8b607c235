import { checkOptions, checkedSignal, timeout, boolean, type Check } from './checks.ts'
import { formatValue, type Duration } from '../time/duration.ts'
import type { AcquireOptions, HoldOptions } from '../contract/lock.ts'
import { everyThird, type Renewal } from '../lease/watchdog.ts'

/** `AcquireOptions`, complete and checked, in milliseconds. */
export interface LockPlan {
  readonly ttl: number
  readonly renew: Renewal
  readonly wait: number
  readonly retryEvery: number
  readonly fair: boolean
  readonly reentrant: boolean
  readonly signal?: AbortSignal
}

export const lockDefaults: LockPlan = {
  ttl: 60_000,
  renew: everyThird,
  wait: 3_000,
  retryEvery: 10,
  fair: false,
  reentrant: false,
}

const holdChecks: Record<keyof HoldOptions, Check> = {
  ttl: timeout(30),
  renew: checkedRenewal,
  reentrant: boolean,
  signal: checkedSignal,
}

/** The options for making a lock, all of which a request may override. */
export const acquireChecks: Record<keyof AcquireOptions, Check> = {
  ...holdChecks,
  wait: timeout(0),
  retryEvery: timeout(1),
  fair: boolean,
}

/** The plan of a `tryAcquire` call: its options over those of the lock. */
export function planToHold(base: LockPlan, options: HoldOptions): LockPlan {
  return { ...base, ...checkOptions('tryAcquire', options, holdChecks) }
}

/** The plan of an `acquire` or `run` call: its options over those of the lock. */
export function planToAcquire(base: LockPlan, options: AcquireOptions, who: 'acquire' | 'run'): LockPlan {
  return { ...base, ...checkOptions(who, options, acquireChecks) }
}

/** A ttl outside of an options object, in milliseconds. */
export function checkedTtl(ttl: Duration): number {
  return holdChecks.ttl('ttl', ttl) as number
}

function checkedRenewal(name: string, value: unknown): Renewal {
  if (value === false) return { at: Number.POSITIVE_INFINITY, maxHold: Number.POSITIVE_INFINITY }
  if (value === null || typeof value !== 'object') {
    throw new TypeError(`Expected \`${name}\` to be an object or false, got ${formatValue(value)}`)
  }
  return { ...everyThird, ...checkOptions(name, value, { at: part, maxHold: timeout(1) }) }
}

function part(name: string, value: unknown): unknown {
  if (typeof value === 'number' && value > 0 && value < 1) return value
  throw new TypeError(`Expected \`${name}\` to be a number between 0 and 1, got ${formatValue(value)}`)
}

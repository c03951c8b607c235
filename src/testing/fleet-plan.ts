import { checkOptions, timeout, integer } from '../core/options/checks.ts'
import { longestTimer, parseDuration, formatValue, type Duration } from '../core/time/duration.ts'
import { acquireChecks, lockDefaults, type LockPlan } from '../core/options/lock-plan.ts'
import type { AcquireOptions } from '../core/contract/lock.ts'
import type { CacheOptions } from '../core/options/options.ts'
import { planOf, type CachePlan } from '../core/options/plan.ts'
import type { MemoryStoreOptions } from '../memory/memory-store.ts'
import { checkedTrouble, type Trouble, type VirtualTrouble } from './virtual-trouble.ts'
import type { VirtualEvent } from './way.ts'

/** What may be said of a virtual fleet. */
export interface VirtualFleetOptions<Count extends number = number> {
  /** How many processes there are, 1 to 1 000. Default 3. */
  readonly processes?: Count | undefined
  /** What all that happens at random is drawn from, a whole number: the same seed gives the same run. Default 1. */
  readonly seed?: number | undefined
  /**
   * How long everything takes between a process and the store, in each direction: always the same, from `min` to `max`, or
   * as many milliseconds as a function says, which is given a source of numbers in [0, 1). Default 1 ms.
   */
  readonly latency?: Duration | LatencyRange | ((random: () => number) => number) | undefined
  /** Whether what a process sends later arrives later, as on one connection. Default `true`. */
  readonly ordered?: boolean | undefined
  /** What gets lost on the way, is cut off or sent twice. Default: nothing. */
  readonly trouble?: VirtualTrouble | undefined
  /** Options of the cache that each process has; its store and its clock are those of the fleet. */
  readonly cache?: Omit<CacheOptions, 'store' | 'clock'> | undefined
  /** Options of the lock that each process has. */
  readonly lock?: Omit<AcquireOptions, 'signal'> | undefined
  /** How much the store keeps, see `memoryStore`. */
  readonly store?: Omit<MemoryStoreOptions, 'clock'> | undefined
  /** Is called with all that happens between the processes and the store, such as to print it when a test fails. */
  readonly trace?: ((event: VirtualEvent) => void) | undefined
}

/** From how long to how long something takes, each whole number of milliseconds as likely. */
export interface LatencyRange {
  readonly min: Duration
  readonly max: Duration
}

/** `VirtualFleetOptions`, complete and checked. */
export interface FleetPlan {
  readonly processes: number
  readonly seed: number
  readonly latency: (random: () => number) => number
  readonly ordered: boolean
  readonly trouble: Trouble
  readonly cache: CacheOptions
  readonly cachePlan: CachePlan
  readonly lock: LockPlan
  readonly store: MemoryStoreOptions
  readonly trace: (event: VirtualEvent) => void
}

const { signal: _, ...lockChecks } = acquireChecks

const checks = {
  processes: integer(1, 1_000),
  seed: integer(0),
  latency: checkedLatency,
  ordered: yesOrNo,
  trouble: checkedTrouble,
  cache: withoutOurs,
  lock: (name: string, value: unknown) => checkOptions(name, value as object, lockChecks),
  store: withoutOurs,
  trace: callable,
}

/** The plan of a fleet. Throws TypeError for whatever is not an option or not a value it can have. */
export function fleetPlan(options: VirtualFleetOptions): FleetPlan {
  const given: Partial<FleetPlan> = checkOptions('virtualFleet', options, checks)
  return {
    processes: 3,
    seed: 1,
    latency: () => 1,
    ordered: true,
    trouble: checkedTrouble('trouble', {}),
    cache: {},
    store: {},
    trace: () => undefined,
    ...given,
    cachePlan: planOf(given.cache ?? {}),
    lock: { ...lockDefaults, ...given.lock },
  }
}

function checkedLatency(name: string, value: unknown): FleetPlan['latency'] {
  if (typeof value === 'function') return value as FleetPlan['latency']
  if (typeof value !== 'object' || value === null) {
    const ms = parseDuration(name, value, { least: 0, most: longestTimer })
    return () => ms
  }
  const range: { min?: number; max?: number } = checkOptions(name, value, { min: timeout(0), max: timeout(0) })
  const { min = Number.NaN, max = Number.NaN } = range
  if (min <= max) return (random) => min + Math.floor(random() * (max - min + 1))
  throw new TypeError(`Expected \`${name}\` to have a \`min\` and a \`max\` that is not less, got ${min} and ${max}`)
}

/** What there is one of in a fleet is not an option of a part of it. */
function withoutOurs(name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) {
    throw new TypeError(`Expected \`${name}\` to be an object, got ${formatValue(value)}`)
  }
  for (const ours of ['store', 'clock']) {
    if (ours in value) throw new TypeError(`Expected \`${name}\` to have no \`${ours}\`: it has that of the fleet`)
  }
  return value
}

function yesOrNo(name: string, value: unknown): unknown {
  if (typeof value === 'boolean') return value
  throw new TypeError(`Expected \`${name}\` to be true or false, got ${formatValue(value)}`)
}

function callable(name: string, value: unknown): unknown {
  if (typeof value === 'function') return value
  throw new TypeError(`Expected \`${name}\` to be a function, got ${formatValue(value)}`)
}

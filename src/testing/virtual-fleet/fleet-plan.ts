import { checkOptions, timeout, integer } from '../../core/options/checks.ts'
import { longestTimer, parseDuration, formatValue, type Duration } from '../../core/time/duration.ts'
import { acquireChecks, lockDefaults, type LockPlan } from '../../core/options/lock-plan.ts'
import type { AcquireOptions } from '../../core/contract/lock.ts'
import type { CacheOptions } from '../../core/options/options.ts'
import { planOf, type CachePlan } from '../../core/options/plan.ts'
import type { MemoryStoreOptions } from '../../memory/memory-store.ts'
import { checkedTrouble, type Trouble, type VirtualTrouble } from './virtual-trouble.ts'
import type { VirtualEvent } from './way.ts'

/** The options of a virtual fleet. */
export interface VirtualFleetOptions<Count extends number = number> {
  /** The number of processes, 1 to 1 000. Default 3. */
  readonly processes?: Count | undefined
  /** The seed of all random events, a whole number: the same seed gives the same run. Default 1. */
  readonly seed?: number | undefined
  /**
   * The delay between a process and the store, in each direction: constant, from `min` to `max`, or the result of a
   * function in milliseconds, which receives a source of numbers in [0, 1). Default 1 ms.
   */
  readonly latency?: Duration | LatencyRange | ((random: () => number) => number) | undefined
  /** Whether the commands of a process arrive in the order of sending, as on one connection. Default `true`. */
  readonly ordered?: boolean | undefined
  /** The faults of the network: lost, cut off and repeated commands. Default: none. */
  readonly trouble?: VirtualTrouble | undefined
  /** The options of each process's cache; its store and clock are those of the fleet. */
  readonly cache?: Omit<CacheOptions, 'store' | 'clock'> | undefined
  /** The options of each process's lock. */
  readonly lock?: Omit<AcquireOptions, 'signal'> | undefined
  /** The bounds of the store, see `memoryStore`. */
  readonly store?: Omit<MemoryStoreOptions, 'clock'> | undefined
  /** Called with every event between the processes and the store, for instance to print them when a test fails. */
  readonly trace?: ((event: VirtualEvent) => void) | undefined
}

/** A range of delays; each whole number of milliseconds is equally likely. */
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

/**
 * The plan of a fleet.
 * @throws TypeError for an unknown option or a wrong value
 */
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

/** Refuses the options of which a fleet has only one. */
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

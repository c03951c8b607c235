import { checked, life, oneOf, shape, timer, whole, type Check } from './checks.ts'
import { systemClock, type Clock } from './clock.ts'
import { jsonCodec, type Codec } from './codec.ts'
import { longestTimer, shown, type Duration } from './duration.ts'
import type { Store } from './store.ts'

/** What may be said per cache and again per call. */
export interface LoadOptions {
  /** How long a value is fresh. Default `'1m'`. The loader may say otherwise with `ttl()`. */
  readonly ttl?: Duration | undefined
  /** How long after its ttl a value is still served while it is refreshed, or instead of an error. Default 0. */
  readonly grace?: Duration | undefined
  /** How long a lease lives without renewal; a dead holder blocks its key no longer. Default `'10s'`. */
  readonly leaseTtl?: Duration | undefined
  /** How long a caller waits, for its own load or for another's, before WAIT_TIMEOUT. Default: `hardTimeout` + 1 s. */
  readonly waitTimeout?: Duration | undefined
  /** How long a caller that could have a stale value waits for the fresh one. Default 0: the stale value at once. */
  readonly softTimeout?: Duration | undefined
  /** How long a loader may run before it is given up with LOAD_TIMEOUT. Default `'30s'`. */
  readonly hardTimeout?: Duration | undefined
  /** How long after a failed load its error is given to whoever asks, without loading again. Default `'1s'`. */
  readonly failureCooldown?: Duration | undefined
  /** When the store is away: `'load'` without it, collapsed in this process (default), or `'throw'` STORE_UNAVAILABLE. */
  readonly onStoreFailure?: 'load' | 'throw' | undefined
  /**
   * When callers of a load are answered: once its fill has been accepted (`'filled'`, default), or as soon as the loader
   * returns (`'loaded'`): one round trip sooner, but a caller may then get a value that was invalidated meanwhile.
   */
  readonly answer?: 'filled' | 'loaded' | undefined
  /** Values up to this many bytes travel in the message that wakes the waiters. Default 4096. */
  readonly inlineLimit?: number | undefined
  /** Values above this many bytes are refused with VALUE_TOO_LARGE. Default 16777216 (16 MiB). */
  readonly maxValueSize?: number | undefined
}

/** What may be said per call. */
export interface CallOptions extends LoadOptions {
  /** Ends this caller's wait with the signal's reason; the load goes on for the others. */
  readonly signal?: AbortSignal | undefined
}

/** What may be said of a value that is set: how long it is fresh, and stale but served, instead of what the cache says. */
export type SetOptions = Pick<LoadOptions, 'ttl' | 'grace'>

/** What may be said to `close`. */
export interface CloseOptions {
  /** How long running loads and waiting callers may go on. Default `'5s'`; 0 for not at all. */
  readonly timeout?: Duration | undefined
}

/** What may be said per cache. */
export interface CacheOptions extends LoadOptions {
  /** Where values and leases live. Default: `memoryStore()`, for one process. */
  readonly store?: Store | undefined
  /** Keeps the keys of caches that share a store apart. Default `'herdless'`. */
  readonly namespace?: string | undefined
  /** How many loads this process runs at once while the store is away; the others queue. Default 64. */
  readonly maxConcurrentLoads?: number | undefined
  /** How many loads may queue for that; whoever comes then gets OVERLOADED. Default 1 000. */
  readonly maxQueuedLoads?: number | undefined
  /**
   * When an invalidation cannot be carried out: `'throw'` STORE_UNAVAILABLE (default), or `'replay'`: keep it in this
   * process, let nobody here read the key meanwhile, and carry it out when the store answers again.
   */
  readonly onInvalidateFailure?: 'throw' | 'replay' | undefined
  /** How long the store may take to answer a command before it counts as away. Default 500 ms. */
  readonly commandTimeout?: Duration | undefined
  /** How values become bytes. Default: JSON that keeps what JSON alone would change, see `jsonCodec`. */
  readonly codec?: Codec | undefined
  /** The clock that timeouts and renewals go by; for tests on virtual time. Default: this machine's. */
  readonly clock?: Clock | undefined
}

/** `LoadOptions`, complete and checked, in milliseconds and bytes. */
export interface Plan {
  readonly ttl: number
  readonly grace: number
  readonly leaseTtl: number
  readonly waitTimeout: number
  readonly softTimeout: number
  readonly hardTimeout: number
  readonly failureCooldown: number
  readonly onStoreFailure: 'load' | 'throw'
  readonly answer: 'filled' | 'loaded'
  readonly inlineLimit: number
  readonly maxValueSize: number
}

/** A plan with what may be said per call alone. */
export interface CallPlan extends Plan {
  readonly signal?: AbortSignal
}

/** `CacheOptions`, complete but for the store, and checked. */
export interface CachePlan extends Plan {
  readonly store?: Store
  readonly namespace: string
  readonly maxConcurrentLoads: number
  readonly maxQueuedLoads: number
  readonly onInvalidateFailure: 'throw' | 'replay'
  readonly commandTimeout: number
  readonly codec: Codec
  readonly clock: Clock
}

const defaults: Plan = {
  ttl: 60_000,
  grace: 0,
  leaseTtl: 10_000,
  waitTimeout: 31_000,
  softTimeout: 0,
  hardTimeout: 30_000,
  failureCooldown: 1_000,
  onStoreFailure: 'load',
  answer: 'filled',
  inlineLimit: 4_096,
  maxValueSize: 16_777_216,
}

const loadChecks: Record<keyof LoadOptions, Check> = {
  ttl: life(1),
  grace: life(0),
  // A lease is renewed every third of its ttl: below 30 ms that would be faster than timers are.
  leaseTtl: timer(30),
  waitTimeout: timer(1),
  softTimeout: timer(0),
  hardTimeout: timer(1),
  failureCooldown: timer(0),
  onStoreFailure: oneOf('load', 'throw'),
  answer: oneOf('filled', 'loaded'),
  inlineLimit: whole(0),
  maxValueSize: whole(1),
}

const callChecks: Record<keyof CallOptions, Check> = {
  ...loadChecks,
  signal: shape('an AbortSignal', ['throwIfAborted', 'addEventListener', 'removeEventListener']),
}

const setChecks: Record<keyof SetOptions, Check> = { ttl: loadChecks.ttl, grace: loadChecks.grace }

const storeMethods: readonly (keyof Store)[] = [
  ...(['read', 'claim', 'fill', 'fail', 'pass', 'release', 'renew', 'set', 'invalidate'] as const),
  ...(['ping', 'open', 'close'] as const),
]

const cacheChecks: Record<keyof CacheOptions, Check> = {
  ...loadChecks,
  store: shape('a store such as memoryStore() or redisStore(client)', storeMethods),
  namespace: checkedNamespace,
  maxConcurrentLoads: whole(1),
  maxQueuedLoads: whole(0),
  onInvalidateFailure: oneOf('throw', 'replay'),
  commandTimeout: timer(1),
  codec: shape('an object with encode() and decode()', ['encode', 'decode']),
  clock: shape('an object with now() and after()', ['now', 'after']),
}

/** The plan of a cache. Throws TypeError for whatever is not an option or not a value it can have. */
export function planOf(options: CacheOptions): CachePlan {
  const given: Partial<CachePlan> = checked('createCache', options, cacheChecks)
  return {
    ...defaults,
    namespace: 'herdless',
    maxConcurrentLoads: 64,
    maxQueuedLoads: 1_000,
    onInvalidateFailure: 'throw',
    commandTimeout: 500,
    codec: given.codec ?? jsonCodec(),
    clock: systemClock,
    ...given,
    ...waitOf(given, defaults),
  }
}

/** The plan of one call: what the call says, over what the cache says. */
export function refined(plan: Plan, options: CallOptions): CallPlan {
  const given: Partial<CallPlan> = checked('getOrLoad', options, callChecks)
  return { ...plan, ...given, ...waitOf(given, plan) }
}

/** Likewise for a value that is set. */
export function refinedForSet(plan: Plan, options: SetOptions): Plan {
  return { ...plan, ...checked('set', options, setChecks) }
}

/** How long `close` lets things end, in milliseconds. */
export function closeTimeout(options: CloseOptions): number {
  const { timeout = 5_000 }: { timeout?: number } = checked('close', options, { timeout: timer(0) })
  return timeout
}

/** Unless somebody says how long a caller waits, it follows from how long a loader may run. */
function waitOf(given: Partial<Plan>, base: Plan): { waitTimeout: number } {
  const isDefault = base.waitTimeout === patienceFor(base.hardTimeout)
  const { hardTimeout = base.hardTimeout } = given
  return { waitTimeout: given.waitTimeout ?? (isDefault ? patienceFor(hardTimeout) : base.waitTimeout) }
}

/** A load's own timeout should be heard before its callers' patience ends. */
function patienceFor(hardTimeout: number): number {
  return Math.min(hardTimeout + 1_000, longestTimer)
}

function checkedNamespace(name: string, value: unknown): string {
  if (
    typeof value === 'string' &&
    value !== '' &&
    value.length <= 200 &&
    value.isWellFormed() &&
    !/[{}\p{Cc}]/u.test(value)
  )
    return value
  throw new TypeError(
    `Expected \`${name}\` to be 1 to 200 characters without braces or control characters, got ${shown(value)}`,
  )
}

import {
  wrapped,
  aFunction,
  boolean,
  checkOptions,
  lifetime,
  oneOf,
  fraction,
  shape,
  timeout,
  integer,
  checkedAhead,
  checkedMigrations,
  checkedNamespace,
  checkedNear,
  checkedNegative,
  checkedSeparator,
  checkedSignal,
  checkedVersion,
  type Check,
  type Migration,
} from './checks.ts'
import { replaceableClock, systemClock, type Clock } from '../time/clock.ts'
import { jsonCodec, type Codec } from '../codec/codec.ts'
import { checkedSchema, type Kind } from '../codec/schema.ts'
import { checkedErrors, noErrors, type ErrorKnowledge } from '../codec/portable-error.ts'
import { longestLife, longestTimer } from '../time/duration.ts'
import type { NegativeTtls, RefreshAhead } from '../entry/freshness.ts'
import type {
  CacheOptions,
  CallOptions,
  CloseOptions,
  ExpireOptions,
  InvalidateOptions,
  VersionOptions,
  LoadOptions,
  PeekOptions,
  SetOptions,
  ValueOptions,
} from './options.ts'
import type { Invalidation, NearPlan, Store } from '../contract/store.ts'
import { modes, type Mode } from '../contract/mode.ts'
import { checkedSource, checkedSources, checkKnownSource, type SourcePlan } from './source-plan.ts'
import { checkedTags } from '../entry/tags.ts'

/** `LoadOptions`, complete and checked, in milliseconds and bytes. */
export interface Plan extends Kind {
  readonly ttl: number
  readonly grace: number
  readonly jitter: number
  readonly negativeTtl: NegativeTtls
  readonly refreshAhead: RefreshAhead | null
  readonly tags: readonly string[]
  readonly leaseTtl: number
  readonly waitTimeout: number
  /** Whether that was given, and does not follow from `hardTimeout`; no option. */
  readonly isWaitGiven: boolean
  readonly softTimeout: number
  readonly hardTimeout: number
  readonly failureCooldown: number
  readonly errorKind: ((error: unknown, key: string) => unknown) | null
  readonly onStoreFailure: 'load' | 'throw'
  readonly maxValueSize: number
  readonly unstorable: 'pass' | 'throw'
  readonly source: string | null
  /** The sources of the cache, one of which that is. */
  readonly sources: ReadonlyMap<string, SourcePlan>
  readonly priority: 'normal' | 'low'
  /** In the order in which they are tried. */
  readonly migrate: readonly Migration[]
  /** The largest payload that travels in the message which wakes the waiters, in bytes; no option. */
  readonly inlineLimit: number
}

/** `CacheOptions`, complete but for the store, and checked. */
export interface CachePlan extends Plan {
  readonly store?: Store
  readonly namespace: string
  readonly prefixes: string | null
  readonly near: NearPlan | null
  readonly bridge: number
  readonly mode: Mode
  readonly maxConcurrentLoads: number
  readonly maxQueuedLoads: number
  readonly onInvalidateFailure: 'throw' | 'replay'
  readonly commandTimeout: number
  readonly codec: Codec
  readonly errors: ErrorKnowledge
  readonly warnings: boolean
  readonly clock: Clock
}

/** The longest value, in bytes, that travels in the message which wakes the waiters. */
export const longestInline = 4_096

const defaults: Plan = {
  ttl: 60_000,
  grace: 0,
  jitter: 0,
  negativeTtl: {},
  refreshAhead: null,
  tags: [],
  leaseTtl: 10_000,
  waitTimeout: 31_000,
  isWaitGiven: false,
  softTimeout: 0,
  hardTimeout: 30_000,
  failureCooldown: 1_000,
  errorKind: null,
  onStoreFailure: 'load',
  maxValueSize: 16_777_216,
  unstorable: 'pass',
  source: null,
  sources: new Map(),
  priority: 'normal',
  schema: null,
  version: null,
  migrate: [],
  inlineLimit: longestInline,
}

const loadChecks: Record<keyof LoadOptions, Check> = {
  ttl: lifetime(1),
  grace: lifetime(0),
  jitter: fraction,
  negativeTtl: checkedNegative,
  refreshAhead: checkedAhead,
  tags: checkedTags,
  // Below 30 ms, the renewals at every third of the ttl would outpace timers.
  leaseTtl: timeout(30),
  waitTimeout: timeout(1),
  softTimeout: timeout(0),
  hardTimeout: timeout(1),
  failureCooldown: timeout(0),
  errorKind: aFunction,
  onStoreFailure: oneOf('load', 'throw'),
  maxValueSize: integer(1),
  unstorable: oneOf('pass', 'throw'),
  source: checkedSource,
  version: checkedVersion,
}

const callChecks: Record<keyof CallOptions | keyof ValueOptions, Check> = {
  ...loadChecks,
  signal: checkedSignal,
  priority: oneOf('normal', 'low'),
  schema: checkedSchema,
  migrate: checkedMigrations,
}

const peekChecks: Record<keyof PeekOptions<unknown>, Check> = { schema: checkedSchema, version: checkedVersion }

const setChecks: Record<keyof SetOptions, Check> = {
  ttl: loadChecks.ttl,
  grace: loadChecks.grace,
  jitter: loadChecks.jitter,
  tags: checkedTags,
  ...peekChecks,
}

const storeMethods: readonly (keyof Store)[] = [
  ...(['read', 'claim', 'fill', 'fail', 'pass', 'release', 'renew', 'set', 'invalidate'] as const),
  ...(['invalidateTags', 'ping', 'open', 'close'] as const),
]

/** A mode of a cache, checked. */
export const checkedMode: Check = oneOf(...modes)

const cacheChecks: Record<keyof CacheOptions, Check> = {
  ...loadChecks,
  store: shape('a store such as memoryStore() or redisStore(client)', storeMethods, wrapped),
  namespace: checkedNamespace,
  prefixes: checkedSeparator,
  near: checkedNear,
  bridge: lifetime(0),
  mode: checkedMode,
  sources: checkedSources,
  maxConcurrentLoads: integer(1),
  maxQueuedLoads: integer(0),
  onInvalidateFailure: oneOf('throw', 'replay'),
  commandTimeout: timeout(1),
  codec: shape('an object with encode() and decode()', ['encode', 'decode']),
  errors: checkedErrors,
  warnings: boolean,
  clock: shape('an object with now() and after()', ['now', 'after']),
}

/**
 * The plan of a cache.
 * @throws TypeError for an unknown option or a wrong value
 */
export function planOf(options: CacheOptions): CachePlan {
  const given: Partial<CachePlan> = checkOptions('createCache', options, cacheChecks)
  checkKnownSource(given.source, given.sources ?? defaults.sources)
  return {
    ...defaults,
    namespace: 'herdless',
    prefixes: null,
    near: null,
    bridge: 1_000,
    mode: 'cache',
    maxConcurrentLoads: 64,
    maxQueuedLoads: 1_000,
    onInvalidateFailure: 'throw',
    commandTimeout: 500,
    codec: given.codec ?? jsonCodec(),
    errors: noErrors,
    warnings: true,
    clock: given.store === undefined ? replaceableClock : (given.store.clock ?? systemClock),
    ...given,
    ...waitOf(given, defaults),
  }
}

/** The plan of a sibling, which reads every stale value that exists and shares near copies as they are. */
export function siblingPlan(plan: CachePlan, changes: Pick<CachePlan, 'codec'> & Partial<CachePlan>): CachePlan {
  const near = plan.near === null ? null : { ...plan.near, values: 'shared' as const }
  return {
    ...plan,
    errorKind: null,
    ...changes,
    near,
    grace: longestLife,
    softTimeout: 0,
    refreshAhead: null,
    negativeTtl: {},
    // `maxBody` says how large a response may be.
    unstorable: 'throw',
    tags: [],
    // Most responses.
    inlineLimit: 65_536,
  }
}

type GivenForCalls = Partial<Plan> & { readonly signal?: AbortSignal }

/**
 * Checks the options of calls as far as their cache has no say in it: that knows its sources and its version.
 * @throws TypeError for an unknown option or a wrong value
 */
export function checkCallOptions(options: CallOptions, who: string): GivenForCalls {
  return checkOptions(who, options, callChecks)
}

/** The options of some calls over those of the cache; their `signal` is checked and left out. */
export function refinePlan(
  plan: Plan,
  options: CallOptions,
  who: 'getOrLoad' | 'refresh' | 'begin' | 'wrap' | 'define' = 'getOrLoad',
): Plan {
  const { signal: _, ...given } = checkCallOptions(options, who)
  if (given.migrate !== undefined && (given.version ?? plan.version) === null) {
    throw new TypeError(`Expected \`migrate\` beside a \`version\`, got none in the options of ${who} and of the cache`)
  }
  checkKnownSource(given.source, plan.sources)
  return { ...plan, ...versioned(plan, given), ...waitOf(given, plan) }
}

/** The kind of the values that a `peek` or an operation by version looks for: its options over those of the cache. */
export function refineKind(plan: Plan, options: PeekOptions<unknown> | undefined, who: string): Kind {
  return options === undefined ? plan : { ...plan, ...versioned(plan, checkOptions(who, options, peekChecks)) }
}

/**
 * The given options.
 * @throws TypeError for a version in a cache without one: its invalidations reach no versions
 */
function versioned(plan: Plan, given: Partial<Plan>): Partial<Plan> {
  if (given.version === undefined || plan.version !== null) return given
  throw new TypeError(
    'Expected a cache with the option `version`: without it, an invalidation of a key does not reach its versions',
  )
}

/** The plan of one `set`: its options over those of the cache. */
export function refineSetPlan(plan: Plan, options: SetOptions): Plan {
  return { ...plan, ...versioned(plan, checkOptions('set', options, setChecks)) }
}

const invalidateChecks = { soft: boolean, within: timeout(1) }

/**
 * How `invalidateTags`, `invalidatePrefix` or `clear` invalidates.
 * @param who the method
 */
export function invalidationOf(who: string, options: InvalidateOptions = {}): Invalidation {
  const { soft = false, within }: { soft?: boolean; within?: number } = checkOptions(who, options, invalidateChecks)
  if (within !== undefined && !soft) throw new TypeError(`Expected \`soft: true\` beside \`within\` for ${who}`)
  return soft ? (within ?? 'soft') : 'hard'
}

const expireChecks = { version: checkedVersion, within: timeout(1) }

/** The version that `expire` names, and how it invalidates. */
export function expiryOf(options: ExpireOptions = {}): readonly [Invalidation, VersionOptions] {
  const { within = 'soft', ...version }: { within?: Invalidation } = checkOptions('expire', options, expireChecks)
  return [within, version]
}

const closeChecks = { timeout: timeout(0) }

/** How long `close` lets loads and callers go on, in milliseconds. */
export function closeTimeout(options: CloseOptions): number {
  const given: { timeout?: number } = checkOptions('close', options, closeChecks)
  return given.timeout ?? 5_000
}

/** The default `waitTimeout` follows from `hardTimeout`, also where only a call changes the latter. */
function waitOf(given: Partial<Plan>, base: Plan): Pick<Plan, 'waitTimeout' | 'isWaitGiven'> {
  const { hardTimeout = base.hardTimeout } = given
  const own = given.waitTimeout ?? (base.isWaitGiven ? base.waitTimeout : null)
  return { waitTimeout: own ?? waitTimeoutFor(hardTimeout), isWaitGiven: own !== null }
}

/** Long enough that callers receive the load's own timeout before their timeout ends. */
function waitTimeoutFor(hardTimeout: number): number {
  return Math.min(hardTimeout + 1_000, longestTimer)
}

import {
  aFunction,
  checkObject,
  checkOptions,
  lifetime,
  oneOf,
  fraction,
  shape,
  timeout,
  integer,
  type Check,
} from './checks.ts'
import { systemClock, type Clock } from '../time/clock.ts'
import { jsonCodec, type Codec } from '../codec/codec.ts'
import { checkedErrors, noErrors, type ErrorKnowledge } from '../codec/portable-error.ts'
import { longestLife, longestTimer, formatValue } from '../time/duration.ts'
import type { NegativeTtls, RefreshAhead } from '../entry/freshness.ts'
import type { CacheOptions, CallOptions, CloseOptions, LoadOptions, SetOptions } from './options.ts'
import type { NearPlan, Store } from '../contract/store.ts'
import { checkedTags } from '../entry/tags.ts'

/** `LoadOptions`, complete and checked, in milliseconds and bytes. */
export interface Plan {
  readonly ttl: number
  readonly grace: number
  readonly jitter: number
  readonly negativeTtl: NegativeTtls
  readonly refreshAhead: RefreshAhead | null
  readonly tags: readonly string[]
  readonly leaseTtl: number
  readonly waitTimeout: number
  readonly softTimeout: number
  readonly hardTimeout: number
  readonly failureCooldown: number
  readonly errorKind: ((error: unknown, key: string) => unknown) | null
  readonly onStoreFailure: 'load' | 'throw'
  readonly answer: 'filled' | 'loaded'
  readonly inlineLimit: number
  readonly maxValueSize: number
}

/** `CacheOptions`, complete but for the store, and checked. */
export interface CachePlan extends Plan {
  readonly store?: Store
  readonly namespace: string
  readonly prefixes: string | null
  readonly near: NearPlan | null
  readonly mode: 'cache' | 'observe'
  readonly maxConcurrentLoads: number
  readonly maxQueuedLoads: number
  readonly onInvalidateFailure: 'throw' | 'replay'
  readonly commandTimeout: number
  readonly codec: Codec
  readonly errors: ErrorKnowledge
  readonly stats: { readonly topKeys?: number }
  readonly clock: Clock
}

const defaults: Plan = {
  ttl: 60_000,
  grace: 0,
  jitter: 0,
  negativeTtl: {},
  refreshAhead: null,
  tags: [],
  leaseTtl: 10_000,
  waitTimeout: 31_000,
  softTimeout: 0,
  hardTimeout: 30_000,
  failureCooldown: 1_000,
  errorKind: null,
  onStoreFailure: 'load',
  answer: 'filled',
  inlineLimit: 4_096,
  maxValueSize: 16_777_216,
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
  answer: oneOf('filled', 'loaded'),
  inlineLimit: integer(0),
  maxValueSize: integer(1),
}

const checkSignal = shape('an AbortSignal', ['throwIfAborted', 'addEventListener', 'removeEventListener'])

/** The given signal; throws TypeError unless it is an AbortSignal. */
export function checkedSignal(name: string, value: unknown): AbortSignal {
  return checkSignal(name, value) as AbortSignal
}

const callChecks: Record<keyof CallOptions, Check> = { ...loadChecks, signal: checkedSignal }

const setChecks: Record<keyof SetOptions, Check> = {
  ttl: loadChecks.ttl,
  grace: loadChecks.grace,
  jitter: loadChecks.jitter,
  tags: checkedTags,
}

const storeMethods: readonly (keyof Store)[] = [
  ...(['read', 'claim', 'fill', 'fail', 'pass', 'release', 'renew', 'set', 'invalidate'] as const),
  ...(['invalidateTags', 'ping', 'open', 'close'] as const),
]

const cacheChecks: Record<keyof CacheOptions, Check> = {
  ...loadChecks,
  store: shape('a store such as memoryStore() or redisStore(client)', storeMethods),
  namespace: checkedNamespace,
  prefixes: checkedSeparator,
  near: checkedNear,
  mode: oneOf('cache', 'observe'),
  maxConcurrentLoads: integer(1),
  maxQueuedLoads: integer(0),
  onInvalidateFailure: oneOf('throw', 'replay'),
  commandTimeout: timeout(1),
  codec: shape('an object with encode() and decode()', ['encode', 'decode']),
  errors: checkedErrors,
  stats: (name, value) => checkOptions(name, value as object, { topKeys: integer(0, 1_000) }),
  clock: shape('an object with now() and after()', ['now', 'after']),
}

/**
 * The plan of a cache.
 * @throws TypeError for an unknown option or a wrong value
 */
export function planOf(options: CacheOptions): CachePlan {
  const given: Partial<CachePlan> = checkOptions('createCache', options, cacheChecks)
  return {
    ...defaults,
    namespace: 'herdless',
    prefixes: null,
    near: null,
    mode: 'cache',
    maxConcurrentLoads: 64,
    maxQueuedLoads: 1_000,
    onInvalidateFailure: 'throw',
    commandTimeout: 500,
    codec: given.codec ?? jsonCodec(),
    errors: noErrors,
    stats: {},
    clock: systemClock,
    ...given,
    ...waitOf(given, defaults),
  }
}

/** The plan of a sibling, which reads every stale value that exists and shares near copies as they are. */
export function siblingPlan(plan: CachePlan, changes: { readonly codec: Codec }): CachePlan {
  const near = plan.near === null ? null : { ...plan.near, values: 'shared' as const }
  return {
    ...plan,
    ...changes,
    near,
    grace: longestLife,
    softTimeout: 0,
    refreshAhead: null,
    negativeTtl: {},
    errorKind: null,
    tags: [],
  }
}

/** The options of some calls over those of the cache; their `signal` is checked and left out. */
export function refinePlan(
  plan: Plan,
  options: CallOptions,
  who: 'getOrLoad' | 'refresh' | 'wrap' | 'warmUp' = 'getOrLoad',
): Plan {
  const { signal: _, ...given }: Partial<Plan> & { signal?: AbortSignal } = checkOptions(who, options, callChecks)
  return { ...plan, ...given, ...waitOf(given, plan) }
}

/** The plan of one `set`: its options over those of the cache. */
export function refineSetPlan(plan: Plan, options: SetOptions): Plan {
  return { ...plan, ...checkOptions('set', options, setChecks) }
}

const closeChecks = { timeout: timeout(0) }

/** How long `close` lets loads and callers go on, in milliseconds. */
export function closeTimeout(options: CloseOptions): number {
  const given: { timeout?: number } = checkOptions('close', options, closeChecks)
  return given.timeout ?? 5_000
}

/** The default `waitTimeout` follows from `hardTimeout`, also where only a call changes the latter. */
function waitOf(given: Partial<Plan>, base: Plan): { waitTimeout: number } {
  const isDefault = base.waitTimeout === patienceFor(base.hardTimeout)
  const { hardTimeout = base.hardTimeout } = given
  return { waitTimeout: given.waitTimeout ?? (isDefault ? patienceFor(hardTimeout) : base.waitTimeout) }
}

/** Long enough that callers receive the load's own timeout before their patience ends. */
function patienceFor(hardTimeout: number): number {
  return Math.min(hardTimeout + 1_000, longestTimer)
}

function checkedNegative(name: string, value: unknown): Plan['negativeTtl'] {
  if (value === null || typeof value !== 'object') return { null: lifetime(1)(name, value) as number }
  return checkOptions(name, value, { null: lifetime(1), undefined: lifetime(1), error: lifetime(1) })
}

function checkedAhead(name: string, value: unknown): RefreshAhead | null {
  if (value === false) return null
  if (value === 'xfetch') return { beta: 1 }
  if (typeof value === 'number' && value > 0 && value < 1) return { after: value }
  const { beta } = (value ?? {}) as { beta?: unknown }
  if (typeof beta === 'number' && beta > 0 && beta < Number.POSITIVE_INFINITY) return { beta }
  throw new TypeError(
    `Expected \`${name}\` to be a number between 0 and 1, 'xfetch', { beta } or false, got ${formatValue(value)}`,
  )
}

function checkedSeparator(name: string, value: unknown): string {
  if (typeof value === 'string' && value !== '' && value.length <= 10 && value.isWellFormed()) return value
  throw new TypeError(`Expected \`${name}\` to be a separator of 1 to 10 characters, got ${formatValue(value)}`)
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
    `Expected \`${name}\` to be 1 to 200 characters without braces or control characters, got ${formatValue(value)}`,
  )
}

const nearDefaults: NearPlan = { max: 10_000, maxSize: 67_108_864, ttl: 10_000, values: 'frozen' }

/**
 * The plan of a near cache.
 * @throws TypeError for an unknown option or a wrong value
 */
export function checkedNear(name: string, value: unknown): NearPlan {
  const given: Partial<NearPlan> = checkOptions(`\`${name}\``, value as object, {
    max: integer(1, 16_777_216),
    maxSize: integer(1),
    ttl: lifetime(1),
    values: oneOf('frozen', 'cloned', 'shared'),
  })
  return { ...nearDefaults, ...given }
}

/** The most combinations of options that are remembered; an application has a few. */
const most = 32

/** The checked options of one call. */
export interface CallPlan {
  /** The same object for all calls with the same options, except for `tags` and `signal`. */
  readonly plan: Plan
  readonly tags: readonly string[]
  readonly signal: AbortSignal | undefined
}

/** The options of an earlier call, without `tags` and `signal`. */
interface KnownOptions {
  readonly names: readonly string[]
  readonly values: readonly unknown[]
  readonly call: CallPlan
}

/**
 * The plans of the calls of one cache. Options are checked once: a later call with the same names and values is given
 * the plan of the first. Only primitive values are remembered, because a caller may change an object between two calls.
 */
export class CallPlans {
  readonly #base: Plan
  readonly #plain: CallPlan
  /** The oldest is forgotten first. */
  readonly #known: KnownOptions[] = []
  readonly #private = new WeakMap<CallOptions, CallPlan>()

  constructor(base: Plan) {
    this.#base = base
    this.#plain = callOf(base)
  }

  /**
   * The plan of a call: its options over those of the cache.
   * @throws TypeError for an unknown option or a wrong value
   */
  planOf(options: CallOptions | undefined, who: 'getOrLoad' | 'refresh'): CallPlan {
    if (options === undefined) return this.#plain
    const call = this.#find(options) ?? this.#private.get(options) ?? this.#check(options, who)
    const [tags, signal] = [own(options, 'tags'), own(options, 'signal')]
    if (tags === undefined && signal === undefined) return call
    return {
      plan: call.plan,
      tags: tags === undefined ? call.tags : checkedTags('tags', tags),
      signal: signal === undefined ? undefined : checkedSignal('signal', signal),
    }
  }

  /**
   * Whether these options were checked before, and cannot matter to a call that finds a near copy.
   * @throws TypeError for wrong tags
   */
  areForLoads(options: CallOptions | undefined): boolean {
    if (options === undefined) return true
    const call = this.#find(options) ?? this.#private.get(options)
    if (call === undefined || call.plan.refreshAhead !== null) return false
    const { tags, signal } = options
    if (tags !== undefined) checkedTags('tags', tags)
    return signal === undefined
  }

  /** Adds the plan of options that no caller can change. */
  add(options: CallOptions, plan: Plan): void {
    this.#private.set(options, callOf(plan))
  }

  #find(options: CallOptions): CallPlan | undefined {
    // A loop over the names of an object finds inherited ones, too, and those are no options.
    if (options === null || Object.getPrototypeOf(options) !== Object.prototype) return undefined
    for (const known of this.#known) if (isSame(known, options)) return known.call
    return undefined
  }

  /** Checks options that no earlier call had, and remembers them. */
  #check(options: CallOptions, who: 'getOrLoad' | 'refresh'): CallPlan {
    const { tags: _tags, signal: _signal, ...rest } = checkObject(who, options)
    const call = callOf(refinePlan(this.#base, rest, who))
    const values: unknown[] = Object.values(rest)
    // Of such an object `#find` finds nothing.
    if (Object.getPrototypeOf(options) !== Object.prototype) return call
    // A function is often another one in each call.
    if (values.some((value) => typeof value === 'function' || (typeof value === 'object' && value !== null)))
      return call
    this.#known.push({ names: Object.keys(rest), values, call })
    if (this.#known.length > most) this.#known.shift()
    return call
  }
}

/** An option, unless the object inherits it. */
function own<Name extends keyof CallOptions>(options: CallOptions, name: Name): CallOptions[Name] {
  return Object.hasOwn(options, name) ? options[name] : undefined
}

function callOf(plan: Plan): CallPlan {
  return { plan, tags: plan.tags, signal: undefined }
}

/** Whether options have these names and values, in this order. */
function isSame({ names, values }: KnownOptions, options: CallOptions): boolean {
  let at = 0
  for (const name in options) {
    if (name === 'tags' || name === 'signal') continue
    if (name !== names[at] || options[name as keyof CallOptions] !== values[at]) return false
    at++
  }
  return at === names.length
}

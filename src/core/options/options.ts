/*
 * Room: options. The options of users, and the plans that are made of them: complete, checked, in milliseconds and
 * bytes.
 *
 * Reading order: options.ts (the public options), plan.ts (plans, and all defaults),
 * call-plans.ts (options that are checked once), lock-plan.ts (the plans of locks), checks.ts (the checks they share).
 */
import type { Clock } from '../time/clock.ts'
import type { Codec } from '../codec/codec.ts'
import type { MaybeSchema, Schema, Taken } from '../codec/schema.ts'
import type { ErrorOptions } from '../codec/portable-error.ts'
import type { Duration } from '../time/duration.ts'
import type { Store } from '../contract/store.ts'
import type { Mode } from '../contract/mode.ts'
import type { SourceOptions } from './source-plan.ts'

/** The options of a cache that a call may override. */
export interface LoadOptions {
  /** How long a value is fresh. Default `'1m'`. The loader may override it with `ttl()`. */
  readonly ttl?: Duration | undefined
  /** How long after its ttl a value is served stale, during a refresh or instead of an error. Default 0. */
  readonly grace?: Duration | undefined
  /**
   * Shortens each ttl by a random part of up to this fraction, to spread the ends of values stored together. Default 0.
   */
  readonly jitter?: number | undefined
  /**
   * Negative caching: the ttl of `null` and of errors that are answers, or with `{ undefined: '10s' }` of `undefined`.
   * Default: `ttl`, as for any value.
   */
  readonly negativeTtl?: Duration | NegativeTtl | undefined
  /**
   * Refresh-ahead: when a hit makes one caller in the fleet refresh a value that is still fresh. A number is a part of
   * the ttl (0.8); `'xfetch'` draws at random, with a probability that grows toward the end and with the load time.
   * Default `false`: a refresh begins when the value is stale.
   */
  readonly refreshAhead?: number | 'xfetch' | false | undefined
  /** The tags of the value for `invalidateTags`, up to 64. Default: none. The loader may add more with `tags()`. */
  readonly tags?: readonly string[] | undefined
  /** The ttl of a lease without renewal, after which a dead holder blocks its key no longer. Default `'10s'`. */
  readonly leaseTtl?: Duration | undefined
  /** How long a caller waits, for its own load or another's, before WAIT_TIMEOUT. Default: `hardTimeout` + 1 s. */
  readonly waitTimeout?: Duration | undefined
  /** How long a caller that could be served a stale value waits for the fresh one. Default 0: stale at once. */
  readonly softTimeout?: Duration | undefined
  /** How long a loader may run before LOAD_TIMEOUT. Default `'30s'`. */
  readonly hardTimeout?: Duration | undefined
  /** How long after a failed load its error is the answer, without another load. Default `'1s'`. */
  readonly failureCooldown?: Duration | undefined
  /**
   * Says what an error is that a loader threw. Default: a `'failure'`. It is not asked about the errors of the cache
   * itself.
   */
  readonly errorKind?: ((error: unknown, key: string) => ErrorKind | undefined) | undefined
  /** Without the store: `'load'` with single flight in this process (default), or `'throw'` STORE_UNAVAILABLE. */
  readonly onStoreFailure?: 'load' | 'throw' | undefined
  /**
   * The source that the loader loads from: one of the option `sources` of the cache, whose limits then hold for its loads.
   * Default: none.
   */
  readonly source?: string | undefined
  /** The largest payload, in bytes; a larger one cannot be stored (VALUE_TOO_LARGE). Default 16777216 (16 MiB). */
  readonly maxValueSize?: number | undefined
  /**
   * If a loaded value cannot be stored: `'pass'` (default) gives it to the callers of this process, and for a second all
   * others load for themselves; `'throw'` fails the load with VALUE_TOO_LARGE or VALUE_NOT_SERIALIZABLE, as tests want it.
   */
  readonly unstorable?: 'pass' | 'throw' | undefined
  /**
   * The version of the value: a whole number, or up to 64 letters, digits, `.`, `_` and `-`. A value is read only under
   * the version under which it was written, and `invalidate` reaches all versions of a key. A call may have one if its
   * cache has one. Default: none.
   */
  readonly version?: string | number | undefined
}

/** The options of one call that depend on the type of its value. */
export interface ValueOptions<S extends MaybeSchema = MaybeSchema> {
  /**
   * The schema of the value, of zod, Valibot, ArkType or any other library with Standard Schema. A loader's value must
   * pass it; a stored value that does not counts as missing. Default: none.
   */
  readonly schema?: S | undefined
  /**
   * Makes a value of one of an earlier version, in place of a load: by that version, a function of the earlier value.
   * The last is tried first; numbers are in ascending order. Default: none.
   */
  readonly migrate?: Readonly<Record<string, (old: unknown) => Taken<S> | Promise<Taken<S>>>> | undefined
}

/** The options that name one of several versions of a key. */
export type VersionOptions = Pick<LoadOptions, 'version'>

/** The options of `peek`. */
export interface PeekOptions<Out> extends VersionOptions {
  /** The schema of the value; a value that does not pass it counts as missing. Default: none. */
  readonly schema?: Schema<unknown, Out> | undefined
}

/**
 * The kind of an error of a loader. `failure`: shared with all waiters, remembered for `failureCooldown`, and a stale value
 * is served instead. `unremembered`: the same without the memory. `answer`: stored for `negativeTtl` in the place of a
 * value, such as "not found", and thrown to every caller.
 */
export type ErrorKind = 'failure' | 'unremembered' | 'answer'

/** The options of one call. */
export interface CallOptions extends LoadOptions {
  /** `'low'`: its load goes behind all others that wait for its source, as those of `warmUp` do. Default `'normal'`. */
  readonly priority?: 'normal' | 'low' | undefined
  /** Ends this caller's wait with the signal's reason; the load goes on for other callers. */
  readonly signal?: AbortSignal | undefined
}

/** The ttls of `null`, `undefined` and errors that are answers (negative caching). */
export interface NegativeTtl {
  readonly null?: Duration | undefined
  readonly undefined?: Duration | undefined
  /** Default: that of `null`. */
  readonly error?: Duration | undefined
}

/** The options of `set`, over those of the cache. */
export interface SetOptions extends Pick<LoadOptions, 'ttl' | 'grace' | 'jitter' | 'tags' | 'version'> {
  /** The schema that the value must pass. Default: none. */
  readonly schema?: Schema | undefined
}

/** The options of `expire`. */
export interface ExpireOptions extends VersionOptions {
  /** How long the value may be served stale at most, if its `grace` is longer. Default: its `grace` alone says. */
  readonly within?: Duration | undefined
}

/** The options of `invalidateTags`, `invalidatePrefix` and `clear`. */
export interface InvalidateOptions {
  /** Whether to end the ttl of the values, as `expire` does, instead of voiding them. Default `false`. */
  readonly soft?: boolean | undefined
  /**
   * With `soft`, how long a value may be served stale at most, if its `grace` is longer. Default: its `grace` alone says.
   */
  readonly within?: Duration | undefined
}

/** The options of `close`. */
export interface CloseOptions {
  /** How long running loads and waiting callers may go on. Default `'5s'`; 0 ends them at once. */
  readonly timeout?: Duration | undefined
}

/** The options of a cache. */
export interface CacheOptions extends LoadOptions {
  /** The store of values and leases. Default: `memoryStore()`, for one process. */
  readonly store?: Store | undefined
  /** Separates the keys of caches that share a store. Default `'herdless'`. */
  readonly namespace?: string | undefined
  /**
   * The separator that ends each part of a key, such as `':'`. It enables `invalidatePrefix` and `clear`; each hit then
   * reads a few more keys along with its own. Default: none.
   */
  readonly prefixes?: string | undefined
  /** A near cache (L1) in the memory of this process, in front of the store: `{}`, or its bounds. Default: none. */
  readonly near?: NearOptions | undefined
  /**
   * How long a value that this process has loaded without the store is given to its next callers while the store is away,
   * in milliseconds or as a duration; 0 for not at all. With `near`, its copies serve instead. Default 1 s.
   */
  readonly bridge?: Duration | undefined
  /**
   * The mode at first, which `cache.mode` changes: `'observe'` runs the loader of each call, and `stats` counts the hits
   * that a cache would have had; `'off'` only joins the calls of this process. Default `'cache'`.
   */
  readonly mode?: Mode | undefined
  /** The limits of sources, by name; those of one name on one Redis hold for the whole fleet. Default: none. */
  readonly sources?: Readonly<Record<string, SourceOptions>> | undefined
  /** How many loads this process runs at once while the store is away; further loads queue. Default 64. */
  readonly maxConcurrentLoads?: number | undefined
  /** How many loads may queue then; further callers get OVERLOADED. Default 1 000. */
  readonly maxQueuedLoads?: number | undefined
  /**
   * If an invalidation fails: `'throw'` STORE_UNAVAILABLE (default), or `'replay'`: keep it in this process, keep
   * callers here from what it concerns, and carry it out when the store answers again.
   */
  readonly onInvalidateFailure?: 'throw' | 'replay' | undefined
  /** How long the store may take to answer a command before it counts as away. Default 500 ms. */
  readonly commandTimeout?: Duration | undefined
  /** How values become bytes. Default: JSON that also keeps values that plain JSON would change, see `jsonCodec`. */
  readonly codec?: Codec | undefined
  /**
   * The classes of errors that loaders throw: in other processes, too, such an error is an instance of its class. With
   * `omit`, names of further properties that leave no process. Default: no classes.
   */
  readonly errors?: ErrorOptions['classes'] | ErrorOptions
  /**
   * Whether what needs attention and is heard by no listener becomes a process warning, once of each kind. Default
   * `true`.
   */
  readonly warnings?: boolean | undefined
  /**
   * The clock for timeouts and renewals, for tests on virtual time. Default: that of the store, which a test may replace by
   * fake timers if it is in memory, and this machine's for Redis.
   */
  readonly clock?: Clock | undefined
}

/**
 * The options of a near cache: copies of fresh values in the memory of each process, dropped when the values change.
 */
export interface NearOptions {
  /** The most copies; the least recently used is evicted first. Default 10 000. */
  readonly max?: number | undefined
  /** The most bytes, of payloads and keys as the store has them. Default 67108864 (64 MiB). */
  readonly maxSize?: number | undefined
  /** How long a copy is served at most before the store is read again. Default `'10s'`. */
  readonly ttl?: Duration | undefined
  /**
   * How callers are kept from changing each other's value: the shared value is `'frozen'` (default; a value that cannot
   * be frozen is cloned); each caller gets its own, `'cloned'`, which costs a copy; or the value is `'shared'` as
   * it is, and callers must not change it.
   */
  readonly values?: 'frozen' | 'cloned' | 'shared' | undefined
  /**
   * Whether changes in Redis that the library does not make reach copies soon, too: a DEL by hand or by another program,
   * an eviction, FLUSHALL. It needs one more connection (in a Cluster, one to each master). Default `false`.
   */
  readonly foreign?: boolean | undefined
}

import type { Given, MaybeSchema, Taken } from '../codec/schema.ts'
import type { CacheEvents } from '../observe/events.ts'
import type { Explanation, HeldLease } from './explain.ts'
import type { Mode } from '../contract/mode.ts'
import type { AnswerFacts } from '../entry/freshness.ts'
import type { LoadContext, Loader } from '../flight/loader.ts'
import type { Begun } from './begin.ts'
import type { BatchLoader } from './many.ts'
import type {
  CallOptions,
  CloseOptions,
  ExpireOptions,
  InvalidateOptions,
  LoadOptions,
  PeekOptions,
  SetOptions,
  ValueOptions,
  VersionOptions,
} from '../options/options.ts'
import type { CacheStats } from '../observe/counters.ts'
import type { Tracer } from '../observe/tracing.ts'

/** The result of `peek`: no value, or a value with its age and the rest of its ttl, in milliseconds. */
export type Peeked<T> =
  | { readonly state: 'missing' }
  | { readonly state: 'fresh' | 'stale'; readonly value: T; readonly age: number; readonly ttl: number }

/** A value, and what is known of it; times are milliseconds. */
export interface Loaded<T> extends AnswerFacts {
  readonly value: T
}

/** The options of a wrapped function: its key, and the options of a call except `signal`. */
export interface WrapOptions<Args extends unknown[], S extends MaybeSchema = MaybeSchema>
  extends Omit<LoadOptions, 'tags'>, ValueOptions<S> {
  /**
   * A name, 1 to 200 characters without parentheses, unique among the functions that this cache wraps; keys are made of
   * it and the arguments: `user(42,"de")`. Or a function that makes the whole key of the arguments.
   */
  readonly key: string | ((...args: Args) => string)
  /** The tags of the value, or a function that makes them of the arguments. The function may add more. Default: none. */
  readonly tags?: readonly string[] | ((...args: Args) => readonly string[]) | undefined
}

/** Makes a key of arguments. */
export type KeyMaker = (...args: never[]) => string

/** A kind of values in one place: their keys, their schema, their loader, and the options of a call except `signal`. */
export interface Definition<Args extends unknown[], T, S extends MaybeSchema = undefined>
  extends Omit<LoadOptions, 'tags'>, ValueOptions<S> {
  /** Makes the whole key of the arguments. Its parameters have no default values, and none is a rest parameter. */
  readonly key: (...args: Args) => string
  /** Gets a value from the source. The context of the load follows the arguments. */
  readonly load: (...args: [...Args, context: LoadContext]) => T | Promise<T>
  /** The tags of a value, or a function that makes them of the arguments. Default: none. */
  readonly tags?: readonly string[] | ((...args: Args) => readonly string[]) | undefined
}

/** The definition of values of a schema, or of what the loader gives. */
export type DefinedBy<Args extends unknown[], T, S extends MaybeSchema> = Defined<
  Args,
  S extends undefined ? T : Taken<S>,
  Given<S, T>
>

/** The methods of a definition. Each rejects with TypeError for more arguments than the key has. */
export interface Defined<Args extends unknown[], In, Out> extends WrappedMethods<Args, Out> {
  /** `getOrLoad` of the cache, for the key of these arguments. */
  readonly get: (...args: Args) => Promise<Out>

  /** `set` of the cache, for the key of these arguments; the value is the last. */
  readonly set: (...args: [...Args, value: In]) => Promise<void>
}

/** Any function. */
export type Wrappable = (this: never, ...args: never[]) => unknown

/** A function whose results are cached: called like the original, it returns a promise. */
export type Wrapped<F extends Wrappable, Out = Awaited<ReturnType<F>>> = (IsSame<
  Out,
  Awaited<ReturnType<F>>
> extends true
  ? Calls<F>
  : (this: ThisParameterType<F>, ...args: Parameters<F>) => Promise<Out>) &
  WrappedMethods<Parameters<F>, Out, ThisParameterType<F>>

/**
 * `F` itself, with all overloads and type parameters, if it returns exactly a promise and has no properties. Otherwise
 * its arguments and a promise; of several overloads, the last.
 */
type Calls<F extends Wrappable> = [keyof F, IsAny<ReturnType<F>>, IsPromise<ReturnType<F>>] extends [never, false, true]
  ? F
  : (this: ThisParameterType<F>, ...args: Parameters<F>) => Promise<Awaited<ReturnType<F>>>
type IsSame<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
type IsAny<T> = 0 extends 1 & T ? true : false
type IsPromise<T> = [T, Promise<Awaited<T>>] extends [Promise<unknown>, T] ? true : false

/** The methods of a wrapped function. Each throws TypeError if no key can be made of the arguments. */
export interface WrappedMethods<Args extends unknown[], T, This = unknown> {
  /** The key of these arguments. */
  readonly keyOf: (...args: Args) => string

  /** `peek` of the cache, for the key of these arguments. */
  readonly peek: (...args: Args) => Promise<Peeked<T>>

  /** `invalidate` of the cache, for the key of these arguments. */
  readonly invalidate: (...args: Args) => Promise<void>

  /** `expire` of the cache, for the key of these arguments. */
  readonly expire: (...args: Args) => Promise<void>

  /**
   * `refresh` of the cache with the function as loader. A function that uses `this` needs it here too:
   * `refresh.call(…)`.
   */
  readonly refresh: (this: This, ...args: Args) => Promise<T>
}

/** A cache with single flight across the fleet: a missing value is loaded once. Made by `createCache`. */
export interface Cache extends AsyncDisposable {
  /**
   * The mode in force: that of this process, which is set here, or that of the fleet, which `herdless mode` sets, whichever
   * is further from `'cache'`. `'observe'`: each call runs its loader, and `stats` counts what a cache would have saved.
   * `'off'`: the calls of this process for one key join one load. In both, nothing is read from the store or stored there;
   * invalidations are carried out, and `set` is one.
   * @throws TypeError for another mode
   */
  mode: Mode

  /**
   * Returns the value of a key: from the store, or loaded once for all callers in the fleet.
   * @param key 1 to 65 536 characters
   * @param loader gets the value from the source; runs in one process of the fleet at a time
   * @param options the options of this call, over those of the cache
   * @returns the value, as the schema gives it if there is one; callers that are answered together share the object
   * @throws what the loader threw, as the very object in its process; TypeError for a wrong argument; the signal's
   *   reason; `CacheError` LOAD_FAILED (the loader threw what is no Error, which is the cause), LOAD_TIMEOUT, WAIT_TIMEOUT,
   *   STORE_UNAVAILABLE (with `onStoreFailure: 'throw'`), VALUE_TOO_LARGE and VALUE_NOT_SERIALIZABLE (with
   *   `unstorable: 'throw'`), VALUE_INVALID, CIRCULAR_LOAD, OVERLOADED, CLOSED
   * @example
   * const product = await cache.getOrLoad(`product:${id}`, () => db.product(id), { ttl: '5m' })
   */
  getOrLoad<T extends Taken<S>, S extends MaybeSchema = undefined>(
    key: string,
    loader: Loader<T>,
    options?: CallOptions & ValueOptions<S>,
  ): Promise<Given<S, T>>

  /**
   * As `getOrLoad`, with what is known of the value.
   * @param loader as for `getOrLoad`
   * @param options as for `getOrLoad`
   * @returns the value, whether it was found fresh or stale or was loaded, its age, the rest of its ttl, and its tags
   * @throws as `getOrLoad`
   */
  getOrLoadEntry<T extends Taken<S>, S extends MaybeSchema = undefined>(
    key: string,
    loader: Loader<T>,
    options?: CallOptions & ValueOptions<S>,
  ): Promise<Loaded<Given<S, T>>>

  /**
   * Returns the values of several keys, in their order. Missing values are loaded together, each once in the fleet.
   * @param loadMany gets the values of several keys; receives exactly the keys without another load under way
   * @param options as for `getOrLoad`, for each key
   * @returns for each key its value, or the error that `getOrLoad` would have thrown
   * @throws TypeError for a wrong argument; the signal's reason
   */
  getOrLoadMany<T extends Taken<S>, S extends MaybeSchema = undefined>(
    keys: readonly string[],
    loadMany: BatchLoader<T>,
    options?: CallOptions & ValueOptions<S>,
  ): Promise<(Given<S, T> | Error)[]>

  /**
   * As `getOrLoadMany`, with what is known of each value.
   * @param loadMany as for `getOrLoadMany`
   * @param options as for `getOrLoad`, for each key
   * @returns for each key what `getOrLoadEntry` would have resolved to, or the error that it would have thrown
   * @throws as `getOrLoadMany`
   */
  getOrLoadEntries<T extends Taken<S>, S extends MaybeSchema = undefined>(
    keys: readonly string[],
    loadMany: BatchLoader<T>,
    options?: CallOptions & ValueOptions<S>,
  ): Promise<(Loaded<Given<S, T>> | Error)[]>

  /**
   * Loads a value anew, once in the fleet, even if there is one; other callers are served the old value meanwhile. A
   * load that is under way is joined. After a change of the source, `invalidate` the key instead.
   * @returns as `getOrLoad`
   * @throws as `getOrLoad`; an existing value stays if the load fails
   */
  refresh<T extends Taken<S>, S extends MaybeSchema = undefined>(
    key: string,
    loader: Loader<T>,
    options?: CallOptions & ValueOptions<S>,
  ): Promise<Given<S, T>>

  /**
   * As `getOrLoadEntry`, for a load in two halves: where that would run a loader, the caller is given the lead, and loads
   * the value itself. Everybody else in the fleet waits for it, or is served the stale value, until it calls `fill`,
   * `fail` or `skip`. A leader that calls none of them is skipped after `hardTimeout`; if its process dies, another
   * caller leads. There is no `refreshAhead`.
   * @param options as for `getOrLoad`; `signal` ends the wait, and not a lead
   * @returns the value and what is known of it, or the lead with `state: 'lead'`
   * @throws as `getOrLoad`
   * @example
   * const begun = await cache.begin<Product>('product:7')
   * if (begun.state !== 'lead') return begun.value
   * const product = await db.product(7) // in try, with begun.fail(error) in catch
   * await begun.fill(product, { ttl: '5m' })
   */
  begin<T = unknown, S extends MaybeSchema = undefined>(
    key: string,
    options?: CallOptions & ValueOptions<S>,
  ): Promise<Begun<Given<S, T>, S extends undefined ? T : Taken<S>>>

  /**
   * Wraps a function: the result has the same signature and caches. Its callers are thrown the errors of `fn`.
   * @param fn returns the value or a promise of it; called with the `this` of the caller that starts the load
   * @param options the key of each call, and the options of all calls; checked here, once
   * @returns the function, with the methods `keyOf`, `peek`, `invalidate`, `expire` and `refresh`
   * @throws TypeError for a wrong argument, or a name that this cache has already wrapped a function under. A call
   *   rejects with TypeError if no key can be made of its arguments, else as `getOrLoad`
   * @example
   * const productOf = cache.wrap((id: number) => db.product(id), { key: 'product', ttl: '5m' })
   * const product = await productOf(7) // under the key product(7)
   * await productOf.invalidate(7)
   */
  wrap<F extends Wrappable, S extends MaybeSchema = undefined>(
    fn: F,
    options: WrapOptions<Parameters<F>, S>,
  ): Wrapped<F, Given<S, Awaited<ReturnType<F>>>>

  /**
   * Defines a kind of values: `wrap` for a loader whose key is made by a function.
   * @param definition the key of each value, its loader and the options of all calls; checked here, once
   * @returns the methods `get`, `set`, `peek`, `invalidate`, `expire`, `refresh` and `keyOf` of these values
   * @throws TypeError for a wrong argument
   */
  define<Key extends KeyMaker, T extends Taken<S>, S extends MaybeSchema = undefined>(
    definition: Definition<Parameters<Key>, T, S> & { readonly key: Key },
  ): DefinedBy<Parameters<Key>, T, S>

  /**
   * Returns the stored value of a key without loading.
   * @param options the schema and the version of the value
   * @throws what a loader threw, if that is the stored answer; `CacheError` STORE_UNAVAILABLE, CLOSED
   */
  peek<T = unknown>(key: string, options?: PeekOptions<T>): Promise<Peeked<T>>

  /**
   * As `peek` of each key, read together.
   * @param options the schema and the version of the values
   * @returns in the order of the keys, for each what `peek` would have returned, or the error that it would have thrown
   * @throws TypeError for a wrong argument
   */
  peekMany<T = unknown>(keys: readonly string[], options?: PeekOptions<T>): Promise<(Peeked<T> | Error)[]>

  /**
   * Writes a value and voids the load under way. Once it resolves, no caller in the fleet is given an older value.
   * @throws `CacheError` STORE_UNAVAILABLE (the value may or may not have been written), VALUE_TOO_LARGE,
   *   VALUE_NOT_SERIALIZABLE, VALUE_INVALID, CLOSED
   */
  set(key: string, value: unknown, options?: SetOptions): Promise<void>

  /**
   * Deletes a value and voids the load under way. Once it resolves, no later caller in the fleet is given a value whose
   * load began before it. With `onInvalidateFailure: 'replay'` it also resolves if the store does not answer, and the
   * other processes are told later. In a cache with the option `version` it deletes the value of that version, and
   * voids those of all others as `invalidateTags` does.
   * @param keys a key, or several, which are invalidated all, also if one fails
   * @throws `CacheError` STORE_UNAVAILABLE (the value may or may not have been deleted), CLOSED
   */
  invalidate(keys: string | readonly string[], options?: VersionOptions): Promise<void>

  /**
   * Ends the ttl of a value now, and voids the load under way: a soft invalidation. Once it resolves, the value is stale
   * in the whole fleet: it is served within its `grace`, which counts from now, while one caller refreshes it, and no
   * longer than `within`. Without `grace` it is deleted. Kept for replay as `invalidate` is, and all versions are
   * reached as by `invalidate`.
   * @param keys a key, or several, as for `invalidate`
   * @throws `CacheError` STORE_UNAVAILABLE (the ttl may or may not have ended), CLOSED
   */
  expire(keys: string | readonly string[], options?: ExpireOptions): Promise<void>

  /**
   * Voids all values with one of these tags, at a cost that does not depend on their number. Once it resolves, no later
   * caller in the fleet is given such a value whose load began before it. With `soft: true`, their ttl ends now, as that
   * of `expire`.
   * @param tags up to 64 strings of 1 to 1 000 characters
   * @throws TypeError for invalid tags or options; `CacheError` STORE_UNAVAILABLE (the values may or may not have been
   *   voided), CLOSED
   */
  invalidateTags(tags: readonly string[], options?: InvalidateOptions): Promise<void>

  /**
   * Returns the state of a key: its value or the reason why there is none, its load and waiters, and its state in this
   * process. For people and tools: it changes nothing, and costs a script.
   * @throws `CacheError` CLOSED
   */
  explain(key: string, options?: VersionOptions): Promise<Explanation>

  /**
   * Iterates over the loads under way in the fleet; a load that begins or ends meanwhile may be missed. In Redis it
   * scans all keys of all namespaces, a thousand at a time: for people and tools.
   * @throws TypeError if the store cannot list leases; `CacheError` STORE_UNAVAILABLE, CLOSED
   */
  leases(): AsyncIterable<HeldLease>

  /**
   * Voids the load with this token, and no other: its signal aborts with LEASE_LOST, and its waiters ask again at once.
   * An existing value stays.
   * @returns `false`, with nothing changed, if the key has no load with this token
   * @throws TypeError for a malformed token; `CacheError` STORE_UNAVAILABLE, CLOSED
   */
  breakLease(key: string, token: string, options?: VersionOptions): Promise<boolean>

  /**
   * Traces each load and each wait with `tracer`; for exporters such as `herdless/otel`.
   * @returns a function that stops it
   * @throws TypeError if it is not a tracer, or if there is one already
   */
  trace(tracer: Tracer): () => void

  /** Returns the statistics of this process since the cache was opened. */
  stats(): CacheStats

  /**
   * Voids all values whose keys begin with a prefix, as `invalidateTags` does; requires the option `prefixes`.
   * @param prefix empty for all keys, or a prefix that ends with the separator
   * @throws TypeError for another prefix, or without the option; `CacheError` STORE_UNAVAILABLE, CLOSED
   */
  invalidatePrefix(prefix: string, options?: InvalidateOptions): Promise<void>

  /**
   * Voids all values of the namespace and the loads under way, as `invalidatePrefix('', options)` does. Without the option
   * `prefixes` it scans all keys of the store, and invalidates one after the other (event `clearing`): a value whose load
   * began before the call is not served once it resolves, but until then some are gone and others are not; and near copies
   * in other processes of values that the store has evicted stay for their ttl. With the option, values that were stored
   * before the caches had it stay until they expire.
   * @throws TypeError without `prefixes` if the store cannot list its keys; `CacheError` STORE_UNAVAILABLE, CLOSED
   */
  clear(options?: InvalidateOptions): Promise<void>

  /** Adds a listener for an event; returns a function that removes it. */
  on<Name extends keyof CacheEvents>(name: Name, listener: (event: CacheEvents[Name]) => void): () => void

  /**
   * Closes the cache. It refuses new calls with CLOSED, lets running loads end for up to `timeout` (default 5 s), then
   * releases the remaining leases, so that other processes take over, and rejects their callers with CLOSED. It closes
   * the connections that the store opened; your client stays open.
   * @throws `CacheError` STORE_UNAVAILABLE, when all is closed, if kept invalidations could not be carried out
   */
  close(options?: CloseOptions): Promise<void>
}

import type { CacheError } from '../errors.ts'
import type { CacheEvents } from '../observe/events.ts'
import type { Explanation, HeldLease } from './explain.ts'
import type { Loader } from '../load/loader.ts'
import type { BatchLoader } from './many.ts'
import type { CallOptions, CloseOptions, LoadOptions, SetOptions } from '../options/options.ts'
import type { CacheStats } from '../observe/counters.ts'
import type { Tracer } from '../observe/tracing.ts'

/** What `peek` sees: no value, or one with its age and what is left of its ttl, in milliseconds. */
export type Peeked<T> =
  | { readonly state: 'missing' }
  | { readonly state: 'fresh' | 'stale'; readonly value: T; readonly age: number; readonly ttl: number }

/** What may be said of a wrapped function: all that may be said of a call, but for `signal`, and what its keys are. */
export interface WrapOptions<Args extends unknown[]> extends LoadOptions {
  /**
   * A name, 1 to 200 characters without parentheses, that no other function wrapped by this cache has: keys are then made
   * of it and the arguments, `user(42,"de")`. Or what makes the whole key of the arguments.
   */
  readonly key: string | ((...args: Args) => string)
}

/** Any function, whatever it takes. */
export type Wrappable = (this: never, ...args: never[]) => unknown

/** A function whose results are cached: called as the one that was wrapped, it returns a promise. */
export type Wrapped<F extends Wrappable> = Calls<F> &
  WrappedMethods<Parameters<F>, Awaited<ReturnType<F>>, ThisParameterType<F>>

/**
 * `F` itself, with all its overloads and type parameters, if a promise is just what it returns and it has no properties.
 * Else its arguments and a promise; of several overloads, those of the last.
 */
type Calls<F extends Wrappable> = [keyof F, IsAny<ReturnType<F>>, IsPromise<ReturnType<F>>] extends [never, false, true]
  ? F
  : (this: ThisParameterType<F>, ...args: Parameters<F>) => Promise<Awaited<ReturnType<F>>>
type IsAny<T> = 0 extends 1 & T ? true : false
type IsPromise<T> = [T, Promise<Awaited<T>>] extends [Promise<unknown>, T] ? true : false

/** What can be done with the cached results of a wrapped function. Each throws TypeError if no key can be made. */
export interface WrappedMethods<Args extends unknown[], T, This = unknown> {
  /** The key of these arguments. */
  readonly keyOf: (...args: Args) => string

  /** As `peek` of the cache, for the key of these arguments. */
  readonly peek: (...args: Args) => Promise<Peeked<T>>

  /** As `invalidate` of the cache, for the key of these arguments. */
  readonly invalidate: (...args: Args) => Promise<void>

  /** Calls the function anew, as `refresh` of the cache does; one that uses `this` needs it here too: `refresh.call(…)`. */
  readonly refresh: (this: This, ...args: Args) => Promise<T>
}

/** A cache whose misses are loaded once in the whole fleet. Made by `createCache`. */
export interface Cache extends AsyncDisposable {
  /**
   * The value of a key: from the store, or loaded once for all who ask.
   * @param key 1 to 65 536 characters
   * @param loader gets the value from the source; runs in one process of the fleet at a time
   * @param options for this call, over those of the cache
   * @returns the value, of the type the loader returns; callers answered together share the object
   * @throws TypeError for a wrong argument; the signal's reason; `CacheError` LOAD_FAILED (with the loader's error as its
   *   cause), LOAD_TIMEOUT, WAIT_TIMEOUT, STORE_UNAVAILABLE (if `onStoreFailure` is `'throw'`), VALUE_TOO_LARGE,
   *   VALUE_NOT_SERIALIZABLE, CIRCULAR_LOAD, OVERLOADED, CLOSED
   */
  getOrLoad<T>(key: string, loader: Loader<T>, options?: CallOptions): Promise<T>

  /**
   * The values of several keys, in their order: those that are missing are loaded together, each once in the whole fleet.
   * @param loadMany gets the values of several keys; called with exactly those that nobody else loads
   * @param options as for `getOrLoad`, for each key
   * @returns for each key its value, or in its place the `CacheError` that `getOrLoad` would have thrown
   * @throws TypeError for a wrong argument; the signal's reason
   */
  getOrLoadMany<T>(
    keys: readonly string[],
    loadMany: BatchLoader<T>,
    options?: CallOptions,
  ): Promise<(T | CacheError)[]>

  /**
   * Loads a value anew, once in the fleet, although there may be one: whoever asks meanwhile is served that. A load that is
   * under way already is joined. When the source was changed, `invalidate` the key instead.
   * @returns and throws as `getOrLoad` does; a value that is there stays when the load fails
   */
  refresh<T>(key: string, loader: Loader<T>, options?: CallOptions): Promise<T>

  /**
   * A function of the same signature whose results are cached. What it throws arrives as the cause of LOAD_FAILED.
   * @param fn returns the value, or a promise of it; called with the `this` of the caller whose call loads
   * @param options its keys, and what holds for each call of it; checked here, once
   * @returns the function, with the methods `keyOf`, `peek`, `invalidate` and `refresh`
   * @throws TypeError for a wrong argument, or a name that this cache has wrapped a function under already; calls reject
   *   with TypeError if no key can be made of the arguments, else as `getOrLoad` does
   */
  wrap<F extends Wrappable>(fn: F, options: WrapOptions<Parameters<F>>): Wrapped<F>

  /** The value of a key as it stands in the store, without loading. Throws STORE_UNAVAILABLE, CLOSED. */
  peek<T = unknown>(key: string): Promise<Peeked<T>>

  /**
   * Writes a value. Once it resolves, nobody in the fleet is given an older one: a load under way is voided.
   * Throws STORE_UNAVAILABLE (it may or may not have been written), VALUE_TOO_LARGE, VALUE_NOT_SERIALIZABLE, CLOSED.
   */
  set(key: string, value: unknown, options?: SetOptions): Promise<void>

  /**
   * Deletes a value. Once it resolves, nobody in the fleet who asks from then on is given a value whose load began
   * before: a load under way is voided. Throws STORE_UNAVAILABLE (it may or may not have been deleted), CLOSED. With
   * `onInvalidateFailure: 'replay'` it resolves where it would throw the former, and the rest of the fleet is told later.
   */
  invalidate(key: string): Promise<void>

  /**
   * Voids all values that have one of these tags, however many they are. Once it resolves, nobody in the fleet who asks from
   * then on is given such a value whose load began before. Throws TypeError for what is no tag; STORE_UNAVAILABLE (they may
   * or may not have been voided), CLOSED.
   */
  invalidateTags(tags: readonly string[]): Promise<void>

  /**
   * All that is known of a key: whether there is a value and why not, how old it is, who loads it and who waits, and what
   * this process does with it. For people and tools; it changes nothing, and costs a script. Throws CLOSED.
   */
  explain(key: string): Promise<Explanation>

  /**
   * The loads that are under way in the fleet, as they are found; one that begins or ends meanwhile may be there or not.
   * In Redis all keys are gone through, of all namespaces, a thousand at a time: for people and tools.
   * @throws TypeError if the store cannot list them; STORE_UNAVAILABLE, CLOSED
   */
  leases(): AsyncIterable<HeldLease>

  /**
   * Voids the load of this token, as an invalidation does, and no other: its signal is aborted (LEASE_LOST), and whoever
   * waits for it asks again at once. A value that is there stays.
   * @returns `false`, and nothing was done, if the key is not being loaded under this token
   * @throws TypeError for what is no token; STORE_UNAVAILABLE, CLOSED
   */
  breakLease(key: string, token: string): Promise<boolean>

  /**
   * Has each load and each wait followed by `tracer`; for exporters of traces, such as `herdless/otel`.
   * @returns what ends it
   * @throws TypeError for what is no tracer, or if there is one already
   */
  trace(tracer: Tracer): () => void

  /** What this cache has done in this process since it was opened; `topKeys` are empty unless the option asks for them. */
  stats(): CacheStats

  /**
   * Voids all values whose keys begin with this prefix, as `invalidateTags` does; for a cache with the option `prefixes`.
   * @param prefix empty for all, or one that ends with the separator
   * @throws TypeError for what is no such prefix, or without the option; STORE_UNAVAILABLE, CLOSED
   */
  invalidatePrefix(prefix: string): Promise<void>

  /** Voids all values of the namespace, as `invalidatePrefix('')` does. */
  clear(): Promise<void>

  /** Calls `listener` on each such event; returns what stops it. */
  on<Name extends keyof CacheEvents>(name: Name, listener: (event: CacheEvents[Name]) => void): () => void

  /**
   * Takes no more calls, lets running loads end for up to `timeout` (default 5 s), then gives the rest up: their leases
   * go to whoever asks next, their callers get CLOSED. Closes what the store opened, and no client of yours. Throws
   * STORE_UNAVAILABLE, when all is closed, if invalidations that were kept could not be carried out.
   */
  close(options?: CloseOptions): Promise<void>
}

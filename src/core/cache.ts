import type { CacheEvents } from './events.ts'
import type { Loader } from './load.ts'
import type { CallOptions, CloseOptions, SetOptions } from './options.ts'

/** What `peek` sees: no value, or one with its age and what is left of its ttl, in milliseconds. */
export type Peeked<T> =
  | { readonly state: 'missing' }
  | { readonly state: 'fresh' | 'stale'; readonly value: T; readonly age: number; readonly ttl: number }

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
   * Loads a value anew, once in the fleet, although there may be one: whoever asks meanwhile is served that. A load that is
   * under way already is joined. When the source was changed, `invalidate` the key instead.
   * @returns and throws as `getOrLoad` does; a value that is there stays when the load fails
   */
  refresh<T>(key: string, loader: Loader<T>, options?: CallOptions): Promise<T>

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

  /** Calls `listener` on each such event; returns what stops it. */
  on<Name extends keyof CacheEvents>(name: Name, listener: (event: CacheEvents[Name]) => void): () => void

  /**
   * Takes no more calls, lets running loads end for up to `timeout` (default 5 s), then gives the rest up: their leases
   * go to whoever asks next, their callers get CLOSED. Closes what the store opened, and no client of yours. Throws
   * STORE_UNAVAILABLE, when all is closed, if invalidations that were kept could not be carried out.
   */
  close(options?: CloseOptions): Promise<void>
}

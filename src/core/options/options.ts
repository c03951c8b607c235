import type { Clock } from '../time/clock.ts'
import type { Codec } from '../codec/codec.ts'
import type { Duration } from '../time/duration.ts'
import type { Store } from '../contract/store.ts'

/** What may be said per cache and again per call. */
export interface LoadOptions {
  /** How long a value is fresh. Default `'1m'`. The loader may say otherwise with `ttl()`. */
  readonly ttl?: Duration | undefined
  /** How long after its ttl a value is still served while it is refreshed, or instead of an error. Default 0. */
  readonly grace?: Duration | undefined
  /** Shortens each ttl by a random part of up to this, so that what was stored together does not expire together. Default 0. */
  readonly jitter?: number | undefined
  /** How long a `null` is fresh, instead of `ttl`; for `undefined` say so: `{ undefined: '10s' }`. Default: as any value. */
  readonly negativeTtl?: Duration | NegativeTtl | undefined
  /**
   * When a hit has one caller in the fleet refresh a value that is still fresh: after this part of its ttl (0.8), or with
   * `'xfetch'` at random, the likelier the nearer its end and the longer its load takes. Default `false`: when it is stale.
   */
  readonly refreshAhead?: number | 'xfetch' | { readonly beta: number } | false | undefined
  /** What `invalidateTags` knows the value by, up to 64. Default: none. The loader may add some with `tags()`. */
  readonly tags?: readonly string[] | undefined
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

/** How long it is remembered that there is nothing. */
export interface NegativeTtl {
  readonly null?: Duration | undefined
  readonly undefined?: Duration | undefined
}

/** What may be said of a value that is set: how long it is fresh, and stale but served, instead of what the cache says. */
export type SetOptions = Pick<LoadOptions, 'ttl' | 'grace' | 'jitter' | 'tags'>

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
  /**
   * What the parts of keys end with, such as `':'`: then `invalidatePrefix` and `clear` void all values of a prefix, and each
   * hit reads a few keys more along with its own. Default: none.
   */
  readonly prefixes?: string | undefined
  /** Keeps copies in the memory of this process, in front of the store: `{}`, or its bounds. Default: none. */
  readonly near?: NearOptions | undefined
  /**
   * `'observe'` changes nothing: each call runs its loader, no store is asked, and what would have been is counted, see
   * `stats`. Default `'cache'`.
   */
  readonly mode?: 'cache' | 'observe' | undefined
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
  /**
   * What `stats()` tells besides numbers: `topKeys`, how many of the keys that most callers asked for while they were
   * being loaded, up to 1 000. Default 0: no key is named, or kept.
   */
  readonly stats?: { readonly topKeys?: number | undefined } | undefined
  /** The clock that timeouts and renewals go by; for tests on virtual time. Default: this machine's. */
  readonly clock?: Clock | undefined
}

/** The near tier of a cache: copies of fresh values in the memory of each process, which are let go when they change. */
export interface NearOptions {
  /** Most copies; the least recently used goes first. Default 10 000. */
  readonly max?: number | undefined
  /** Most bytes, of payloads and keys as they are in the store. Default 67108864 (64 MiB). */
  readonly maxSize?: number | undefined
  /** How long a copy is served at most before the store is asked again. Default `'10s'`. */
  readonly ttl?: Duration | undefined
  /**
   * What callers are given, so that none can spoil it for the next: the same value, `'frozen'` (default; what cannot be frozen
   * is cloned); one of their own, `'cloned'`, which costs decoding it; or the same, `'shared'`, which nobody may change.
   */
  readonly values?: 'frozen' | 'cloned' | 'shared' | undefined
}

export { createCache } from './create-cache.ts'
export { memoryLock, type MemoryLockOptions } from './memory/memory-lock.ts'
export { memoryStore, type MemoryStoreOptions } from './memory/memory-store.ts'
export { locked } from './core/locked.ts'
export { tiered } from './core/tiered.ts'
export type { KeyValue } from './core/key-value.ts'
export { CacheError, type CacheErrorCode, type Failure } from './core/errors.ts'
export { jsonCodec, type Codec } from './core/codec.ts'
export { cached, cachedMethod, type CachedDecorator, type CachedMethod } from './core/cached.ts'
export { loadContext } from './core/wrap.ts'
export { warmUp, type WarmedUp, type WarmUpOptions } from './core/warm-up.ts'
export { onlyKnown, type KeyFilter, type KnownKeys, type OnlyKnownOptions } from './core/only-known.ts'
export type { Cache, Peeked, Wrapped, WrappedMethods, WrapOptions } from './core/cache.ts'
export type { CacheOptions, CallOptions, CloseOptions, LoadOptions, NegativeTtl, SetOptions } from './core/options.ts'
export type { LoadContext, Loader, Stale } from './core/load.ts'
export type { AcquireOptions, HoldOptions, Lock, LockLease, Released, RenewOptions } from './core/lock.ts'
export type { ExplainedHere, ExplainedValue, Explanation } from './core/explain.ts'
export type { Holder } from './core/holder.ts'
export type { HeldLease } from './core/leases.ts'
export type { CacheEvents } from './core/events.ts'
export type { CacheStats } from './core/tally.ts'
export type { TopKey } from './core/top-keys.ts'
export type { Trace, TraceOutcome, Tracer } from './core/tracing.ts'
export type { BatchLoader } from './core/many.ts'
export type { NearOptions } from './core/near-options.ts'
export type { Clock, Timer } from './core/clock.ts'
export type { Duration } from './core/duration.ts'
export type {
  Claim,
  ClaimRequest,
  Copies,
  Entry,
  StoreUser,
  Inspection,
  Lease,
  NewValue,
  Outcome,
  Seen,
  SeenLease,
  Store,
  Validators,
  Wait,
  Watch,
} from './core/store.ts'

export { createCache } from './create-cache.ts'
export { memoryLock, type MemoryLockOptions } from './memory/memory-lock.ts'
export { memoryStore, type MemoryStoreOptions } from './memory/memory-store.ts'
export { locked } from './key-value/locked.ts'
export type { KeyValue } from './key-value/record.ts'
export { CacheError, type CacheErrorCode, type Failure, type PortableError } from './core/errors.ts'
export type { UnavailableReason } from './core/errors.ts'
export { loadFailure, type LoadFailure } from './core/codec/load-failures.ts'
export type { ErrorClass, ErrorForm, ErrorOptions } from './core/codec/portable-error.ts'
export { jsonCodec, type Codec } from './core/codec/codec.ts'
export { cached, cachedMethod, type CachedDecorator, type CachedMethod } from './decorator.ts'
export { loadContext } from './core/cache/wrap.ts'
export { collectChanges, invalidateAfter, type Changes, type CollectedChanges } from './changes.ts'
export { warmUp, type WarmedUp, type WarmUpOptions } from './warm-up.ts'
export { onlyKnown, type KeyFilter, type KnownKeys, type OnlyKnownOptions } from './key-filter.ts'
export type { WarningCode } from './warnings.ts'
export type { Schema, SchemaIssue, SchemaResult } from './core/codec/schema.ts'
/** The same under a name that the platform has not taken: `Cache` is also a global of browsers and of undici. */
export type { Cache as HerdlessCache } from './core/cache/cache.ts'
export type {
  Cache,
  Defined,
  Definition,
  Loaded,
  Peeked,
  Wrapped,
  WrappedMethods,
  WrapOptions,
} from './core/cache/cache.ts'
export type {
  CacheOptions,
  CallOptions,
  CloseOptions,
  ExpireOptions,
  InvalidateOptions,
  LoadOptions,
  ErrorKind,
  NegativeTtl,
  PeekOptions,
  SetOptions,
  ValueOptions,
  VersionOptions,
} from './core/options/options.ts'
export type { LoadContext, Loader } from './core/flight/loader.ts'
export type { Stale } from './core/codec/payload.ts'
export type { AcquireOptions, HoldOptions, Lock, LockLease, Released, RenewOptions } from './core/contract/lock.ts'
export type { ExplainedHere, ExplainedValue, Explanation } from './core/cache/explain.ts'
export type { Holder } from './core/cache/explain.ts'
export type { HeldLease } from './core/cache/explain.ts'
export type { CacheEvents } from './core/observe/events.ts'
export type { Mode } from './core/contract/mode.ts'
export type { CacheStats } from './core/observe/counters.ts'
export type { Trace, TraceOutcome, Tracer } from './core/observe/tracing.ts'
export type { Begun, FillOptions, FillOutcome, Lead } from './core/cache/begin.ts'
export type { BatchLoader } from './core/cache/many.ts'
export type { NearOptions } from './core/options/options.ts'
export type { Clock, Timer } from './core/time/clock.ts'
export type { Duration } from './core/time/duration.ts'
export type { Store } from './core/contract/store.ts'

/*
 * Room: contract. The interfaces behind which values, leases and locks are stored, and the public interface of locks.
 *
 * Reading order: store.ts (values and leases), claim-decision.ts (which answer a claim gets), permits.ts (the permits of
 * sources), mode.ts (the modes of a cache), then for locks lock.ts (the interface of users) and lock-backend.ts (the
 * interface of backends).
 */
import type { FleetMode } from './mode.ts'
import type { Diagnosis, Failure } from '../errors.ts'
import type { Clock } from '../time/clock.ts'
import type { Permits } from './permits.ts'

/**
 * The store of values and leases. One contract for memory, Redis and every wrapper of them; `herdless/testing` has the
 * suite that each implementation must pass.
 *
 * All times are milliseconds. A method rejects if the store cannot be reached or refuses a command, and only then.
 */
export interface Store {
  /** Whether keys live on several servers, so that the silence of one server says nothing about the others. */
  readonly sharded: boolean

  /** Resolves when the first connection is open or has failed; absent if it is not under way. */
  readonly connected?: Promise<void> | undefined

  /** The clock by which values age, and so that of its caches; absent if it is that of a server. */
  readonly clock?: Clock | undefined

  /** The permits of sources, for all processes that use the store; absent if it has none. */
  readonly permits?: Permits | undefined

  /** The operations of operators; absent if the store knows no more than `read` returns. */
  readonly inspection?: Inspection

  /** The near cache of a cache whose options name none. A store in this process names one: its hits need no command. */
  readonly near?: NearPlan | undefined

  /**
   * The value at some moment after the call, perhaps just expired; `null` if there is none. A value with a tag that was
   * invalidated since its load began counts as expired, or after a soft invalidation as stale.
   * @param tags the tags that the value probably has; the store checks them in the same round trip
   */
  read(key: string, tags?: readonly string[]): Promise<Entry | null>

  /**
   * As `read` of each of some hundred keys, in one command as far as that is possible. Absent if it saves nothing.
   * @param keys of one namespace; the tags of their values are not known yet
   */
  readMany?(keys: readonly string[]): Promise<readonly (Entry | null)[]>

  /**
   * Requests a key, and grants its lease if there is no fresh value and no holder, in one atomic step. Idempotent: a
   * claim that is sent twice with the same token gets the same result.
   */
  claim(request: ClaimRequest): Promise<Claim>

  /**
   * Ends a load with a value. `false`: the lease was lost, or a tag of the value was invalidated since the lease was
   * granted.
   */
  fill(lease: Lease, value: NewValue): Promise<boolean>

  /**
   * Ends a load with an error, for all waiters and for callers within `cooldown` milliseconds, unless one of its tags is
   * invalidated meanwhile. `false`: as for `fill`.
   */
  fail(lease: Lease, failure: Failure, cooldown: number, tags?: readonly string[]): Promise<boolean>

  /** Ends a load whose result must not be stored: for `duration` milliseconds, callers do not queue for this key. */
  pass(lease: Lease, duration: number): Promise<boolean>

  /** Releases a lease without an outcome: its waiters ask again at once. `false`: the lease was not there. */
  release(lease: LeaseName): Promise<boolean>

  /**
   * Whether the rejection of a claim proves that no lease was granted. Without this method no rejection proves it, and
   * the lease is released.
   */
  refused?(rejection: unknown): boolean

  /**
   * Why a command failed, as far as it is known.
   * @param rejection the error of the command; absent if the command was not answered in time
   */
  diagnose?(rejection?: unknown): Diagnosis | null

  /**
   * Extends leases by another lease ttl, in as few commands as possible. One result per lease, because leases may live
   * on different servers.
   */
  renew(leases: readonly Lease[]): Promise<Renewed>[]

  /**
   * Writes a value and voids any load of the key that is under way.
   * @param within in milliseconds: a write that arrives later than this after the call only voids and deletes,
   *   because its sender has been told of a failure and other processes may have written since
   */
  set(key: string, token: string, value: NewValue, within?: number): Promise<void>

  /**
   * Deletes the value and voids any load of the key that is under way.
   * @param how `'hard'` by default; others end the ttl of the value instead of deleting it, and begin its grace
   */
  invalidate(key: string, how?: Invalidation): Promise<void>

  /**
   * Voids every value and every remembered error with one of these tags, and every load under way that will end with
   * one of them. Tags apply to the keys of their own namespace, which is the part up to the first colon.
   * @param how `'hard'` by default; others end the ttl of the values instead of voiding them
   */
  invalidateTags(tags: readonly string[], how?: Invalidation): Promise<void>

  /**
   * Subscribes `copies` to the changes of a namespace. From then on an overwrite or an invalidation by any process
   * resolves only when these copies have been told or may not be served any more. A store without this method supports
   * no copies.
   * @param namespace the common prefix of the keys and tags, including its colon
   */
  watch?(namespace: string, copies: Copies): Watch
  /**
   * As `watch`; and the copies are told of changes by others, soon after them: by hand, by other programs, by eviction.
   * While the store could not hear of such a change, the promise is over.
   */
  watchForeign?(namespace: string, copies: TrackedCopies): Watch

  /**
   * The mode that an operator has set for all caches of a namespace; `null` for none. Absent if the store can hold none.
   * @param namespace the common prefix of its keys, including its colon
   */
  fleetMode?(namespace: string): Promise<FleetMode | null>

  /** Resolves when the store answers. */
  ping(): Promise<void>

  /**
   * A cache begins to use the store. Several caches may share one store.
   * @param user receives notifications about the store
   */
  open(user?: StoreUser): void

  /**
   * A cache ends its use; the last one closes the connections that the store opened itself. The user's client stays
   * open.
   */
  close(user?: StoreUser): Promise<void>
}

/**
 * `hard`: the value must not be served any more. `soft`: its ttl is over, and its grace begins. A number: the same, and
 * after so many milliseconds it must not be served any more.
 */
export type Invalidation = 'hard' | 'soft' | number

/** A cache, as the receiver of a store's notifications. */
export interface StoreUser {
  /** Outcomes are pushed to this process from now on, or no longer. */
  pushed(up: boolean): void

  /**
   * The store may have lost acknowledged writes: another server answers, or the server was restarted from an older
   * snapshot. Leases of ended loads may be back.
   */
  mayHaveForgotten(): void

  /** Another process waits for a lease which, according to the store, this process holds. */
  awaited(lease: LeaseName): void

  /** The mode of the fleet may be another one. */
  modeChanged(): void
}

/** Copies of values in this process, and the reads that may become copies; the store says which of them must go. */
export interface Copies {
  drop(keys: readonly string[]): void
  dropTags(tags: readonly string[]): void
  /** A notification may have been missed. */
  dropAll(): void
}

/** Copies that are also told of changes by others than the library. */
export interface TrackedCopies extends Copies {
  /**
   * The value of a key may have changed: a read under way becomes no copy. Returns the token of the copy; `null` if there
   * is none.
   */
  doubt(key: string): string | null
}

/** A store's promise to notify copies. */
export interface Watch {
  /** The end of the promise, by the clock of the process: until then, no value changes without a notification. */
  readonly until: number
  /** Copies will be kept for this many milliseconds from now on. */
  keep(ms: number): void
  close(): void
}

/** A value in the store, as of the moment it was read. */
export interface Entry {
  readonly payload: Buffer
  /** The token of the load that wrote it. */
  readonly token: string
  /** Grows with every load of the key. */
  readonly version: number
  /** Milliseconds since it was written. */
  readonly age: number
  /** Milliseconds left of its ttl; zero or less when it is stale. */
  readonly freshFor: number
  /** Milliseconds left of ttl + grace; zero or less when it must not be served any more. */
  readonly staleFor: number
  /** How long its load took, in milliseconds. */
  readonly loadTime: number
  readonly tags: readonly string[]
  readonly validators: Validators | null
  /**
   * Whether an invalidation has ended its ttl. Then it is not the outcome of its load for callers that have waited for it,
   * and a claim names its token as `unwanted`.
   */
  readonly outdated?: boolean
}

/** The validators by which the source recognises a value (RFC 9110, section 8.8). */
export interface Validators {
  readonly etag?: string
  readonly lastModified?: string
}

/** A value to be written by `fill` or `set`. */
export interface NewValue {
  readonly payload: Uint8Array
  readonly ttl: number
  readonly grace: number
  /** How long the load took, in milliseconds. */
  readonly loadTime: number
  /** The largest payload that travels in the message which wakes the waiters, in bytes. */
  readonly inlineLimit: number
  readonly tags?: readonly string[]
  readonly validators?: Validators | null
}

/** The facts that a store needs for a claim. */
export interface ClaimRequest {
  readonly key: string
  /** Unique per load, never reused. */
  readonly token: string
  readonly leaseTtl: number
  /** The token of the value that the caller already has: the store need not send it again. */
  readonly known?: string | undefined
  /** The token of an outcome that is to be replaced although its time is not over. */
  readonly unwanted?: string | undefined
  /** The token of the load that the caller waited for: its outcome is the answer even if it has expired meanwhile. */
  readonly awaited?: string | undefined
  /** A description of the claiming process for operators: up to 256 characters, kept with the lease. */
  readonly holder?: string | undefined
  /** Whether callers wait that go before others at a source; the holder is told when it renews its lease. */
  readonly urgent?: boolean | undefined
  /** An opaque string for the waiters, such as a trace context: up to 256 characters, kept with the lease. */
  readonly context?: string | undefined
}

/**
 * The result of a renewal. `false`: the lease is lost. `'urgent'`: it is extended, and an urgent claim waits for it; a
 * store without permits need not say so.
 */
export type Renewed = boolean | 'urgent'

/** The result of a claim. `stale` is the value that may be served meanwhile, if there is one. */
export type Claim =
  | { readonly state: 'fresh'; readonly entry: Entry }
  | { readonly state: 'lease'; readonly lease: Lease; readonly stale: Entry | null }
  | Wait
  | { readonly state: 'failed'; readonly failure: Failure; readonly stale: Entry | null }
  | { readonly state: 'pass' }

/** Another holder loads. The claim has enlisted the waiter already, so no outcome can slip in between the two. */
export interface Wait {
  readonly state: 'wait'
  /** The token of the load that is waited for. */
  readonly token: string
  /** The `context` of the holder's claim, if it had one. */
  readonly context?: string | undefined
  readonly stale: Entry | null
  /** Resolves with the outcome of the load, if it is pushed; it may never resolve: then claim again. */
  readonly outcome: Promise<Outcome>
  /** Whether the store pushes the outcome; if not, a new claim is the only way to learn of it. */
  readonly pushed: boolean
  /** The milliseconds after which a new claim may win the lease without a message. */
  readonly leaseLeft: number
  /**
   * Whether that load is still under way and the waiter still enlisted, for less than the cost of a claim. `false`, or a
   * rejection: claim again. Absent if a claim costs no more.
   */
  readonly stillLoads?: () => Promise<boolean>
  /** Stops listening; must be called when the wait is over. */
  leave(): void
}

/** The outcome of a load that was waited for. `read`: a value that is too large for a message is in the store. */
export type Outcome =
  | { readonly state: 'filled'; readonly entry: Entry }
  | { readonly state: 'read' }
  | { readonly state: 'failed'; readonly failure: Failure }
  | { readonly state: 'pass' }
  | { readonly state: 'again' }

/** The identity of a lease. */
export interface LeaseName {
  readonly key: string
  readonly token: string
}

/** The bounds of a near cache, in milliseconds and bytes, and how callers are kept from changing each other's value. */
export interface NearPlan {
  readonly max: number
  readonly maxSize: number
  readonly ttl: number
  readonly values: 'frozen' | 'cloned' | 'shared'
  /** Whether changes by others than the library reach copies. */
  readonly foreign?: boolean | undefined
}

/** The right to load a key. */
export interface Lease extends LeaseName {
  readonly ttl: number
  /**
   * The fencing token: grows with every lease of the key, for resources outside the cache that can refuse a late
   * writer.
   */
  readonly fence: bigint
  /** Resolves when the store learns that the lease was taken away before its time; it may never resolve. */
  readonly lost: Promise<void>
}

/** The operations of a store for operators. No result of a claim depends on them. */
export interface Inspection {
  /** The state of a key at one moment; changes nothing. */
  look(key: string): Promise<Seen>

  /**
   * Iterates over the held leases whose keys begin with `prefix`: each step does a bounded amount of work and returns
   * the leases it found. A lease that is granted or ends meanwhile may be missed. Absent if the store cannot list
   * leases.
   */
  leases?(prefix: string): AsyncIterator<readonly SeenLease[], void>

  /**
   * Iterates over the keys that begin with `prefix` and have a load or its outcome, or a value: as `leases`, and a key may
   * come twice. Each key that had it before the first step, and has it until the last, comes. Absent if the store cannot
   * list its keys.
   */
  names?(prefix: string, of: 'loads' | 'values'): AsyncIterator<readonly string[], void>

  /**
   * Voids a load: its waiters ask again at once, and its holder is told. `false`, and nothing is changed, if the key
   * has no lease with this token.
   */
  breakLease(key: string, token: string): Promise<boolean>
}

/** The state of a key in a store. */
export interface Seen {
  /** The value as it is stored, even if it is expired or void; its ttl and grace as soft invalidations leave them. */
  readonly entry: Entry | null
  /** The tags that void it. */
  readonly voidedBy: readonly string[]
  /** The tags whose soft invalidation has ended its ttl. */
  readonly softenedBy: readonly string[]
  readonly lease: SeenLease | null
  /**
   * The outcome of a load without a value, while it is the answer: a failure, or `null` for "do not queue". `left` is
   * in ms.
   */
  readonly rest: { readonly failure: Failure | null; readonly left: number } | null
}

/** A held lease, as seen from outside. */
export interface SeenLease {
  readonly key: string
  readonly token: string
  readonly fence: bigint
  /** The `holder` of the claim; `''` if there was none. */
  readonly holder: string
  /** The `context` of the claim; `''` if there was none. */
  readonly context: string
  /** Milliseconds since it was granted. */
  readonly age: number
  /** Milliseconds until it ends unless it is renewed. */
  readonly left: number
  /** How often it was renewed. */
  readonly renewals: number
  /** How many processes wait for its load; `null` if the store does not know. */
  readonly waiting: number | null
}

import type { Failure } from '../errors.ts'

/**
 * Where values and leases live. One contract for memory, Redis and everything that wraps them;
 * `herdless/testing` has the suite that each of them must pass.
 *
 * All times are milliseconds. All methods reject when the store cannot be reached or refuses a command, and only then.
 */
export interface Store {
  /** Whether keys live on several servers, so that the silence of one says nothing of the others. */
  readonly sharded: boolean

  /** What operators may ask; absent where no more is known than `read` tells. */
  readonly inspection?: Inspection

  /**
   * The value as it stands in the store at some moment after the call, perhaps just expired; `null` when there is none. One
   * of which a tag was invalidated since its load began has expired.
   * @param tags those that it probably has, which are looked at in the same round trip
   */
  read(key: string, tags?: readonly string[]): Promise<Entry | null>

  /**
   * Asks for a key and perhaps wins its lease, in one step.
   * Asking again with the same token is answered as before: a command that was sent twice loses nothing.
   */
  claim(request: ClaimRequest): Promise<Claim>

  /** Ends a load with a value. `false`: the lease is no longer ours, or a tag of the value was invalidated since it was granted. */
  fill(lease: Lease, value: NewValue): Promise<boolean>

  /** Ends a load with an error, for all who wait and for those who ask within `cooldown`. `false`: as for `fill`. */
  fail(lease: Lease, failure: Failure, cooldown: number): Promise<boolean>

  /** Ends a load whose result must not be kept: for `duration`, nobody queues for this key. */
  pass(lease: Lease, duration: number): Promise<boolean>

  /** Gives a lease up without an outcome: its waiters ask again at once. `false`: the lease was not there. */
  release(lease: LeaseName): Promise<boolean>

  /**
   * Whether the rejection of a claim says that no lease was granted. Where nobody can know, which is so without this
   * method, the lease is released.
   */
  refused?(rejection: unknown): boolean

  /**
   * Holds leases for another lease ttl, with as few commands as can be; for each, `false` when it is no longer ours.
   * One answer a lease, because they may live on different servers.
   */
  renew(leases: readonly Lease[]): Promise<boolean>[]

  /**
   * Writes a value and voids whatever load of the key is under way.
   * @param within a write that arrives later than this many milliseconds after it was sent only voids and deletes:
   *   whoever sent it has been told that it failed, and others may have written since
   */
  set(key: string, token: string, value: NewValue, within?: number): Promise<void>

  /** Deletes the value and voids whatever load of the key is under way. */
  invalidate(key: string): Promise<void>

  /**
   * Voids every value that has one of these tags, and every load under way that will say so. Tags and keys begin with the
   * same namespace, up to their first colon: tags of others are none of theirs.
   */
  invalidateTags(tags: readonly string[]): Promise<void>

  /**
   * Begins to tell whoever keeps copies of values of a namespace what goes. From then on an overwrite or an invalidation,
   * wherever in the fleet, resolves only when the copies here have been told of it or may not be served any more. A store
   * that has no such method has nobody who keeps copies.
   * @param namespace what the keys and tags begin with, its colon included
   */
  watch?(namespace: string, copies: Copies): Watch

  /** Resolves when the store answers. */
  ping(): Promise<void>

  /**
   * A cache begins to use the store. Several may share one.
   * @param user is told what happens to the store
   */
  open(user?: StoreUser): void

  /** A cache ends its use; the last one ends what the store opened by itself. A client of the user's stays open. */
  close(user?: StoreUser): Promise<void>
}

/** A cache, as a store sees it: it is told what nobody has asked for. */
export interface StoreUser {
  /** From now on outcomes are pushed to this process, or they are not. */
  pushed(up: boolean): void

  /**
   * The store may have forgotten what it acknowledged lately: another server answers, or one that was restarted from an
   * older snapshot. Leases whose load has ended may be back.
   */
  mayHaveForgotten(): void

  /** Another process waits for a lease which, as the store has it, this process holds. */
  awaited(lease: LeaseName): void
}

/** Copies of values that this process keeps, and is about to keep: it is told which must go. */
export interface Copies {
  drop(keys: readonly string[]): void
  dropTags(tags: readonly string[]): void
  /** Something may have been missed. */
  dropAll(): void
}

/** The promise of a store to whoever keeps copies. */
export interface Watch {
  /** Until when, by the clock of the process, no value goes without the copies being told. */
  readonly until: number
  /** Copies will be kept from now on for this many milliseconds. */
  keep(ms: number): void
  close(): void
}

/** A value in the store, seen at the moment it was read. */
export interface Entry {
  readonly payload: Buffer
  /** The load that wrote it. */
  readonly token: string
  /** Grows with every load of the key. */
  readonly version: number
  /** Milliseconds since it was written. */
  readonly age: number
  /** Milliseconds left of its ttl; zero or less when it is stale. */
  readonly freshFor: number
  /** Milliseconds left of ttl + grace; zero or less when it must not be served any more. */
  readonly staleFor: number
  /** How long its load took. */
  readonly loadTime: number
  readonly tags: readonly string[]
  readonly validators: Validators | null
}

/** What the source recognises a value by, as it says itself (RFC 9110, section 8.8). */
export interface Validators {
  readonly etag?: string
  readonly lastModified?: string
}

/** What is written by `fill` and `set`. */
export interface NewValue {
  readonly payload: Uint8Array
  readonly ttl: number
  readonly grace: number
  /** How long the load took. */
  readonly loadTime: number
  /** Up to this many bytes, the value itself travels in the message that wakes the waiters. */
  readonly inlineLimit: number
  readonly tags?: readonly string[]
  readonly validators?: Validators | null
}

export interface ClaimRequest {
  readonly key: string
  /** One per load, never reused for another. */
  readonly token: string
  readonly leaseTtl: number
  /** The token of the value that the caller already has: it need not be sent again. */
  readonly known?: string | undefined
  /** The token of a value that is to be replaced even though the store calls it fresh. */
  readonly unwanted?: string | undefined
  /** The token of the load that the caller waits for: what came of it is the answer even if its time is over. */
  readonly awaited?: string | undefined
  /** Who asks, for operators: up to 256 characters that are kept with the lease. */
  readonly holder?: string | undefined
  /** Kept with the lease for those who wait, whatever it says: up to 256 characters. */
  readonly context?: string | undefined
}

/** The answer to a claim. `stale` is the value that may be served meanwhile, if there is one. */
export type Claim =
  | { readonly state: 'fresh'; readonly entry: Entry }
  | { readonly state: 'lease'; readonly lease: Lease; readonly stale: Entry | null }
  | Wait
  | { readonly state: 'failed'; readonly failure: Failure; readonly stale: Entry | null }
  | { readonly state: 'pass' }

/** Somebody else loads. The wait is enlisted already: no outcome can slip in between asking and listening. */
export interface Wait {
  readonly state: 'wait'
  /** The load that is waited for. */
  readonly token: string
  /** The `context` of the claim that it began with, if there was one. */
  readonly context?: string | undefined
  readonly stale: Entry | null
  /** Resolves with what came of the load, if a message says so; it may never resolve: then ask again. */
  readonly outcome: Promise<Outcome>
  /** Whether the store pushes the outcome; if not, asking again is the only way to learn of it. */
  readonly pushed: boolean
  /** After this many milliseconds asking again may win the lease, if nothing was heard by then. */
  readonly leaseLeft: number
  /** Stops listening; must be called when the wait is over. */
  leave(): void
}

/** What came of a load that was waited for. `read`: a value too large for the message is in the store. */
export type Outcome =
  | { readonly state: 'filled'; readonly entry: Entry }
  | { readonly state: 'read' }
  | { readonly state: 'failed'; readonly failure: Failure }
  | { readonly state: 'pass' }
  | { readonly state: 'again' }

/** Which lease of which key. */
export interface LeaseName {
  readonly key: string
  readonly token: string
}

/** The right to load a key. */
export interface Lease extends LeaseName {
  readonly ttl: number
  /** Grows with every lease of the key; for resources outside the cache that can refuse a late writer. */
  readonly fence: bigint
  /** Resolves when the store learns that the lease was taken away before its time; it may never resolve. */
  readonly lost: Promise<void>
}

/** What operators may ask of a store. No answer to a claim depends on it. */
export interface Inspection {
  /** All that is known of a key at one moment; changes nothing. */
  look(key: string): Promise<Seen>

  /**
   * The leases that are held while it runs, of the keys that begin so: with each step a bounded piece of work, and what it
   * has found. One that is granted or ends meanwhile may be there or not. Absent where nobody can know.
   */
  leases?(prefix: string): AsyncIterator<readonly SeenLease[], void>

  /**
   * Voids a load: those who wait ask again at once, and its holder is told. `false`, and nothing is done, if the key has no
   * lease with this token.
   */
  breakLease(key: string, token: string): Promise<boolean>
}

/** What a store has under a key. */
export interface Seen {
  /** As it stands there, although it may have expired or be void. */
  readonly entry: Entry | null
  /** Those of its tags that void it. */
  readonly voidedBy: readonly string[]
  readonly lease: SeenLease | null
  /** What a load without a value has left behind: a failure, or `null` for "do not queue"; and for how long it is the answer. */
  readonly rest: { readonly failure: Failure | null; readonly left: number } | null
}

/** A lease that is held, as it is seen from outside. */
export interface SeenLease {
  readonly key: string
  readonly token: string
  readonly fence: bigint
  /** What the claim said of its holder; `''` if nothing. */
  readonly holder: string
  /** The `context` of the claim; `''` if there was none. */
  readonly context: string
  /** Milliseconds since it was granted. */
  readonly age: number
  /** Milliseconds until it ends unless it is renewed. */
  readonly left: number
  /** How often it was renewed. */
  readonly renewals: number
  /** How many processes wait for its load; `null` where nobody knows. */
  readonly waiting: number | null
}

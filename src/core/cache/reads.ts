import { TickBatch, type Clock } from '../time/clock.ts'
import type { Codec } from '../codec/codec.ts'
import { checkedValue, isSameKind, type Kind } from '../codec/schema.ts'
import type { Keyspace } from '../entry/key.ts'
import type { Near } from '../near/near.ts'
import type { Events } from '../observe/events.ts'
import type { GuardedStore } from '../outage/guarded-store.ts'
import { CacheError } from '../errors.ts'
import { answerOf, ErrorAnswer } from '../load/failures.ts'
import type { CallRequest, LoadContext, Loader } from '../load/loader.ts'
import type { Migration } from '../options/checks.ts'
import { decodeEntry, type UnstoredValues } from '../load/payload.ts'
import type { Entry } from '../contract/store.ts'
import type { Peeked } from './cache.ts'
import { freshnessOf } from '../entry/freshness.ts'

/**
 * The result of a read. `entry`: an entry and its value; `older`: an entry older than a value that callers here have
 * received; `garbage`: bytes that do not decode, or a value that does not pass its schema; `nothing`: no entry. `at` is when the read was sent, by the clock.
 */
export type ReadResult =
  | FoundEntry
  | { readonly state: 'older'; readonly entry: Entry; readonly value: unknown; readonly at: number }
  | { readonly state: 'garbage'; readonly entry: Entry }
  | { readonly state: 'nothing' }

export interface FoundEntry {
  readonly state: 'entry'
  readonly entry: Entry
  readonly value: unknown
  readonly at: number
}

interface PendingRead<Leader> {
  readonly key: string
  readonly kind: Kind
  /** The tags that its value probably has, in the store. */
  readonly tags: readonly string[]
  leader: Leader | null
  readonly found: Promise<ReadResult>
  readonly resolve: (result: ReadResult) => void
  readonly reject: (error: CacheError) => void
}

/** The parts that the reads of one cache share. */
export interface ReadParts {
  readonly store: GuardedStore
  readonly keyspace: Keyspace
  readonly codec: Codec
  readonly events: Events
  readonly unstored: UnstoredValues
  readonly clock: Clock
  readonly near: Near | null
}

/**
 * The reads of one cache, one per key and tick: callers of the same tick share the read and its decoded value. A caller
 * never joins a read that was sent before it asked, because an invalidation could lie between the two. So reads are
 * sent at the end of their tick.
 */
export class Reads<Leader extends object = object> {
  readonly #parts: ReadParts
  readonly #thisTick = new Map<string, PendingRead<Leader>>()
  readonly #batch = new TickBatch<PendingRead<Leader>>((reads) => this.#sendAll(reads))

  constructor(parts: ReadParts) {
    this.#parts = parts
  }

  /**
   * Reads a key.
   * @param request with the tags that its value probably has
   * @param leader the call that reads, for `leaderOf`
   */
  read(
    { key, tags, plan: kind }: { readonly key: string; readonly tags: readonly string[]; readonly plan: Kind },
    leader: Leader | null = null,
  ): Promise<ReadResult> {
    const joined = this.#thisTick.get(key)
    if (joined !== undefined && isSameKind(joined.kind, kind)) {
      joined.leader ??= leader
      return joined.found
    }
    let resolve!: (result: ReadResult) => void
    let reject!: (error: CacheError) => void
    const found = new Promise<ReadResult>((...settle) => ([resolve, reject] = settle))
    const its = this.#parts.keyspace.tagsOf(key, tags, kind.version)
    const read = { key, kind, tags: its, leader, found, resolve, reject }
    this.#thisTick.set(key, read)
    this.#batch.add(read)
    return found
  }

  /** The first call that reads a key in this tick; the read has not been sent yet. */
  leaderOf(key: string): Leader | null {
    return this.#thisTick.get(key)?.leader ?? null
  }

  #sendAll(reads: readonly PendingRead<Leader>[]): void {
    this.#thisTick.clear()
    const now = this.#parts.clock.now()
    for (const read of reads) this.#send(read, now)
  }

  #send({ key, kind, tags, resolve, reject }: PendingRead<Leader>, now: number): void {
    const { store, keyspace, near } = this.#parts
    const name = keyspace.keyOf(key, kind.version)
    const found = (entry: Entry | null): ReadResult => this.#found(key, entry, now, kind)
    if (near === null) return store.readInto(name, tags, now, { resolve: (entry) => resolve(found(entry)), reject })
    const expected = near.expect(key)
    store.readInto(name, tags, now, {
      resolve: (entry) => {
        const result = found(entry)
        near.found(key, expected, result.state === 'entry' ? { ...result, kind } : null)
        resolve(result)
      },
      reject: (error) => {
        near.forgo(key, expected)
        reject(error)
      },
    })
  }

  #found(key: string, entry: Entry | null, at: number, { schema }: Kind): ReadResult {
    if (entry === null) return { state: 'nothing' }
    const value = decodeEntry(entry, key, this.#parts, schema)
    if (value === null) return { state: 'garbage', entry }
    const state = this.#parts.unstored.isOlder(key, entry) ? 'older' : 'entry'
    return { state, entry, value: value.value, at }
  }
}

/**
 * The tolerance for the estimated store clock, in milliseconds: a value that expired this shortly before a caller began
 * to wait for it still counts. Otherwise a ttl shorter than that would mean one load per process.
 */
export const clockTolerance = 25

/**
 * The awaited value, found again by the token of its load. It counts even if it has expired since the caller joined the
 * wait; and because it is still stored under that token, its key was not invalidated, and neither were its tags.
 * @param waited how long the caller has waited, in milliseconds
 */
export function awaitedValue(read: ReadResult, token: string, waited: number): FoundEntry | null {
  if (read.state !== 'entry' || read.entry.token !== token || read.entry.outdated === true) return null
  // Negative while it is fresh. It must have been fresh when the caller began to wait.
  const expiredFor = -read.entry.freshFor
  return expiredFor >= waited + clockTolerance ? null : read
}

/**
 * The answer of `peek` for a read; the `ttl` of a stale value is below zero.
 * @param grace the grace of the cache, in milliseconds
 * @throws what the loader threw, if that is the answer
 */
export function toPeeked<T>(found: ReadResult, grace: number): Peeked<T> {
  if (!('value' in found)) return { state: 'missing' }
  const { entry, value } = found
  const state = freshnessOf(entry, grace)
  if (state === 'expired') return { state: 'missing' }
  return { state, value: answerOf(value) as T, age: entry.age, ttl: entry.freshFor }
}

/**
 * A loader that first looks for a fresh value of an earlier version. It looks under the lease of its key: an
 * invalidation before the look has voided the earlier value, and one after it voids the load.
 */
export function migrating(
  request: Pick<CallRequest, 'loader' | 'plan' | 'tags'>,
  parts: Pick<ReadParts, 'store' | 'keyspace' | 'codec' | 'events'>,
): Loader<unknown> {
  return async (context) => {
    // The value of this version may be newer than that of an earlier one.
    for (const migration of context.stale === null ? request.plan.migrate : []) {
      const found = await migrated(migration, context, request, parts)
      if (found !== null) return found.value
    }
    return await request.loader(context)
  }
}

/** The value that a migration makes; `null` if there is no fresh value of its version, or none that it can make one of. */
async function migrated(
  { from, migrate }: Migration,
  context: LoadContext,
  { plan, tags }: Pick<CallRequest, 'plan' | 'tags'>,
  parts: Pick<ReadParts, 'store' | 'keyspace' | 'codec' | 'events'>,
): Promise<{ readonly value: unknown } | null> {
  const { key } = context
  const { store, keyspace, events } = parts
  const entry = await store.read(keyspace.keyOf(key, from), keyspace.tagsOf(key, tags, from)).catch(() => null)
  if (entry === null || freshnessOf(entry, 0) !== 'fresh') return null
  const old = decodeEntry(entry, key, parts, null)
  if (old === null || ErrorAnswer.is(old.value)) return null
  try {
    const value = await migrate(old.value)
    const checked = checkedValue(value, key, plan.schema)
    if (checked instanceof CacheError) throw checked
    context.ttl(entry.freshFor)
    context.grace(entry.staleFor - entry.freshFor)
    const its = entry.tags.map((tag) => keyspace.describeTag(tag)).filter(({ by }) => by === 'tag')
    context.tags(...its.map(({ name }) => name))
    if (entry.validators !== null) context.validators(entry.validators)
    return { value }
  } catch (cause) {
    events.emit('garbage', { key, cause })
    return null
  }
}

import { TickBatch, type Clock } from '../time/clock.ts'
import type { Codec } from '../codec/codec.ts'
import type { Keyspace } from '../entry/key.ts'
import type { Near } from '../near/near.ts'
import type { Events } from '../observe/events.ts'
import type { GuardedStore } from '../outage/guarded-store.ts'
import type { CacheError } from '../errors.ts'
import { answerOf } from '../load/failures.ts'
import { decodeEntry, type UnstoredValues } from '../load/payload.ts'
import type { Entry } from '../contract/store.ts'
import type { Peeked } from './cache.ts'
import { freshnessOf } from '../entry/freshness.ts'

/**
 * The result of a read. `entry`: an entry and its value; `older`: an entry older than a value that callers here have
 * received; `garbage`: bytes that do not decode; `nothing`: no entry. `at` is when the read was sent, by the clock.
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
   * @param tags the tags that its value probably has
   * @param leader the call that reads, for `leaderOf`
   */
  read(key: string, tags: readonly string[], leader: Leader | null = null): Promise<ReadResult> {
    const joined = this.#thisTick.get(key)
    if (joined !== undefined) {
      joined.leader ??= leader
      return joined.found
    }
    let resolve!: (result: ReadResult) => void
    let reject!: (error: CacheError) => void
    const found = new Promise<ReadResult>((...settle) => ([resolve, reject] = settle))
    const read = { key, tags: this.#parts.keyspace.tagsOf(key, tags), leader, found, resolve, reject }
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

  #send({ key, tags, resolve, reject }: PendingRead<Leader>, now: number): void {
    const { store, keyspace, near } = this.#parts
    const name = keyspace.keyOf(key)
    if (near === null) {
      return store.readInto(name, tags, now, { resolve: (entry) => resolve(this.#found(key, entry, now)), reject })
    }
    const expected = near.expect(key)
    store.readInto(name, tags, now, {
      resolve: (entry) => {
        const result = this.#found(key, entry, now)
        near.found(key, expected, result.state === 'entry' ? result : null)
        resolve(result)
      },
      reject: (error) => {
        near.forgo(key, expected)
        reject(error)
      },
    })
  }

  #found(key: string, entry: Entry | null, at: number): ReadResult {
    if (entry === null) return { state: 'nothing' }
    const value = decodeEntry(entry, key, this.#parts)
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
 * wait; and because it is still stored, its key was not invalidated. A value that a tag has voided has expired for ever.
 * @param waited how long the caller has waited, in milliseconds
 */
export function awaitedValue(read: ReadResult, token: string, waited: number): FoundEntry | null {
  if (read.state !== 'entry' || read.entry.token !== token) return null
  // Negative while it is fresh. It must have been fresh when the caller began to wait.
  const expiredFor = -read.entry.freshFor
  return expiredFor >= waited + clockTolerance ? null : read
}

/**
 * The answer of `peek` for a read.
 * @param grace the grace of the cache, in milliseconds
 * @throws what the loader threw, if that is the answer
 */
export function toPeeked<T>(found: ReadResult, grace: number): Peeked<T> {
  if (!('value' in found)) return { state: 'missing' }
  const { entry, value } = found
  const state = freshnessOf(entry, grace)
  if (state === 'expired') return { state: 'missing' }
  return { state, value: answerOf(value) as T, age: entry.age, ttl: Math.max(0, entry.freshFor) }
}

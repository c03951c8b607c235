import { TickBatch, type Clock } from '../time/clock.ts'
import type { Codec } from '../codec/codec.ts'
import { isSameKind, type Kind } from '../codec/schema.ts'
import { decodeEntry } from '../codec/payload.ts'
import type { Keyspace } from '../entry/key.ts'
import type { Near } from '../near/near.ts'
import type { Events } from '../observe/events.ts'
import type { GuardedStore } from '../guard/guarded-store.ts'
import type { CacheError } from '../errors.ts'
import type { UnstoredValues } from './unstored-values.ts'
import type { Entry } from '../contract/store.ts'

/**
 * The result of a read. `entry`: an entry and its value; `older`: an entry older than a value that callers here have
 * received; `garbage`: bytes that do not decode, or a value that does not pass its schema; `nothing`: no entry.
 */
export type ReadResult =
  | FoundEntry
  | (Omit<FoundEntry, 'state'> & { readonly state: 'older' })
  | { readonly state: 'garbage'; readonly entry: Entry }
  | { readonly state: 'nothing' }

/** An entry and its value. */
export interface FoundEntry {
  readonly state: 'entry'
  readonly entry: Entry
  readonly value: unknown
  /** When the read was sent, by the clock. */
  readonly at: number
}

const nothing: ReadResult = { state: 'nothing' }

interface PendingRead {
  readonly key: string
  readonly kind: Kind
  /** The tags that its value probably has, in the store. */
  readonly tags: readonly string[]
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
export class Reads {
  readonly #parts: ReadParts
  readonly #thisTick = new Map<string, PendingRead>()
  readonly #batch = new TickBatch<PendingRead>((reads) => this.#sendAll(reads))

  constructor(parts: ReadParts) {
    this.#parts = parts
  }

  /**
   * Reads a key.
   * @param asked with the tags that its value probably has
   */
  read({
    key,
    tags,
    plan: kind,
  }: {
    readonly key: string
    readonly tags: readonly string[]
    readonly plan: Kind
  }): Promise<ReadResult> {
    const joined = this.#thisTick.get(key)
    if (joined !== undefined && isSameKind(joined.kind, kind)) return joined.found
    let resolve!: (result: ReadResult) => void
    let reject!: (error: CacheError) => void
    const found = new Promise<ReadResult>((...settle) => ([resolve, reject] = settle))
    const read = { key, kind, tags: this.#parts.keyspace.tagsOf(key, tags, kind.version), found, resolve, reject }
    this.#thisTick.set(key, read)
    this.#batch.add(read)
    return found
  }

  /**
   * Reads the values of several keys without tags for one caller, as few commands as possible; `null` if the store reads
   * each key for itself.
   */
  readMany(keys: readonly string[], kind: Kind): Promise<ReadResult[]> | null {
    const { store, keyspace, near, clock } = this.#parts
    if (near !== null || keyspace.hasPrefixes || kind.version !== null) return null
    const now = clock.now()
    const entries = store.readMany(keys.map((key) => keyspace.keyOf(key, null)))
    if (entries === null) return null
    return entries.then((found) => found.map((entry, index) => this.#found(keys[index] as string, entry, now, kind)))
  }

  #sendAll(reads: readonly PendingRead[]): void {
    this.#thisTick.clear()
    const now = this.#parts.clock.now()
    for (const read of reads) this.#send(read, now)
  }

  #send({ key, kind, tags, resolve, reject }: PendingRead, now: number): void {
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
    if (entry === null) return nothing
    const decoded = decodeEntry(entry, key, this.#parts, schema)
    if (decoded === null) return { state: 'garbage', entry }
    const state = this.#parts.unstored.isOlder(key, entry) ? 'older' : 'entry'
    return { state, entry, value: decoded.value, at }
  }
}

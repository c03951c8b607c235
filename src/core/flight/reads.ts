import { TickBatch } from '../time/clock.ts'
import { isSameKind, type Kind } from '../codec/schema.ts'
import { decodeEntry } from '../codec/payload.ts'
import type { CacheError } from '../errors.ts'
import type { Entry } from '../contract/store.ts'
import type { Crowd } from './callers.ts'
import type { FlightParts } from './parts.ts'

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

/** A read that is shared by the callers of its tick. */
export interface SharedRead {
  readonly key: string
  readonly kind: Kind
  /** The tags that its value probably has, in the store. */
  readonly tags: readonly string[]
  readonly found: Promise<ReadResult>
  /** How many callers share it. */
  readers: number
  /** Those of them that go on together. */
  crowd: Crowd | null
  readonly resolve: (result: ReadResult) => void
  readonly reject: (error: CacheError) => void
}

/** The most keys that are read together: the server does nothing else meanwhile, nor does this process when they come. */
const mostTogether = 128

/** What is read: values of a kind, with the tags that they probably have. */
interface Wanted {
  readonly plan: Kind
  readonly tags: readonly string[]
}

/**
 * The reads of one cache, one per key and tick: callers of the same tick share the read and its decoded value. A caller
 * never joins a read that was sent before it asked, because an invalidation could lie between the two. So reads are
 * sent at the end of their tick.
 */
export class Reads {
  readonly #parts: FlightParts
  readonly #thisTick = new Map<string, SharedRead>()
  readonly #batch = new TickBatch<SharedRead>((reads) => this.#sendAll(reads))

  constructor(parts: FlightParts) {
    this.#parts = parts
  }

  /** Reads a key. */
  read({ key, tags, plan: kind }: Wanted & { readonly key: string }): SharedRead {
    const joined = this.#thisTick.get(key)
    if (joined !== undefined && isSameKind(joined.kind, kind)) {
      joined.readers++
      return joined
    }
    let resolve!: (result: ReadResult) => void
    let reject!: (error: CacheError) => void
    const found = new Promise<ReadResult>((...settle) => ([resolve, reject] = settle))
    const its = this.#parts.keyspace.tagsOf(key, tags, kind.version)
    const read: SharedRead = { key, kind, tags: its, found, readers: 1, crowd: null, resolve, reject }
    this.#thisTick.set(key, read)
    this.#batch.add(read)
    return read
  }

  /** Reads several keys in as few commands as possible; `null` if each is to be read for itself. */
  readMany(keys: readonly string[], { plan: kind, tags }: Wanted): Promise<ReadResult[]> | null {
    const { store, keyspace, near, clock } = this.#parts
    // Near copies are marked before they are read; tags that are known before are read along with the value.
    if (near !== null || keyspace.hasPrefixes || kind.version !== null || tags.length > 0) return null
    const now = clock.now()
    const results: Promise<ReadResult[]>[] = []
    for (let start = 0; start < keys.length; start += mostTogether) {
      const some = keys.slice(start, start + mostTogether)
      const entries = store.readMany(some.map((key) => keyspace.keyOf(key, null)))
      if (entries === null) return null
      results.push(entries.then((found) => some.map((key, at) => this.#found(key, found[at] ?? null, now, kind))))
    }
    return Promise.all(results).then((all) => all.flat())
  }

  #sendAll(reads: readonly SharedRead[]): void {
    this.#thisTick.clear()
    const now = this.#parts.clock.now()
    for (const read of reads) this.#send(read, now)
  }

  #send({ key, kind, tags, resolve, reject }: SharedRead, now: number): void {
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

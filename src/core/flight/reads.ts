import { isReal, timers } from '../time/clock.ts'
import { isSameKind, type Kind } from '../codec/schema.ts'
import { answerOf } from '../codec/error-answer.ts'
import { decodeEntry } from '../codec/payload.ts'
import { freshnessOf } from '../entry/freshness.ts'
import { withKey, type CacheError } from '../errors.ts'
import type { Entry } from '../contract/store.ts'
import type { Crowd } from './caller.ts'
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

/** Takes the result of each of several keys, by its place, as soon as it is there; `undefined` if it was not read. */
export type FoundOfMany = (at: number, result: ReadResult | undefined) => void

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

/** What there is of a key; times are milliseconds. */
type Seen =
  | { readonly state: 'missing' }
  | { readonly state: 'fresh' | 'stale'; readonly value: unknown; readonly age: number; readonly ttl: number }

/** The most reads under way of a cache: a burst of keys then goes on in waves, and what a wave has allocated dies young. */
const mostUnderWay = 128

/**
 * The most waves of one call under way, of `mostTogether` keys each: while they hit, for each waits for a round trip, and
 * once one has missed, for a load allocates much more than a hit. Fewer would make the queries of its loads smaller.
 */
const mostWaves = { ofHits: 8, ofMisses: 2 }

/**
 * The reads of one cache, one per key and tick: callers of the same tick share the read and its decoded value. A caller
 * never joins a read that was sent before it asked, because an invalidation could lie between the two. So reads are
 * sent at the end of their tick, or when earlier ones have been answered. Requests to a server arrive in several ticks of
 * one turn of the event loop: the reads of all but the first of them are sent at the end of the turn, as one command.
 */
export class Reads {
  readonly #parts: FlightParts
  readonly #isSharded: boolean
  #underWay = 0
  /** The oldest first. */
  readonly #unsent = new Set<SharedRead>()
  readonly #joinable = new Map<string, SharedRead>()
  #willSend = false
  /** Whether reads were sent in this turn of the event loop. */
  #hasSent = false

  /** @param isSharded whether keys are on several servers: the silence of one must not hold up the reads of the others */
  constructor(parts: FlightParts, isSharded: boolean) {
    this.#parts = parts
    this.#isSharded = isSharded
  }

  /** Reads a key. */
  read({ key, tags, plan: kind }: Wanted & { readonly key: string }): SharedRead {
    const joined = this.#joinable.get(key)
    if (joined !== undefined && isSameKind(joined.kind, kind)) {
      joined.readers++
      return joined
    }
    let resolve!: (result: ReadResult) => void
    let reject!: (error: CacheError) => void
    const found = new Promise<ReadResult>((...settle) => ([resolve, reject] = settle))
    const its = this.#parts.keyspace.tagsOf(key, tags, kind.version)
    const read: SharedRead = { key, kind, tags: its, found, readers: 1, crowd: null, resolve, reject }
    this.#unsent.add(read)
    this.#joinable.set(key, read)
    this.#sendSoon()
    return read
  }

  /**
   * Reads a key without loading it. The `ttl` of a stale value is below zero.
   * @param grace that of the cache, in milliseconds
   * @throws what the loader threw, if that is the answer; `CacheError` STORE_UNAVAILABLE
   */
  async peek(wanted: Wanted & { readonly key: string }, grace: number): Promise<Seen> {
    const found = await this.read(wanted).found.catch((error: CacheError) => {
      throw withKey(wanted.key, error)
    })
    if (!('value' in found)) return { state: 'missing' }
    const { entry, value } = found
    const state = freshnessOf(entry, grace)
    return state === 'expired'
      ? { state: 'missing' }
      : { state, value: answerOf(value), age: entry.age, ttl: entry.freshFor }
  }

  /**
   * Reads several keys in as few commands as possible, in waves; `null` if each is to be read for itself.
   * @param wanted.until the last moment at which a read may be sent, by the clock
   * @returns resolves when all keys were found
   */
  readMany(
    keys: readonly string[],
    { plan: kind, tags, until }: Wanted & { readonly until: number },
    found: FoundOfMany,
  ): Promise<unknown> | null {
    const { store, keyspace, near, spare, clock } = this.#parts
    // Copies are marked before their keys are read; tags that are known before are read along with the value.
    if (near !== null || spare?.isEmpty === false) return null
    if (keyspace.hasPrefixes || kind.version !== null || tags.length > 0) return null
    let next = 0
    let waves = 0
    const readOn = async (): Promise<void> => {
      waves++
      while (next < keys.length) {
        const from = next
        const some = keys.slice(from, from + mostTogether)
        next += some.length
        const now = clock.now()
        const reading = now < until ? store.readMany(some.map((key) => keyspace.keyOf(key, null))) : null
        const entries = await reading?.catch(() => null)
        let isMissed = false
        for (const [at, key] of some.entries()) {
          const entry = entries?.[at]
          isMissed ||= entry == null
          found(from + at, entry === undefined ? undefined : this.#found(key, entry, now, kind))
        }
        if (isMissed && waves > this.#atMost(mostWaves.ofMisses)) break
      }
      waves--
    }
    const all: Promise<void>[] = []
    while (next < keys.length && waves < this.#atMost(mostWaves.ofHits)) all.push(readOn())
    return Promise.all(all)
  }

  #atMost(bound: number): number {
    return this.#isSharded ? Number.POSITIVE_INFINITY : bound
  }

  #sendSoon(): void {
    if (this.#willSend || this.#underWay >= this.#atMost(mostUnderWay)) return
    this.#willSend = true
    // Only while a read is under way: a store in memory has answered, and saves nothing by waiting for more.
    if (this.#hasSent && this.#underWay > 0) timers.setImmediate(this.#sendOldest)
    else timers.nextTick(this.#sendOldest)
  }

  readonly #turnEnds = (): void => {
    this.#hasSent = false
  }

  readonly #sendOldest = (): void => {
    this.#willSend = false
    // Where time is virtual, nothing waits for a turn of the event loop.
    if (!this.#hasSent && isReal(this.#parts.clock)) {
      this.#hasSent = true
      timers.setImmediate(this.#turnEnds)
    }
    const now = this.#parts.clock.now()
    for (const read of this.#unsent) {
      if (this.#underWay >= this.#atMost(mostUnderWay)) break
      this.#underWay++
      this.#unsent.delete(read)
      if (this.#joinable.get(read.key) === read) this.#joinable.delete(read.key)
      this.#send(read, now)
    }
  }

  #send({ key, kind, tags, resolve, reject }: SharedRead, now: number): void {
    const { store, keyspace, spare, modes } = this.#parts
    const expected = modes.current === 'cache' ? (spare?.expect(key) ?? null) : null
    store.readInto(keyspace.keyOf(key, kind.version), tags, now, {
      resolve: (entry) => {
        this.#answered()
        const result = this.#found(key, entry, now, kind)
        spare?.found(key, expected, result.state === 'entry' ? { ...result, kind } : null)
        resolve(result)
      },
      reject: (error) => {
        this.#answered()
        spare?.forgo(key, expected)
        reject(error)
      },
    })
  }

  #answered(): void {
    this.#underWay--
    if (this.#unsent.size > 0) this.#sendSoon()
  }

  #found(key: string, entry: Entry | null, at: number, { schema }: Kind): ReadResult {
    if (entry === null) return nothing
    const decoded = decodeEntry(entry, key, this.#parts, schema)
    if (decoded === null) return { state: 'garbage', entry }
    const state = this.#parts.unstored.isOlder(key, entry) ? 'older' : 'entry'
    return { state, entry, value: decoded.value, at }
  }
}

/*
 * Room: near. The near cache (L1): copies of fresh values in the memory of a process, which the store promises to have
 * dropped before a change is confirmed.
 *
 * Reading order: near.ts (copies, marks and drops), plain-data.ts (how callers are kept from changing each other's value).
 */
import { LRUCache } from 'lru-cache'
import { type Clock, CoarseClock } from '../time/clock.ts'
import { Deadlines, type Due } from '../time/deadlines.ts'
import type { Codec } from '../codec/codec.ts'
import { isSameKind, type Kind } from '../codec/schema.ts'
import type { Events } from '../observe/events.ts'
import { factsOf, freshnessOf, type AnswerFacts, type EntryFacts } from '../entry/freshness.ts'
import type { Keyspace } from '../entry/key.ts'
import { answerOf, ErrorAnswer } from '../codec/error-answer.ts'
import { decodeEntry, type Stale } from '../codec/payload.ts'
import { attempt } from '../errors.ts'
import type { Entry, NearPlan, TrackedCopies, Watch } from '../contract/store.ts'
import { copyPlain, deepFreeze, isPlainData } from './plain-data.ts'

/** A copy that may be served, with the metadata of its value. */
export interface Copy {
  readonly value: unknown
  readonly seen: EntryFacts
  /** The moment that the metadata describes, by the clock. */
  readonly at: number
  readonly tags: readonly string[]
}

interface Kept extends Copy {
  /** `shared`: all callers are given `value`; `copied`: a copy of it each; `decoded`: each a value from `payload`. */
  readonly given: 'shared' | 'copied' | 'decoded'
  readonly kind: Kind
  /** A shared value as a resolved promise. */
  answer: Promise<unknown> | null
  readonly payload: Buffer | null
  /** The end of the copy, by the clock. */
  readonly until: number
  /** Drops it then: after an outage, no other copy may ever take its place. `null` if the store has its value. */
  readonly end: Due | null
  /** Its share of `maxSize`, in bytes. */
  readonly size: number
}

/** A value that was loaded without a lease, so that the store does not have it. Times are milliseconds. */
export interface LoadedCopy extends Pick<Entry, 'loadTime' | 'tags' | 'validators' | 'payload'> {
  readonly ttl: number
  readonly kind: Kind
}

/** The parts of a near cache. */
export interface NearParts {
  readonly keyspace: Keyspace
  readonly clock: Clock
  readonly codec: Codec
  readonly events: Events
}

/** The mark of a read under way. A drop removes it, and then the result of the read is not kept. */
export type Expected = symbol

/**
 * The near cache: copies of fresh values in this process, served only within the store's promise to notify changes.
 *
 * A read must be announced by `expect` before it is sent. The race that the mark survives, with processes A and B:
 *
 * 1. A marks key k as expected, and sends a read of it. Redis answers with the old value.
 * 2. B sets k: it writes the new value, then tells every process with copies to drop k.
 * 3. The drop overtakes the answer of step 1, which comes on another connection. A has no copy to drop; the mark goes.
 * 4. A acknowledges the drop, and B's set resolves.
 * 5. The old value of step 1 reaches A. Its mark is gone, so it is given to its caller but not kept.
 *
 * Without the mark, A would keep the old value in step 5 and serve it after B's set has resolved.
 */
export class Near implements TrackedCopies {
  readonly #plan: NearPlan
  readonly #freezesLoaded: boolean
  readonly #keyIn: (name: string) => string | null
  readonly #codec: Codec
  readonly #events: Events
  readonly #clock: CoarseClock
  /** The ends of the copies that the store does not have. */
  readonly #ends: Deadlines
  readonly #watch: Watch
  readonly #copies: LRUCache<string, Kept>
  readonly #byTag = new Map<string, Set<string>>()
  readonly #expected = new Map<string, Expected>()

  /**
   * @param watch begins the store's promise
   */
  constructor(
    plan: NearPlan,
    watch: (namespace: string, copies: TrackedCopies) => Watch,
    { keyspace, clock, codec, events }: NearParts,
  ) {
    this.#plan = plan
    this.#freezesLoaded = plan.values === 'frozen' && process.env['NODE_ENV'] !== 'production'
    this.#keyIn = (name) => keyspace.keyIn(name)
    this.#codec = codec
    this.#events = events
    this.#clock = new CoarseClock(clock)
    this.#ends = new Deadlines(clock, 'background')
    this.#copies = new LRUCache({
      max: plan.max,
      maxSize: plan.maxSize,
      sizeCalculation: ({ size }) => size,
      dispose: ({ tags, until, end }, key) => {
        this.#untag(key, tags)
        if (end !== null) this.#ends.delete(until, end)
      },
    })
    this.#watch = watch(keyspace.prefix, this)
  }

  /** Whether there is no copy, and none is under way. */
  get isEmpty(): boolean {
    return this.#copies.size === 0 && this.#expected.size === 0
  }

  /**
   * Freezes a value that a load has ended with, if its copies are frozen, so that code which changes values fails at its
   * first run, and not only on a hit. Not in production: there it costs a walk of each value, and the failure.
   */
  freezeLoaded(value: unknown): void {
    if (this.#freezesLoaded) deepFreeze(value)
  }

  /** The copy of a key, if it may be served now. */
  get(key: string, kind: Kind): Copy | undefined {
    const kept = this.#servable(key, kind)
    return kept === undefined ? undefined : this.#give(key, kept)
  }

  /**
   * As `get`, the value alone, as a promise: the hit of a shared value allocates nothing.
   * @throws what the loader threw, if that is the answer
   */
  answer(key: string, kind: Kind): Promise<unknown> | undefined {
    const kept = this.#servable(key, kind)
    if (kept === undefined) return undefined
    if (kept.given === 'shared') return (kept.answer ??= Promise.resolve(kept.value))
    if (kept.given === 'copied') return Promise.resolve(copyPlain(kept.value))
    const copy = this.#give(key, kept)
    return copy === undefined ? undefined : Promise.resolve(answerOf(copy.value))
  }

  /** The copy of a key while the store is away: until its ttl ends, changes by other processes are not seen. */
  copyInOutage(key: string, kind: Kind): { readonly value: unknown; readonly facts: AnswerFacts } | undefined {
    const kept = this.#copies.get(key)
    if (kept === undefined || !isSameKind(kept.kind, kind) || this.#clock.now() >= kept.until) return undefined
    this.#events.nearHit(key, true)
    const copy = this.#give(key, kept)
    return copy && { value: copy.value, facts: this.factsOf(copy) }
  }

  /** The metadata of a copy as of now. */
  aged({ seen, at }: Copy): EntryFacts {
    const older = this.#clock.now() - at
    return { ...seen, age: seen.age + older, freshFor: seen.freshFor - older }
  }

  /** What is known of a copy as of now. */
  factsOf(copy: Copy): AnswerFacts {
    return factsOf({ ...this.aged(copy), tags: copy.tags }, 'fresh')
  }

  /** Marks a key before it is read; `null` if the result must not be kept. */
  expect(key: string): Expected | null {
    this.#watch.keep(this.#plan.ttl)
    return this.#clock.now() < this.#watch.until ? this.expectAlone(key) : null
  }

  /** Marks a key before it is loaded without a lease, in which case the value will not be in the store. */
  expectAlone(key: string): Expected {
    const expected = this.#expected.get(key) ?? Symbol('expected')
    this.#expected.set(key, expected)
    return expected
  }

  /**
   * Keeps the value that was read, if it is fresh and its mark is still there; drops an older copy in any case.
   * @param found `null` if there is no value; `at` is when the read was sent, by the clock: its answer may have come late
   */
  found(
    key: string,
    expected: Expected | null,
    found: { readonly entry: Entry; readonly value: unknown; readonly kind: Kind; readonly at: number } | null,
  ): void {
    const wanted = this.forgo(key, expected)
    // A load that began without the store before this answer must not take its place.
    if (expected === null) this.#expected.delete(key)
    if (this.#copies.size > 0) this.#copies.delete(key)
    if (wanted && found !== null && freshnessOf(found.entry, 0) === 'fresh') this.#keep(key, found.entry, found)
  }

  /** Keeps the value of a load without a lease, if its mark is still there. */
  loaded(key: string, expected: Expected | null, loaded: LoadedCopy): void {
    if (!this.forgo(key, expected)) return
    const { payload, ttl: freshFor, loadTime, validators, tags, kind } = loaded
    const found = this.#decoded(key, { payload, age: 0 })
    // The empty token matches no value in the store.
    if (found === null) return
    const entry = { token: '', age: 0, freshFor, loadTime, validators, tags, payload }
    this.#keep(key, entry, { ...found, kind, at: this.#clock.now() })
  }

  /** Withdraws a mark. Returns whether it was still there. */
  forgo(key: string, expected: Expected | null): boolean {
    return expected !== null && this.#expected.get(key) === expected && this.#expected.delete(key)
  }

  /** Drops the copy and the mark of a key that this process knows to be outdated. */
  forget(key: string): void {
    this.#expected.delete(key)
    this.#copies.delete(key)
  }

  doubt(name: string): string | null {
    const key = this.#keyIn(name)
    if (key === null) return null
    this.#expected.delete(key)
    return this.#copies.peek(key)?.seen.token ?? null
  }

  drop(names: readonly string[]): void {
    for (const name of names) {
      const key = this.#keyIn(name)
      if (key !== null) this.forget(key)
    }
  }

  dropTags(tags: readonly string[]): void {
    // The tags of the values under way are not known yet, so every mark goes.
    this.#expected.clear()
    for (const tag of tags) {
      for (const key of this.#byTag.get(tag) ?? []) this.#copies.delete(key)
    }
  }

  dropAll(): void {
    this.#expected.clear()
    this.#copies.clear()
  }

  close(): void {
    this.#watch.close()
    this.dropAll()
  }

  #servable(key: string, kind: Kind): Kept | undefined {
    const kept = this.#copies.get(key)
    if (kept === undefined || !isSameKind(kept.kind, kind)) return undefined
    const now = this.#clock.now()
    return now < kept.until && now < this.#watch.until ? kept : undefined
  }

  #keep(
    key: string,
    entry: EntryFacts & Pick<Entry, 'tags' | 'payload'>,
    { value, kind, at }: { readonly value: unknown; readonly kind: Kind; readonly at: number },
  ): void {
    const { token, age, freshFor, loadTime, validators, tags, payload } = entry
    const { ttl, values } = this.#plan
    // An error that is an answer is thrown: no caller may be given the object that stands for it.
    const isShared = !ErrorAnswer.is(value) && (values === 'shared' || (values === 'frozen' && deepFreeze(value)))
    const given = isShared ? 'shared' : isPlainData(value) ? 'copied' : 'decoded'
    const bytes = given === 'decoded' ? this.#bytesOf(value, payload, kind) : null
    if (bytes === undefined) return
    const size = payload.length + 2 * key.length + 1
    const seen = { token, age, freshFor, loadTime, validators }
    const until = at + Math.min(ttl, freshFor)
    const end = token === '' ? { expire: () => void this.#copies.delete(key) } : null
    // A copy of the value, which belongs to the caller that has read it.
    this.#copies.set(key, {
      value: given === 'shared' ? value : given === 'copied' ? copyPlain(value) : null,
      payload: bytes,
      given,
      kind,
      answer: null,
      seen,
      at,
      until,
      end,
      size,
      tags,
    })
    // One that is too large is not kept.
    if (!this.#copies.has(key)) return
    if (tags.length > 0) this.#tag(key, tags)
    if (end !== null) this.#ends.add(until, end)
  }

  #give(key: string, kept: Kept): Copy | undefined {
    const { seen, at, payload, tags } = kept
    if (kept.given === 'shared') return kept
    if (payload === null) return { value: copyPlain(kept.value), seen, at, tags }
    const found = this.#decoded(key, { payload, age: seen.age })
    return found === null ? undefined : { value: found.value, seen, at, tags }
  }

  /**
   * The bytes of a value that is decoded for each hit. Those of the store are not yet what the schema made of them, and
   * a hit does not check again. `undefined` if the value has no bytes.
   */
  #bytesOf(value: unknown, stored: Buffer, { schema }: Kind): Buffer | undefined {
    // A copy, because the original is a slice of the connection's larger buffer, which it would keep alive.
    return schema === null ? Buffer.from(stored) : attempt(() => Buffer.from(this.#codec.encode(value)))
  }

  #decoded(key: string, entry: Pick<Entry, 'payload' | 'age'>): Stale | null {
    return decodeEntry(entry, key, { codec: this.#codec, events: this.#events }, null)
  }

  #tag(key: string, tags: readonly string[]): void {
    for (const tag of tags) {
      const keys = this.#byTag.get(tag)
      if (keys === undefined) this.#byTag.set(tag, new Set([key]))
      else keys.add(key)
    }
  }

  #untag(key: string, tags: readonly string[]): void {
    for (const tag of tags) {
      const keys = this.#byTag.get(tag)
      if (keys?.delete(key) && keys.size === 0) this.#byTag.delete(tag)
    }
  }
}

import { LRUCache } from 'lru-cache'
import { type Clock, CoarseClock } from '../time/clock.ts'
import type { Codec } from '../codec/codec.ts'
import type { Events } from '../observe/events.ts'
import { freshnessOf, type EntryFacts } from '../entry/freshness.ts'
import type { NearPlan } from '../options/plan.ts'
import type { LoadedFacts } from '../load/loader.ts'
import { decodeEntry } from '../load/payload.ts'
import type { Copies, Entry, Store, Watch } from '../contract/store.ts'

/** A copy that may be served, and what is known of its value now. */
export interface Copy {
  readonly value: unknown
  readonly seen: EntryFacts
  /** When it was seen, by the clock. */
  readonly at: number
}

interface Kept extends Copy {
  /** Its bytes, where each caller is given a value of its own. */
  readonly payload: Buffer | null
  /** By the clock. */
  readonly until: number
  /** What it takes of the room. */
  readonly size: number
  readonly tags: readonly string[]
}

/** A read that is on its way; what goes meanwhile is not kept when it arrives. */
export type Expected = symbol

/**
 * The near tier: copies of fresh values in this process, kept only as long as the store promises to tell what goes.
 *
 * A read may have seen a value that goes before it arrives. So whoever sends one says so first, and what is dropped
 * is not expected any more.
 */
export class Near implements Copies {
  readonly #plan: NearPlan
  readonly #namespace: string
  readonly #codec: Codec
  readonly #events: Events
  readonly #clock: CoarseClock
  readonly #watch: Watch
  readonly #copies: LRUCache<string, Kept>
  readonly #byTag = new Map<string, Set<string>>()
  readonly #expected = new Map<string, Expected>()

  /**
   * @param watch begins the store's promise
   * @param namespace what keys begin with in the store
   */
  constructor(
    plan: NearPlan,
    watch: NonNullable<Store['watch']>,
    { namespace, clock, codec, events }: { namespace: string; clock: Clock; codec: Codec; events: Events },
  ) {
    this.#plan = plan
    this.#namespace = namespace
    this.#codec = codec
    this.#events = events
    this.#clock = new CoarseClock(clock)
    this.#copies = new LRUCache({
      max: plan.max,
      maxSize: plan.maxSize,
      sizeCalculation: ({ size }) => size,
      dispose: ({ tags }, key) => this.#untag(key, tags),
    })
    this.#watch = watch(namespace, this)
  }

  /** The copy of a key, if it may be served now. */
  get(key: string): Copy | undefined {
    const kept = this.#copies.get(key)
    if (kept === undefined) return undefined
    const now = this.#clock.now()
    if (now >= kept.until || now >= this.#watch.until) return undefined
    return kept.payload === null ? kept : this.#anew(key, kept, kept.payload)
  }

  /** The same while the store is away: what others have changed meanwhile may be served until its ttl ends. */
  spare(key: string): Copy | undefined {
    const kept = this.#copies.get(key)
    if (kept === undefined || this.#clock.now() >= kept.until) return undefined
    this.#events.nearHit(key, true)
    return kept.payload === null ? kept : this.#anew(key, kept, kept.payload)
  }

  /** What is known by now of the value of a copy. */
  aged({ seen, at }: Copy): EntryFacts {
    const older = this.#clock.now() - at
    return { ...seen, age: seen.age + older, freshFor: seen.freshFor - older }
  }

  /** Before a key is read; `null` if what is found must not be kept. */
  expect(key: string): Expected | null {
    this.#watch.keep(this.#plan.ttl)
    return this.#clock.now() < this.#watch.until ? this.expectAlone(key) : null
  }

  /** Before a key is loaded without a lease, so that what it brings will not be in the store. */
  expectAlone(key: string): Expected {
    const expected = this.#expected.get(key) ?? Symbol('expected')
    this.#expected.set(key, expected)
    return expected
  }

  /**
   * Keeps the value that was found, if it is fresh and has not gone meanwhile; an older copy goes anyway.
   * @param found `null` if there is no value
   */
  found(
    key: string,
    expected: Expected | null,
    found: { readonly entry: Entry; readonly value: unknown } | null,
  ): void {
    const wanted = this.forgo(key, expected)
    this.#copies.delete(key)
    if (wanted && found !== null && freshnessOf(found.entry, 0) === 'fresh') this.#keep(key, found.entry, found.value)
  }

  /** Keeps what was loaded without a lease, unless it has gone meanwhile. */
  loaded(key: string, expected: Expected | null, loaded: LoadedFacts & { readonly payload: Buffer }): void {
    if (!this.forgo(key, expected)) return
    const { payload, ttl: freshFor, loadTime, validators, tags } = loaded
    const value = decodeEntry({ payload, age: 0 }, key, { codec: this.#codec, events: this.#events })
    // No token: no value in the store is this one.
    if (value !== null)
      this.#keep(key, { token: '', age: 0, freshFor, loadTime, validators, tags, payload }, value.value)
  }

  /** Nothing was found out. Returns whether it could have been kept. */
  forgo(key: string, expected: Expected | null): boolean {
    return expected !== null && this.#expected.get(key) === expected && this.#expected.delete(key)
  }

  /** What this process knows to be old. */
  forget(key: string): void {
    this.#expected.delete(key)
    this.#copies.delete(key)
  }

  drop(names: readonly string[]): void {
    for (const name of names) {
      if (name.startsWith(this.#namespace)) this.forget(name.slice(this.#namespace.length))
    }
  }

  dropTags(tags: readonly string[]): void {
    // Nobody knows yet what tags they have.
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

  #keep(key: string, entry: EntryFacts & Pick<Entry, 'tags' | 'payload'>, value: unknown): void {
    const { token, age, freshFor, loadTime, validators, tags, payload } = entry
    const { ttl, values } = this.#plan
    const at = this.#clock.now()
    const own = values === 'cloned' || (values === 'frozen' && !deepFreeze(value))
    const size = payload.length + 2 * key.length + 1
    const seen = { token, age, freshFor, loadTime, validators }
    // A copy of the bytes: those of the connection are a larger buffer, which they would keep.
    this.#copies.set(key, {
      value: own ? null : value,
      payload: own ? Buffer.from(payload) : null,
      seen,
      at,
      until: at + Math.min(ttl, freshFor),
      size,
      tags,
    })
    if (tags.length > 0 && this.#copies.has(key)) this.#tag(key, tags)
  }

  #anew(key: string, { seen, at }: Copy, payload: Buffer): Copy | undefined {
    const value = decodeEntry({ payload, age: seen.age }, key, { codec: this.#codec, events: this.#events })
    return value === null ? undefined : { value: value.value, seen, at }
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

/**
 * Freezes a value with all that it holds.
 * @returns `false`, and freezes nothing, if something in it could be changed all the same: a Map, a Date, a Buffer, an
 *   instance of a class
 */
export function deepFreeze(value: unknown): boolean {
  const found = new Set<object>()
  const rest: unknown[] = [value]
  while (rest.length > 0) {
    const next = rest.pop()
    if (typeof next === 'function') return false
    if (typeof next !== 'object' || next === null || found.has(next)) continue
    if (!Array.isArray(next) && !isPlain(next)) return false
    found.add(next)
    for (const each of Object.values(next)) rest.push(each)
  }
  for (const each of found) Object.freeze(each)
  return true
}

function isPlain(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object)
  // That of another realm, too.
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

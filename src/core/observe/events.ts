/*
 * Room: observe. Everything that a cache reports: events, statistics, metrics and traces. It decides nothing.
 *
 * Reading order: events.ts (the events), counters.ts (stats()), metering.ts (metrics for any backend), tracing.ts
 * (spans).
 */
import { channel, type Channel } from 'node:diagnostics_channel'
import type { Mode } from '../contract/mode.ts'
import { formatValue } from '../time/duration.ts'
import { warnOfThrown, type CacheError } from '../errors.ts'
import { Counters, type CacheStats } from './counters.ts'

/** The events of a cache: the name and the payload of each. Durations and ages are milliseconds. */
export interface CacheEvents {
  /**
   * A fresh value was served; `near` is present if it was a copy in this process, `missed` if its caller had missed
   * before.
   */
  hit: { key: string; near?: true; missed?: true }
  /** A stale value was served; `missed` is present if its caller had missed before. */
  stale: { key: string; age: number; missed?: true }
  /** A caller found no value to serve at once. */
  miss: { key: string }
  /** A loader starts here; `leased` is false without a lease (store away, or value known to be uncacheable). */
  load: { key: string; leased: boolean }
  /** A wait for a load in another process begins. */
  wait: { key: string }
  /** That wait has ended, with an answer, an error, or the lease for a load here. */
  waited: { key: string; duration: number }
  /** A caller that had missed was answered with a value or an error, `duration` after it asked. */
  answer: { key: string; duration: number }
  /** A hit makes this process claim the lease to refresh a value that is still fresh. */
  refreshAhead: { key: string }
  /** The store accepted a loaded value. */
  fill: { key: string; bytes: number; loadTime: number }
  /** A loaded value cannot be stored, as `error` says: it was given to callers of this process alone. */
  unstorable: { key: string; error: CacheError }
  /** A load ended after its lease was lost: nothing was written, and no caller was given its result. */
  refused: { key: string }
  /**
   * A lease was lost while its load was running; `blocked` is present if the event loop or the process was blocked for
   * at least so long, so that the lease could not be renewed.
   */
  lost: { key: string; error: CacheError; blocked?: number }
  /** A load failed or timed out, here or in another process, `duration` after this process first asked for it. */
  failure: { key: string; error: CacheError; duration: number }
  /** A value in the store could not be decoded or did not pass its schema, and counts as missing. */
  garbage: { key: string; cause: unknown }
  /** A key was invalidated or set through this cache; `soft` is present if it was expired. */
  invalidate: { key: string; soft?: true }
  /** Tags were invalidated through this cache; `soft` is present if softly. */
  invalidateTags: { tags: readonly string[]; soft?: true }
  /**
   * All keys with a prefix were invalidated through this cache; with an empty prefix, the whole namespace. `soft` is
   * present if softly.
   */
  invalidatePrefix: { prefix: string; soft?: true }
  /** `clear` of a cache without `prefixes` has invalidated so many keys by now. */
  clearing: { keys: number }
  /**
   * A command to the store failed or was not answered in time. While the circuit breaker is open, no command is sent.
   */
  storeFailure: { error: CacheError }
  /** The store stopped answering: the circuit breaker is open. */
  degraded: { error: CacheError }
  /** The store answers again, `after` milliseconds later. */
  recovered: { after: number }
  /** Outcomes are pushed to this process again, or no longer; without push, waiters poll. */
  push: { up: boolean }
  /** An invalidation failed and is kept for replay; `invalidations` are kept now. */
  kept: { invalidations: number; error: CacheError }
  /** All kept invalidations have been carried out. */
  replayed: { invalidations: number; after: number }
  /** A load waits for a permit of its source. */
  queued: { key: string; source: string }
  /** That wait has ended, with a permit or without one. */
  permitted: { key: string; source: string; duration: number }
  /**
   * How many permits this process holds of a source, for how many milliseconds the oldest, and how many of its loads wait:
   * at each change, and once a second while it holds any.
   */
  permits: { source: string; held: number; oldest: number; queued: number }
  /**
   * A load was refused: while the store was away, because too many loads queued for a place; or because of the limits of
   * its `source`.
   */
  overloaded: { key: string; queued: number; source?: string }
  /** Another mode is in force. */
  mode: { mode: Mode }
  /** An address had too many responses that differ by request fields: the oldest one was voided. */
  crowdedOut: { key: string; variants: number }
}

const names: Record<keyof CacheEvents, true> = {
  hit: true,
  stale: true,
  miss: true,
  load: true,
  wait: true,
  waited: true,
  answer: true,
  refreshAhead: true,
  fill: true,
  unstorable: true,
  refused: true,
  lost: true,
  failure: true,
  garbage: true,
  invalidate: true,
  invalidateTags: true,
  invalidatePrefix: true,
  clearing: true,
  storeFailure: true,
  degraded: true,
  recovered: true,
  push: true,
  kept: true,
  replayed: true,
  queued: true,
  permitted: true,
  permits: true,
  overloaded: true,
  mode: true,
  crowdedOut: true,
}

/** The names of all events. */
export const eventNames: readonly (keyof CacheEvents)[] = Object.keys(names) as (keyof CacheEvents)[]

/** The codes of the advice of layers above the cache, each with a row in `docs/warnings.md`. */
export type AdviceCode = 'HERDLESS_COOKIES' | 'HERDLESS_MAX_AGE'

/** Watches a cache without counting as a listener. */
export interface EventWatch {
  /** What to do at an event, after its listeners. */
  readonly at: { readonly [Name in keyof CacheEvents]?: (event: CacheEvents[Name]) => void }
  /** Receives each new `ttl` of an option or a call that is a number, in milliseconds. */
  numericTtl(ms: number): void
  /** Receives advice for the user of a layer above the cache, such as the response cache. */
  advise(code: AdviceCode, message: string): void
  /** The cache closes. */
  end(): void
}

type Listener<Name extends keyof CacheEvents> = (event: CacheEvents[Name]) => void

/**
 * The events of one cache. Each goes to its listeners, to the channel `herdless:<name>` of node:diagnostics_channel
 * (with the namespace added), and to the counters. A hit without listeners costs only the counter.
 */
export class Events {
  /** Each array is replaced, never changed: a listener may add and remove others while an event is told. */
  readonly #listeners = new Map<keyof CacheEvents, readonly ((event: never) => void)[]>()
  readonly #namespace: string
  // Held here because Node.js forgets a channel without references.
  readonly #channels: Record<keyof CacheEvents, Channel>

  readonly #tally = new Counters()
  #watch: EventWatch | null = null

  constructor(namespace = 'herdless') {
    this.#namespace = namespace
    const channels = eventNames.map((name) => [name, channel(`herdless:${name}`)])
    this.#channels = Object.fromEntries(channels) as Record<keyof CacheEvents, Channel>
  }

  heard(name: keyof CacheEvents): boolean {
    return this.#listeners.has(name) || this.#channels[name].hasSubscribers
  }

  /** Begins a watch; a cache has one at most. Hits and stale hits are not watched. */
  watch(watch: EventWatch): void {
    this.#watch = watch
  }

  endWatch(): void {
    this.#watch?.end()
    this.#watch = null
  }

  /** A `ttl` was given in this form, or none. */
  ttlGiven(ttl: unknown): void {
    if (typeof ttl === 'number') this.#watch?.numericTtl(ttl)
  }

  /** Gives advice to the user of a layer above the cache, such as the response cache. */
  advise(code: AdviceCode, message: string): void {
    this.#watch?.advise(code, message)
  }

  /** The statistics, which are counted with or without listeners. */
  stats(mode: Mode): CacheStats {
    return this.#tally.stats(this.#namespace, mode)
  }

  /** @param missed whether the caller had found no value to serve at once */
  hit(key: string, missed = false): void {
    if (!missed) this.#tally.hits++
    if (this.heard('hit')) this.#publish('hit', missed ? { key, missed } : { key })
  }

  /**
   * A hit of the near tier.
   * @param missed as for `hit`
   */
  nearHit(key: string, missed = false): void {
    if (!missed) this.#tally.nearHits++
    if (this.#listeners.size === 0 && !this.#channels.hit.hasSubscribers) return
    this.#publish('hit', missed ? { key, near: true, missed } : { key, near: true })
  }

  /** @param missed as for `hit` */
  stale(key: string, age: number, missed: boolean): void {
    if (!missed) this.#tally.stale++
    this.#publish('stale', missed ? { key, age, missed } : { key, age })
  }

  /** Reports an event other than `hit` and `stale`. */
  emit<Name extends Exclude<keyof CacheEvents, 'hit' | 'stale'>>(name: Name, event: CacheEvents[Name]): void {
    this.#tally.told(name, event as { loadTime?: number })
    this.#publish(name, event)
    this.#watch?.at[name]?.(event)
  }

  /**
   * Adds a listener; returns a function that removes it.
   * @throws TypeError for an unknown event, because its listener would never be called
   */
  on<Name extends keyof CacheEvents>(name: Name, listener: Listener<Name>): () => void {
    if (!Object.hasOwn(names, name)) {
      throw new TypeError(`Expected one of the events ${eventNames.join(', ')}, got ${formatValue(name)}`)
    }
    if (typeof listener !== 'function')
      throw new TypeError(`Expected a listener function, got ${formatValue(listener)}`)
    this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), listener])
    let isOn = true
    return () => {
      if (isOn) this.#remove(name, listener)
      isOn = false
    }
  }

  #remove(name: keyof CacheEvents, listener: (event: never) => void): void {
    const listeners = this.#listeners.get(name) ?? []
    const at = listeners.indexOf(listener)
    if (listeners.length > 1) this.#listeners.set(name, listeners.toSpliced(at, 1))
    else this.#listeners.delete(name)
  }

  #publish<Name extends keyof CacheEvents>(name: Name, event: CacheEvents[Name]): void {
    const listeners = this.#listeners.get(name)
    if (listeners !== undefined) tell(name, event, listeners as readonly Listener<Name>[])
    const there = this.#channels[name]
    // Node.js turns an error of a subscriber into an uncaught exception, after this call.
    if (there.hasSubscribers) there.publish({ namespace: this.#namespace, ...event })
  }
}

/** Events that nobody is told of. */
export class SilentEvents extends Events {
  override emit(): void {}
}

/** A listener must not be able to break a load, and its error must not vanish. */
function warnOf(name: string, error: unknown): void {
  warnOfThrown(`A listener of '${name}'`, error)
}

function tell<Name extends keyof CacheEvents>(
  name: Name,
  event: CacheEvents[Name],
  listeners: readonly Listener<Name>[],
): void {
  for (const listener of listeners) {
    try {
      const told: unknown = listener(event)
      if (told instanceof Promise) told.catch((error: unknown) => warnOf(name, error))
    } catch (error) {
      warnOf(name, error)
    }
  }
}

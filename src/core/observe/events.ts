import { channel, type Channel } from 'node:diagnostics_channel'
import { formatValue } from '../time/duration.ts'
import { messageOf, type CacheError } from '../errors.ts'
import { Counters, type CacheStats } from './counters.ts'

/** What a cache tells whoever listens: the name of each event and what comes with it. Durations are milliseconds. */
export interface CacheEvents {
  /** A fresh value was served; `near` is there if it was a copy in this process. */
  hit: { key: string; near?: true }
  /** A stale value was served. */
  stale: { key: string; age: number }
  /** A caller found no value to serve at once. */
  miss: { key: string }
  /** A loader starts here; `leased` is false when it runs without a lease (store away, or known uncacheable). */
  load: { key: string; leased: boolean }
  /** A load in another process is waited for. */
  wait: { key: string }
  /** That wait is over, whatever came of it: an answer, an error, or the lease for a load here. */
  waited: { key: string; duration: number }
  /** A caller that had found no value to serve at once was answered, with a value or an error, so long after it asked. */
  answer: { key: string; duration: number }
  /** A hit has this process ask for the lease to refresh a value that is still fresh. */
  refreshAhead: { key: string }
  /** A loaded value was accepted by the store. */
  fill: { key: string; bytes: number; loadTime: number }
  /** A load ended after its lease was gone: nothing was written and nobody was answered with it. */
  refused: { key: string }
  /** A held lease was lost while its load was running. */
  lost: { key: string; error: CacheError }
  /** A load failed or timed out, here or in another process, so long after this process had begun to ask for it. */
  failure: { key: string; error: CacheError; duration: number }
  /** A value in the store could not be decoded, and counts as missing. */
  garbage: { key: string; cause: unknown }
  /** A key was invalidated or set through this cache. */
  invalidate: { key: string }
  /** Tags were invalidated through this cache. */
  invalidateTags: { tags: readonly string[] }
  /** All keys with a prefix were invalidated through this cache; with an empty one, all of the namespace. */
  invalidatePrefix: { prefix: string }
  /** A command to the store failed or was not answered in time; while the store is known to be silent, none is sent. */
  storeFailure: { error: CacheError }
  /** The store stopped answering. */
  degraded: { error: CacheError }
  /** The store answers again. */
  recovered: { after: number }
  /** Outcomes cease to be pushed to this process, so that those who wait ask again from time to time; or they are again. */
  push: { up: boolean }
  /** An invalidation could not be carried out and is kept, with so many others. */
  kept: { invalidations: number; error: CacheError }
  /** All invalidations that were kept have been carried out. */
  replayed: { invalidations: number; after: number }
  /** While the store was away, a load was refused because too many queued for a place. */
  overloaded: { key: string; queued: number }
  /** An address had more than so many responses that differ by request fields: the one stored first was voided. */
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
  refused: true,
  lost: true,
  failure: true,
  garbage: true,
  invalidate: true,
  invalidateTags: true,
  invalidatePrefix: true,
  storeFailure: true,
  degraded: true,
  recovered: true,
  push: true,
  kept: true,
  replayed: true,
  overloaded: true,
  crowdedOut: true,
}

/** The names of all events. */
export const eventNames: readonly (keyof CacheEvents)[] = Object.keys(names) as (keyof CacheEvents)[]

type Listener<Name extends keyof CacheEvents> = (event: CacheEvents[Name]) => void

/**
 * What one cache tells: to listeners by event, and to the channels of node:diagnostics_channel, `herdless:` and the name,
 * that are told the same and the namespace. It is counted too; a hit that nobody listens to costs no more than that.
 */
export class Events {
  readonly #listeners = new Map<keyof CacheEvents, Set<(event: never) => void>>()
  readonly #namespace: string
  // Node forgets a channel that nobody refers to.
  readonly #channels: Record<keyof CacheEvents, Channel>

  readonly #tally: Counters

  /** @param topKeys how many of the keys that are asked for by herds are to be named; keys may be private */
  constructor(namespace = 'herdless', topKeys = 0) {
    this.#namespace = namespace
    this.#tally = new Counters(topKeys)
    const channels = eventNames.map((name) => [name, channel(`herdless:${name}`)])
    this.#channels = Object.fromEntries(channels) as Record<keyof CacheEvents, Channel>
  }

  heard(name: keyof CacheEvents): boolean {
    return this.#listeners.has(name) || this.#channels[name].hasSubscribers
  }

  /** What has been counted, whether anybody listens or not. */
  stats(): CacheStats {
    return this.#tally.stats(this.#namespace)
  }

  /** @param missed whether this caller had found nothing to serve at once */
  hit(key: string, missed = false): void {
    if (!missed) this.#tally.hits++
    if (this.heard('hit')) this.#publish('hit', { key })
  }

  /** A hit of the near tier. @param missed as for a hit */
  nearHit(key: string, missed = false): void {
    if (!missed) this.#tally.nearHits++
    if (this.#listeners.size > 0 || this.#channels.hit.hasSubscribers) this.#publish('hit', { key, near: true })
  }

  /** @param missed as for a hit */
  stale(key: string, age: number, missed: boolean): void {
    if (!missed) this.#tally.stale++
    this.#publish('stale', { key, age })
  }

  /** A caller joins a load that is under way. */
  joined(key: string): void {
    this.#tally.joined(key)
  }

  /** An event other than a hit or a stale one. */
  emit<Name extends Exclude<keyof CacheEvents, 'hit' | 'stale'>>(name: Name, event: CacheEvents[Name]): void {
    this.#tally.told(name, event as { key?: string; loadTime?: number })
    this.#publish(name, event)
  }

  /** Throws TypeError for an event that there is not: nobody would ever hear of it. */
  on<Name extends keyof CacheEvents>(name: Name, listener: Listener<Name>): () => void {
    if (!Object.hasOwn(names, name)) {
      throw new TypeError(`Expected one of the events ${eventNames.join(', ')}, got ${formatValue(name)}`)
    }
    if (typeof listener !== 'function')
      throw new TypeError(`Expected a listener function, got ${formatValue(listener)}`)
    const listeners = this.#listeners.get(name) ?? new Set()
    listeners.add(listener)
    this.#listeners.set(name, listeners)
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0) this.#listeners.delete(name)
    }
  }

  #publish<Name extends keyof CacheEvents>(name: Name, event: CacheEvents[Name]): void {
    const listeners = this.#listeners.get(name)
    if (listeners !== undefined) tell(name, event, listeners as Set<Listener<Name>>)
    const there = this.#channels[name]
    // What a subscriber throws Node makes an uncaught exception, after this.
    if (there.hasSubscribers) there.publish({ namespace: this.#namespace, ...event })
  }
}

function tell<Name extends keyof CacheEvents>(
  name: Name,
  event: CacheEvents[Name],
  listeners: ReadonlySet<Listener<Name>>,
): void {
  for (const listener of listeners) {
    try {
      listener(event)
    } catch (error) {
      // A listener must not be able to break a load, and its error must not vanish.
      process.emitWarning(
        `A listener of '${name}' threw: ${messageOf(error instanceof Error ? error.stack : error)}`,
        'HerdlessWarning',
      )
    }
  }
}

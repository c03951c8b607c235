import { shown } from './duration.ts'
import { said, type CacheError } from './errors.ts'

/** What a cache tells whoever listens: the name of each event and what comes with it. Durations are milliseconds. */
export interface CacheEvents {
  /** A fresh value was served. */
  hit: { key: string }
  /** A stale value was served. */
  stale: { key: string; age: number }
  /** A caller found no value to serve at once. */
  miss: { key: string }
  /** A loader starts here; `leased` is false when it runs without a lease (store away, or known uncacheable). */
  load: { key: string; leased: boolean }
  /** A load in another process is waited for. */
  wait: { key: string }
  /** A loaded value was accepted by the store. */
  fill: { key: string; bytes: number; loadTime: number }
  /** A load ended after its lease was gone: nothing was written and nobody was answered with it. */
  refused: { key: string }
  /** A held lease was lost while its load was running. */
  lost: { key: string; error: CacheError }
  /** A load failed or timed out, here or in another process. */
  failure: { key: string; error: CacheError }
  /** A value in the store could not be decoded, and counts as missing. */
  garbage: { key: string; cause: unknown }
  /** A key was invalidated or set through this cache. */
  invalidate: { key: string }
  /** Tags were invalidated through this cache. */
  invalidateTags: { tags: readonly string[] }
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
}

const names: Record<keyof CacheEvents, true> = {
  hit: true,
  stale: true,
  miss: true,
  load: true,
  wait: true,
  fill: true,
  refused: true,
  lost: true,
  failure: true,
  garbage: true,
  invalidate: true,
  invalidateTags: true,
  storeFailure: true,
  degraded: true,
  recovered: true,
  push: true,
  kept: true,
  replayed: true,
  overloaded: true,
}

type Listener<Name extends keyof CacheEvents> = (event: CacheEvents[Name]) => void

/** Listeners by event. Nothing is made for an event that nobody listens to: ask `heard` first where it matters. */
export class Events {
  readonly #listeners = new Map<keyof CacheEvents, Set<(event: never) => void>>()

  heard(name: keyof CacheEvents): boolean {
    return this.#listeners.has(name)
  }

  emit<Name extends keyof CacheEvents>(name: Name, event: CacheEvents[Name]): void {
    const listeners = this.#listeners.get(name)
    if (listeners === undefined) return
    for (const listener of listeners as Set<Listener<Name>>) {
      try {
        listener(event)
      } catch (error) {
        // A listener must not be able to break a load, and its error must not vanish.
        process.emitWarning(
          `A listener of '${name}' threw: ${said(error instanceof Error ? error.stack : error)}`,
          'HerdlessWarning',
        )
      }
    }
  }

  /** Throws TypeError for an event that there is not: nobody would ever hear of it. */
  on<Name extends keyof CacheEvents>(name: Name, listener: Listener<Name>): () => void {
    if (!Object.hasOwn(names, name)) {
      throw new TypeError(`Expected one of the events ${Object.keys(names).join(', ')}, got ${shown(name)}`)
    }
    if (typeof listener !== 'function') throw new TypeError(`Expected a listener function, got ${shown(listener)}`)
    const listeners = this.#listeners.get(name) ?? new Set()
    listeners.add(listener)
    this.#listeners.set(name, listeners)
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0) this.#listeners.delete(name)
    }
  }
}

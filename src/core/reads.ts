import type { CacheError } from './errors.ts'
import type { Stale } from './load.ts'
import { decoded } from './payload.ts'
import type { Shared } from './shared.ts'
import type { Entry } from './store.ts'
import { isVoided } from './tags.ts'

/**
 * What a read found, and when it was sent: an entry and its value; the same, but older than a value that callers here have
 * been given; bytes that are no value of ours; or nothing.
 */
export type Found =
  | { readonly state: 'entry' | 'older'; readonly entry: Entry; readonly value: unknown; readonly at: number }
  | { readonly state: 'garbage'; readonly entry: Entry }
  | { readonly state: 'nothing' }

interface Read {
  readonly found: Promise<Found>
  readonly send: (now: number) => void
}

/**
 * Reads of one cache, one per key and tick: callers of the same tick share the read and its decoded value.
 * Nobody joins a read that has been sent: an invalidation could lie between it and the question. So none is sent
 * before its tick has ended.
 */
export class Reads {
  readonly #shared: Shared
  #thisTick = new Map<string, Read>()

  constructor(shared: Shared) {
    this.#shared = shared
  }

  /** @param tags those that its value probably has */
  read(key: string, tags: readonly string[]): Promise<Found> {
    const joined = this.#thisTick.get(key)
    if (joined !== undefined) return joined.found
    if (this.#thisTick.size === 0) process.nextTick(this.#endTick)
    let send!: (now: number) => void
    const found = new Promise<Found>((resolve, reject) => {
      send = (now) => {
        const { store, named, tagNames, near } = this.#shared
        const all = tagNames.of(key, tags)
        if (near === null) {
          return store.readInto(named(key), all, now, (entry) => resolve(this.#found(key, entry, now)), reject)
        }
        const expected = near.expect(key)
        const found = (entry: Entry | null): void => {
          const found = this.#found(key, entry, now)
          near.found(key, expected, found.state === 'entry' ? found : null)
          resolve(found)
        }
        const failed = (error: CacheError): void => {
          near.forgo(key, expected)
          reject(error)
        }
        store.readInto(named(key), all, now, found, failed)
      }
    })
    this.#thisTick.set(key, { found, send })
    return found
  }

  readonly #endTick = (): void => {
    const reads = this.#thisTick
    this.#thisTick = new Map()
    const now = this.#shared.clock.now()
    for (const { send } of reads.values()) send(now)
  }

  #found(key: string, entry: Entry | null, at: number): Found {
    if (entry === null) return { state: 'nothing' }
    const value = decoded(entry, key, this.#shared)
    if (value === null) return { state: 'garbage', entry }
    const state = this.#shared.unstored.isOlder(key, entry) ? 'older' : 'entry'
    return { state, entry, value: value.value, at }
  }
}

/** The value of an entry; `null` for bytes that are no value of ours, and for one older than callers here have been given. */
export function usable(entry: Entry, key: string, shared: Shared): Stale | null {
  return shared.unstored.isOlder(key, entry) ? null : decoded(entry, key, shared)
}

/**
 * How far estimates of the store's clock may be off, in milliseconds: by so much a value may have expired before a caller
 * began to wait for it. A ttl shorter than that would else make a load for each process.
 */
export const clocksDiffer = 25

/**
 * The value that was waited for, by the token of its load: it counts even if it has expired since the caller joined the
 * wait, and as long as it is there, nothing was invalidated.
 * @param waited for how long the caller has waited, in milliseconds
 */
export function awaitedIn(
  read: Found | CacheError,
  token: string | null,
  waited: number,
): { readonly value: unknown } | null {
  if (!('entry' in read) || read.state !== 'entry' || read.entry.token !== token) return null
  return isVoided(read.entry) || read.entry.freshFor <= -waited - clocksDiffer ? null : read
}

import type { Shared } from './flight.ts'
import { decoded } from './payload.ts'
import type { Entry } from './store.ts'

/** What a read found: an entry and its value, bytes that are no value of ours, or nothing. */
export type Found =
  | { readonly state: 'entry'; readonly entry: Entry; readonly value: unknown; readonly at: number }
  | { readonly state: 'garbage'; readonly entry: Entry }
  | { readonly state: 'nothing' }

/**
 * Reads of one cache, one per key and tick: callers of the same tick share the read and its decoded value.
 * Nobody joins a read that may have been sent already: an invalidation could lie between it and the question.
 */
export class Reads {
  readonly #shared: Shared
  readonly #thisTick = new Map<string, Promise<Found>>()

  constructor(shared: Shared) {
    this.#shared = shared
  }

  read(key: string): Promise<Found> {
    const shared = this.#thisTick.get(key)
    if (shared !== undefined) return shared
    // Before the store's own end of tick, at which it sends what was read in this one.
    if (this.#thisTick.size === 0) process.nextTick(this.#endTick)
    const found = this.#shared.store.read(this.#shared.named(key)).then((entry) => this.#found(key, entry))
    this.#thisTick.set(key, found)
    return found
  }

  readonly #endTick = (): void => this.#thisTick.clear()

  #found(key: string, entry: Entry | null): Found {
    if (entry === null) return { state: 'nothing' }
    const value = decoded(entry, key, this.#shared)
    if (value === null) return { state: 'garbage', entry }
    return { state: 'entry', entry, value: value.value, at: this.#shared.clock.now() }
  }
}

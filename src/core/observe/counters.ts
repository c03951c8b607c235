/** What a cache has done in this process since it was opened. */
export interface CacheStats {
  readonly namespace: string
  /** Calls that were served a fresh value at once. */
  readonly hits: number
  /** Those of them that were served a copy in this process. */
  readonly nearHits: number
  /** Calls that were served a stale value at once. */
  readonly stale: number
  /** Calls that found no value to serve at once. */
  readonly misses: number
  /** Loaders that were started here. */
  readonly loads: number
  /** Loads of other processes that were waited for. */
  readonly waits: number
  /** Loads that failed, here or in a process that was waited for. */
  readonly failures: number
  /** The part of the calls that was served at once, from 0 to 1; `null` before the first call. */
  readonly hitRatio: number | null
  /** How many calls had no load started here: each would have been one without a cache. */
  readonly loadsSaved: number
  /** The time of so many loads, each as long as those that were stored from here were on average; `null` if there was none. */
  readonly secondsSaved: number | null
  /** The keys that most callers asked for while a load of them was under way. Empty unless `stats: { topKeys }` asks for it. */
  readonly topKeys: readonly TopKey[]
}

/** Counts what a cache does. */
export class Counters {
  /** Of the store, and of the near tier. */
  hits = 0
  nearHits = 0
  stale = 0
  readonly #told: Record<string, number> = { miss: 0, load: 0, wait: 0, failure: 0, fill: 0 }
  #loadTime = 0
  readonly #herds: TopKeys | null
  readonly #shown: number

  /** @param topKeys how many keys are named; 0 for none, and none are kept */
  constructor(topKeys = 0) {
    this.#shown = topKeys
    // More than are shown: the last of them are the least exact.
    this.#herds = topKeys === 0 ? null : new TopKeys(Math.max(50, 2 * topKeys))
  }

  /** An event other than `hit` and `stale`. */
  told(name: string, event: { readonly key?: string; readonly loadTime?: number }): void {
    const before = this.#told[name]
    if (before === undefined) return
    this.#told[name] = before + 1
    if (name === 'fill') this.#loadTime += event.loadTime ?? 0
    if (name === 'wait' && event.key !== undefined) this.joined(event.key)
  }

  /** Somebody would have loaded this key, had not another begun to. */
  joined(key: string): void {
    this.#herds?.count(key)
  }

  stats(namespace: string): CacheStats {
    const { nearHits, stale } = this
    const hits = this.hits + nearHits
    const { miss: misses = 0, load: loads = 0, wait: waits = 0, failure: failures = 0, fill: fills = 0 } = this.#told
    const calls = hits + stale + misses
    const loadsSaved = Math.max(0, calls - loads)
    return {
      namespace,
      hits,
      nearHits,
      stale,
      misses,
      loads,
      waits,
      failures,
      hitRatio: calls === 0 ? null : (hits + stale) / calls,
      loadsSaved,
      secondsSaved: fills === 0 ? null : (loadsSaved * this.#loadTime) / fills / 1_000,
      topKeys: this.#herds?.top(this.#shown) ?? [],
    }
  }
}

/** A key, and how often it was counted: as often or up to `error` times less. */
export interface TopKey {
  readonly key: string
  readonly count: number
  readonly error: number
}

interface Counter {
  count: number
  readonly error: number
}

/**
 * The keys that were counted most often, in bounded memory: Space-Saving, of A. Metwally, D. Agrawal, A. El Abbadi,
 * "Efficient Computation of Frequent and Top-k Elements in Data Streams" (ICDT 2005). None is counted too rarely, and each
 * that is more than one part in `size` of all that was counted is there.
 */
export class TopKeys {
  readonly #size: number
  readonly #counters = new Map<string, Counter>()

  /** @param size how many counters there are, at least 1 */
  constructor(size: number) {
    this.#size = size
  }

  count(key: string): void {
    const counter = this.#counters.get(key)
    if (counter !== undefined) return void counter.count++
    // A new key takes the place of the least counted, and its count: it may have been counted that often before.
    const error = this.#counters.size < this.#size ? 0 : this.#dropLeast()
    this.#counters.set(key, { count: error + 1, error })
  }

  /** The most counted first. */
  top(most: number): TopKey[] {
    const keys = Array.from(this.#counters, ([key, { count, error }]) => ({ key, count, error }))
    return keys.toSorted((a, b) => b.count - a.count).slice(0, most)
  }

  #dropLeast(): number {
    let least = { key: '', count: Number.POSITIVE_INFINITY }
    for (const [key, { count }] of this.#counters) if (count < least.count) least = { key, count }
    this.#counters.delete(least.key)
    return least.count
  }
}

/** The statistics of a cache in this process since it was opened. */
export interface CacheStats {
  readonly namespace: string
  /** Calls that were served a fresh value at once. */
  readonly hits: number
  /** The hits that were served from a copy in this process. */
  readonly nearHits: number
  /** Calls that were served a stale value at once. */
  readonly stale: number
  /** Calls that found no value to serve at once. */
  readonly misses: number
  /** Loaders that were started here. */
  readonly loads: number
  /** Waits for loads of other processes. */
  readonly waits: number
  /** Failed loads, here or in the process that was waited for. */
  readonly failures: number
  /** Values in the store that counted as missing: they could not be decoded, or did not pass their schema. */
  readonly garbage: number
  /** The part of the calls that were served at once, from 0 to 1, to four digits; `null` before the first call. */
  readonly hitRatio: number | null
  /** Calls for which no load was started here; without a cache, each would have been a load. */
  readonly loadsSaved: number
  /**
   * The time of the saved loads, in seconds to the millisecond, by the average of the loads stored from here; `null`
   * before the first fill.
   */
  readonly secondsSaved: number | null
  /** The keys with the most callers during their loads. Empty unless `stats: { topKeys }` asks for it. */
  readonly topKeys: readonly TopKey[]
}

/** The counters of a cache. */
export class Counters {
  /** Hits of the store; those of the near tier are counted apart. */
  hits = 0
  nearHits = 0
  stale = 0
  readonly #told: Record<string, number> = { miss: 0, load: 0, wait: 0, failure: 0, fill: 0, garbage: 0 }
  #loadTime = 0
  readonly #herds: TopKeys | null
  readonly #shown: number

  /** @param topKeys how many keys to name; 0 for none, and then no key is kept */
  constructor(topKeys = 0) {
    this.#shown = topKeys
    // More than are shown: the last counters are the least exact.
    this.#herds = topKeys === 0 ? null : new TopKeys(Math.max(50, 2 * topKeys))
  }

  /** Counts an event other than `hit` and `stale`. */
  told(name: string, event: { readonly key?: string; readonly loadTime?: number }): void {
    const before = this.#told[name]
    if (before === undefined) return
    this.#told[name] = before + 1
    if (name === 'fill') this.#loadTime += event.loadTime ?? 0
    if (name === 'wait' && event.key !== undefined) this.joined(event.key, 1)
  }

  /** Counts callers that would have loaded this key, had no load been under way. */
  joined(key: string, callers: number): void {
    this.#herds?.count(key, callers)
  }

  stats(namespace: string): CacheStats {
    const { nearHits, stale } = this
    const hits = this.hits + nearHits
    const { miss: misses = 0, load: loads = 0, wait: waits = 0, failure: failures = 0 } = this.#told
    const { fill: fills = 0, garbage = 0 } = this.#told
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
      garbage,
      hitRatio: calls === 0 ? null : rounded((hits + stale) / calls, 4),
      loadsSaved,
      secondsSaved: fills === 0 ? null : rounded((loadsSaved * this.#loadTime) / fills / 1_000, 3),
      topKeys: this.#herds?.top(this.#shown) ?? [],
    }
  }
}

function rounded(figure: number, digits: number): number {
  return Number(figure.toFixed(digits))
}

/** A key and its count, which is too high by at most `error`. */
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
 * The most frequent keys in bounded memory: Space-Saving, of A. Metwally, D. Agrawal, A. El Abbadi, "Efficient
 * Computation of Frequent and Top-k Elements in Data Streams" (ICDT 2005). No count is too low, and every key with more
 * than one part in `size` of all counts is present.
 */
export class TopKeys {
  readonly #size: number
  readonly #counters = new Map<string, Counter>()

  /** @param size the number of counters, at least 1 */
  constructor(size: number) {
    this.#size = size
  }

  count(key: string, times = 1): void {
    const counter = this.#counters.get(key)
    if (counter !== undefined) return void (counter.count += times)
    // A new key takes the place and the count of the least frequent one, because it may have been counted that often
    // before.
    const error = this.#counters.size < this.#size ? 0 : this.#dropLeast()
    this.#counters.set(key, { count: error + times, error })
  }

  /** The keys with the highest counts, highest first. */
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

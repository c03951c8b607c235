import type { Mode } from '../contract/mode.ts'

/** The statistics of a cache in this process since it was opened. */
export interface CacheStats {
  readonly namespace: string
  /** The mode that is in force now. */
  readonly mode: Mode
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
}

/** The counters of a cache. */
export class Counters {
  /** Hits of the store; those of the near tier are counted apart. */
  hits = 0
  nearHits = 0
  stale = 0
  readonly #told: Record<string, number> = { miss: 0, load: 0, wait: 0, failure: 0, fill: 0, garbage: 0 }
  #loadTime = 0

  /** Counts an event other than `hit` and `stale`. */
  told(name: string, event: { readonly loadTime?: number }): void {
    const before = this.#told[name]
    if (before === undefined) return
    this.#told[name] = before + 1
    if (name === 'fill') this.#loadTime += event.loadTime ?? 0
  }

  stats(namespace: string, mode: Mode): CacheStats {
    const { nearHits, stale } = this
    const hits = this.hits + nearHits
    const { miss: misses = 0, load: loads = 0, wait: waits = 0, failure: failures = 0 } = this.#told
    const { fill: fills = 0, garbage = 0 } = this.#told
    const calls = hits + stale + misses
    const loadsSaved = Math.max(0, calls - loads)
    return {
      namespace,
      mode,
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
    }
  }
}

function rounded(figure: number, digits: number): number {
  return Number(figure.toFixed(digits))
}

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

import type { SourcePlan } from '../options/source-plan.ts'

/** How much a new load changes the mean time of loads. */
const newest = 0.1

/** How fast a source loads. */
export class Pace {
  /** The mean time of a load, in milliseconds; 0 before the first has ended. */
  #loadTime = 0

  /** @param took how long a load took, in milliseconds */
  ended(took: number): void {
    this.#loadTime = this.#loadTime === 0 ? took : this.#loadTime + newest * (took - this.#loadTime)
  }

  /**
   * How long a load waits for its turn, in milliseconds; 0 if that is not known.
   * @param ahead how many loads come before it
   * @param now.oldest how long the oldest of the running loads has been running, if that matters: a source may have become
   *   slower than its mean says
   */
  waitOf(
    ahead: number,
    now: { readonly running: number; readonly oldest: number },
    { concurrency, rate }: Pick<SourcePlan, 'concurrency' | 'rate'>,
  ): number {
    const loadTime = this.#loadTime === 0 ? 0 : Math.max(this.#loadTime, now.oldest)
    const after = (loads: number, most: number): number => Math.max(0, loads - most) / most
    const byPlaces = concurrency === null ? 0 : after(ahead + now.running + 1, concurrency) * loadTime
    const byRate = rate === null ? 0 : after(ahead + 1, rate.loads) * rate.per
    return Math.max(byPlaces, byRate)
  }
}

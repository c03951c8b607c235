import { mostSteps, rateSteps } from '../contract/permits.ts'

/** A limit on what is granted within a time, in milliseconds. */
interface Rate {
  readonly loads: number
  readonly per: number
}

/** The recent grants, counted in steps: a step counts until its end has left the window of a rate. */
export class RateWindow {
  /** The oldest first. */
  #steps: { readonly at: number; count: number }[] = []

  /** How much may be granted now by all of these rates; if nothing, after how many milliseconds there may be more. */
  room(rates: readonly Rate[], now: number): { readonly left: number; readonly again: number | null } {
    const longest = longestOf(rates)
    // None is in the future, unless the clock was set back.
    this.#steps = this.#steps.filter(({ at }) => at + longest > now && at <= now + longest)
    let [left, wait] = [Number.POSITIVE_INFINITY, 0]
    for (const { loads, per } of rates) {
      const within = this.#steps.filter(({ at }) => at + per > now)
      const rest = within.reduce((sum, { count }) => sum - count, loads)
      left = Math.min(left, rest)
      const [first] = within
      if (rest <= 0 && first !== undefined) wait = Math.max(wait, first.at + per - now + 1)
    }
    return { left, again: wait === 0 ? null : wait }
  }

  note(granted: number, rates: readonly Rate[], now: number): void {
    const shortest = Math.min(...rates.map(({ per }) => per))
    const step = Math.max(1, Math.floor(shortest / rateSteps), Math.ceil(longestOf(rates) / mostSteps))
    const at = Math.ceil(now / step) * step
    const last = this.#steps.at(-1)
    // A later one is from when only rates with a longer `per` counted.
    if (last !== undefined && last.at >= at) last.count += granted
    else this.#steps.push({ at, count: granted })
  }
}

function longestOf(rates: readonly Rate[]): number {
  return Math.max(...rates.map(({ per }) => per))
}

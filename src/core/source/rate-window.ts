import { rateSteps } from '../contract/permits.ts'

/** A limit on what is granted within a time, in milliseconds. */
interface Rate {
  readonly loads: number
  readonly per: number
}

/** What was granted of late, counted in steps: a step counts until its end has left the window. */
export class RateWindow {
  #steps: { readonly at: number; count: number }[] = []

  /** How much may be granted now. */
  left({ loads, per }: Rate, now: number): number {
    // None is in the future, unless the clock was set back.
    this.#steps = this.#steps.filter(({ at }) => at + per > now && at <= now + per)
    return loads - this.#steps.reduce((sum, { count }) => sum + count, 0)
  }

  /** After how long more may be granted, in milliseconds; `null` if nothing was granted of late. */
  again({ per }: Rate, now: number): number | null {
    const [first] = this.#steps
    return first === undefined ? null : first.at + per - now + 1
  }

  note(granted: number, { per }: Rate, now: number): void {
    const step = Math.max(1, Math.floor(per / rateSteps))
    const at = Math.ceil(now / step) * step
    const last = this.#steps.at(-1)
    if (last?.at === at) last.count += granted
    else this.#steps.push({ at, count: granted })
  }
}

import type { Clock, Timer } from './clock.ts'
import { longestTimer } from './duration.ts'

/** Something that ends at a moment of the clock, unless it ended before. */
export interface Due {
  expire(): void
}

interface Moment {
  readonly timer: Timer
  readonly due: Set<Due>
}

/** Deadlines, of which those of the same millisecond share a timer: a crowd that waits for one answer asked at once. */
export class Deadlines {
  readonly #clock: Clock
  readonly #kind: 'background' | undefined
  readonly #moments = new Map<number, Moment>()

  /** @param kind `background`: they do not keep the process alive */
  constructor(clock: Clock, kind?: 'background') {
    this.#clock = clock
    this.#kind = kind
  }

  /** @param at by the clock, in milliseconds; the deadline is over at the end of that millisecond */
  add(at: number, due: Due): void {
    const ms = Math.ceil(at)
    const moment = this.#moments.get(ms)
    if (moment !== undefined) return void moment.due.add(due)
    // What is rounded up may be more than a timer takes, which would then ring at once.
    const left = Math.min(longestTimer, Math.max(0, ms - this.#clock.now()))
    const timer = this.#clock.after(left, () => this.#ring(ms), this.#kind)
    this.#moments.set(ms, { timer, due: new Set([due]) })
  }

  /** Takes a deadline back. */
  delete(at: number, due: Due): void {
    const ms = Math.ceil(at)
    const moment = this.#moments.get(ms)
    if (moment === undefined || !moment.due.delete(due) || moment.due.size > 0) return
    moment.timer.cancel()
    this.#moments.delete(ms)
  }

  #ring(ms: number): void {
    const moment = this.#moments.get(ms)
    this.#moments.delete(ms)
    for (const due of moment?.due ?? []) due.expire()
  }
}

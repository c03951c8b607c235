import type { Clock, Timer } from './clock.ts'

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
  readonly #moments = new Map<number, Moment>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @param at by the clock, in milliseconds; the deadline is over at the end of that millisecond */
  add(at: number, due: Due): void {
    const ms = Math.ceil(at)
    const moment = this.#moments.get(ms)
    if (moment !== undefined) return void moment.due.add(due)
    const timer = this.#clock.after(Math.max(0, ms - this.#clock.now()), () => this.#ring(ms))
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

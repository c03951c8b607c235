import type { Clock, Timer } from './clock.ts'
import { longestTimer } from './duration.ts'

/** Something that ends at a moment of the clock, unless it ended before. */
export interface Due {
  expire(): void
}

/** The timer of one millisecond. */
interface Shared {
  readonly timer: Timer
  readonly due: Set<Due>
}

/** Deadlines, of which those of the same millisecond share a timer: a crowd that waits for one answer asked at once. */
export class Deadlines {
  readonly #clock: Clock
  readonly #kind: 'background' | undefined
  readonly #timers = new Map<number, Shared>()

  /** @param kind `background`: they do not keep the process alive */
  constructor(clock: Clock, kind?: 'background') {
    this.#clock = clock
    this.#kind = kind
  }

  /** @param at by the clock, in milliseconds; the deadline is over at the end of that millisecond */
  add(at: number, due: Due): void {
    const ms = Math.ceil(at)
    const shared = this.#timers.get(ms)
    if (shared !== undefined) return void shared.due.add(due)
    // What is rounded up may be more than a timer takes, which would then ring at once.
    const left = Math.min(longestTimer, Math.max(0, ms - this.#clock.now()))
    const timer = this.#clock.after(left, () => this.#ring(ms), this.#kind)
    this.#timers.set(ms, { timer, due: new Set([due]) })
  }

  /** Takes a deadline back. */
  delete(at: number, due: Due): void {
    const ms = Math.ceil(at)
    const shared = this.#timers.get(ms)
    if (shared === undefined || !shared.due.delete(due) || shared.due.size > 0) return
    shared.timer.cancel()
    this.#timers.delete(ms)
  }

  #ring(ms: number): void {
    const shared = this.#timers.get(ms)
    this.#timers.delete(ms)
    for (const due of shared?.due ?? []) due.expire()
  }
}

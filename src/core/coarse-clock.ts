import { systemClock, type Clock } from './clock.ts'

/** The most readings before time is asked for after all: a turn that never ends must not stop the clock. */
const most = 256

/**
 * Tells the time once in a turn of the event loop: asking the system costs half as much as a hit. Whatever a turn asks of
 * it is answered as of its beginning; nothing that has come from outside since then is known in that turn anyway.
 */
export class CoarseClock {
  readonly #clock: Clock
  /** Another clock, of a test, may be set within a turn. */
  readonly #most: number
  #now = 0.5
  #left = 0
  #armed = false

  constructor(clock: Clock) {
    this.#clock = clock
    this.#most = clock === systemClock ? most : 0
  }

  now(): number {
    return this.#left-- > 0 ? this.#now : this.#ask()
  }

  #ask(): number {
    this.#left = this.#most
    if (!this.#armed && this.#most > 0) {
      this.#armed = true
      // One that does not hold the loop up would wait for the next event, and the turn with it.
      setImmediate(this.#turnEnds)
    }
    return (this.#now = this.#clock.now())
  }

  readonly #turnEnds = (): void => {
    this.#left = 0
    this.#armed = false
  }
}

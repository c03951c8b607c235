/**
 * Time as the core sees it: monotonic, and replaceable, so that a fleet can be run on one virtual clock.
 * Wall-clock time is not here on purpose: inside a process nothing is decided by it.
 */
export interface Clock {
  /** Milliseconds since some fixed moment; never goes back. */
  now(): number
  /** Calls `run` once after `ms` milliseconds; a background timer does not keep the process alive. */
  after(ms: number, run: () => void, background?: 'background'): Timer
  /** A number in [0, 1), for moments that are spread at random: the jitter of a ttl, when to ask again. Default `Math.random`. */
  random?(): number
}

/** A pending call; `cancel` may be called at any time and any number of times. */
export interface Timer {
  cancel(): void
}

/** The clock of this machine. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, run, background) {
    const timer = setTimeout(run, ms)
    if (background) timer.unref()
    return { cancel: () => clearTimeout(timer) }
  },
}

/** A number in [0, 1): chance only ever decides when something happens, so it is the clock's. */
export function drawRandom(clock: Clock): number {
  return clock.random?.() ?? Math.random()
}

/**
 * What versions and fences grow with, in microseconds: the time since 1970, so that those of a later process are greater.
 * On a clock that is not this machine's it is the time of that clock: what is numbered by it is the same in every run.
 */
export function microseconds(clock: Clock): number {
  return Math.floor(clock === systemClock ? Date.now() : clock.now()) * 1_000
}

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

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
export function drawn(clock: Clock): number {
  return clock.random?.() ?? Math.random()
}

/**
 * What versions and fences grow with, in microseconds: the time since 1970, so that those of a later process are greater.
 * On a clock that is not this machine's it is the time of that clock: what is numbered by it is the same in every run.
 */
export function micros(clock: Clock): number {
  return Math.floor(clock === systemClock ? Date.now() : clock.now()) * 1_000
}

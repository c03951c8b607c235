/**
 * Time as the core sees it: monotonic, and replaceable, so that a fleet can be run on one virtual clock.
 * Wall-clock time is not here on purpose: inside a process nothing is decided by it.
 */
export interface Clock {
  /** Milliseconds since some fixed moment; never goes back. */
  now(): number
  /** Calls `run` once after `ms` milliseconds; a background timer does not keep the process alive. */
  after(ms: number, run: () => void, background?: 'background'): Timer
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

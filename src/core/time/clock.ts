/*
 * Room: time. The clock that everything else in core goes by, and the timers on it. Only errors.ts stands below it.
 *
 * Reading order: clock.ts (the clock, and the end of a tick), duration.ts (durations in options), deadline.ts (commands
 * with a deadline).
 */
// Not the global ones, which a test may replace, also before this module is loaded.
import { performance } from 'node:perf_hooks'
import { clearInterval, clearTimeout, setImmediate, setInterval, setTimeout } from 'node:timers'

/**
 * The time of the core: monotonic, and replaceable, so that a simulated fleet can share one virtual clock. Wall-clock
 * time is left out on purpose: no decision inside a process depends on it.
 */
export interface Clock {
  /** Milliseconds since some fixed moment; never goes back. */
  now(): number
  /** Calls `run` once after `ms` milliseconds; a background timer does not keep the process alive. */
  after(ms: number, run: () => void, background?: 'background'): Timer
  /** The milliseconds in which the process has waited for events, since some fixed moment. Default: it always waits. */
  idle?(): number
  /** A random number in [0, 1), for the jitter of ttls and of backoff. Default `Math.random`. */
  random?(): number
}

/** A pending call; `cancel` may be called at any time and any number of times. */
export interface Timer {
  cancel(): void
}

/** The timers of Node.js. */
type Timers = Pick<
  typeof globalThis,
  'setTimeout' | 'clearTimeout' | 'setInterval' | 'clearInterval' | 'setImmediate' | 'queueMicrotask'
> & { readonly nextTick: (run: () => void) => void }

/**
 * The timers of Node.js. A test may replace the globals, and what waits for a server or for the end of a tick must go on
 * all the same.
 */
export const timers: Timers = {
  setTimeout,
  clearTimeout,
  setInterval,
  clearInterval,
  setImmediate,
  nextTick: isReplaced(process, 'nextTick') ? afterMicrotask : process.nextTick.bind(process),
  queueMicrotask: isReplaced(globalThis, 'queueMicrotask') ? afterMicrotask : globalThis.queueMicrotask,
}

/** Whether a timer is one of `@sinonjs/fake-timers`, which Jest, Vitest and Sinon use. */
function isReplaced(owner: object, name: string): boolean {
  return 'clock' in (Reflect.get(owner, name) as object)
}

function afterMicrotask(run: () => void): void {
  void Promise.resolve().then(run)
}

class SystemTimer implements Timer {
  readonly #timeout: NodeJS.Timeout
  readonly #clear: (timeout: NodeJS.Timeout) => void

  constructor(timeout: NodeJS.Timeout, clear: (timeout: NodeJS.Timeout) => void) {
    this.#timeout = timeout
    this.#clear = clear
  }

  cancel(): void {
    this.#clear(this.#timeout)
  }
}

type Methods = Readonly<Record<'now', (this: typeof performance) => number>> &
  Pick<typeof performance, 'eventLoopUtilization'>

/** Of the prototype, because Sinon replaces the method of the object; other runtimes have some in the object alone. */
const own = performance as Methods
const { now = own.now, eventLoopUtilization = own.eventLoopUtilization } = Object.getPrototypeOf(
  own,
) as Partial<Methods>

/** The clock of this machine. */
export const systemClock: Clock = {
  now: () => now.call(performance),
  after(ms, run, background) {
    const timeout = timers.setTimeout(run, ms)
    if (background) timeout.unref()
    return new SystemTimer(timeout, timers.clearTimeout)
  },
  idle() {
    const { idle, active } = eventLoopUtilization()
    // Bun and Deno measure neither.
    return active > 0 ? idle : systemClock.now()
  },
}

/** The clock of this machine, or the fake timers of a test. */
export const replaceableClock: Clock = {
  now: () => globalThis.performance.now(),
  after(ms, run, background) {
    const timeout = globalThis.setTimeout(run, ms)
    if (background) timeout.unref()
    return new SystemTimer(timeout, globalThis.clearTimeout)
  },
}

/** A random number in [0, 1). It comes from the clock because randomness only ever decides when something happens. */
export function drawRandom(clock: Clock): number {
  return clock.random?.() ?? Math.random()
}

/**
 * A duration ± 25 %, so that callers that began together do not go on together.
 * @param random a number in [0, 1)
 */
export function spread(ms: number, random: number): number {
  return ms * (0.75 + random / 2)
}

/**
 * The base of versions and fencing tokens, in microseconds since 1970, so that later processes start higher. On a
 * replaced clock it is the time of that clock, so that simulated runs are reproducible.
 */
export function microseconds(clock: Clock): number {
  return Math.floor(clock === systemClock || clock === replaceableClock ? Date.now() : clock.now()) * 1_000
}

/** The most cached readings in a row: a tick that never ends must not stop the clock. */
const most = 256

/**
 * Reads the clock once per tick, because a reading costs half as much as a hit. All readings of a tick are as of the
 * first: events that arrive later are not known within the tick anyway. The next tick may come late, even in the same
 * turn of the event loop: a callback may block it for seconds.
 */
export class CoarseClock {
  readonly #clock: Clock
  #now = 0.5
  #left = 0
  #armed = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  now(): number {
    return this.#left-- > 0 ? this.#now : this.#ask()
  }

  #ask(): number {
    this.#left = isReal(this.#clock) ? most : 0
    if (!this.#armed && this.#left > 0) {
      this.#armed = true
      timers.nextTick(this.#tickEnds)
    }
    return (this.#now = this.#clock.now())
  }

  readonly #tickEnds = (): void => {
    this.#left = 0
    this.#armed = false
  }
}

/** Whether time passes by itself: a test may set any other clock, within a turn of the event loop, too. */
export function isReal(clock: Clock): boolean {
  return clock === systemClock || (clock === replaceableClock && globalThis.performance === performance)
}

/** Collects the items of one tick, and hands them on together at its end. */
export class TickBatch<Item> {
  readonly #handOn: (items: readonly Item[]) => void
  readonly #atEnd: (run: () => void) => void
  #items: Item[] = []

  /**
   * @param handOn called with the items, in order
   * @param atEnd runs a function at the end of the tick. Default: `nextTick`, because callers of the same tick
   *   may need several microtasks to get here
   */
  constructor(handOn: (items: readonly Item[]) => void, atEnd = (run: () => void): void => timers.nextTick(run)) {
    this.#handOn = handOn
    this.#atEnd = atEnd
  }

  add(item: Item): void {
    if (this.#items.push(item) === 1) this.#atEnd(this.#end)
  }

  readonly #end = (): void => {
    const items = this.#items
    this.#items = []
    this.#handOn(items)
  }
}

/**
 * A position in the order of events in this process; a higher one is later.
 *
 * It carries the one rule of which answer a caller may have. A caller notes when it *asked*. An answer is current *as
 * of* a moment: when its read or claim was sent; when a load without a lease began; or, for a load whose fill was
 * accepted, when the load ended, because a lease that survived until then proves that nothing was invalidated since it
 * was granted. An answer is good for callers that asked before its moment. A later caller may have asked after an
 * invalidation that the answer does not reflect, so it asks again.
 */
export type CausalTime = number

/** A source of increasing positions. */
export function causalClock(): () => CausalTime {
  let last = 0
  return () => ++last
}

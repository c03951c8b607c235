import { AsyncResource } from 'node:async_hooks'
import type { Clock, Timer } from '../../core/time/clock.ts'

/** More timers than any test needs to let some time pass: a bound that finds endless loops. */
const mostTimers = 1_000_000

interface Alarm {
  readonly at: number
  readonly run: () => void
  readonly background: boolean
}

/** A clock that stands still until a test lets time pass. */
export class VirtualClock implements Clock {
  #now: number
  // In the order of setting, which is the order of alarms due at the same moment.
  readonly #alarms = new Set<Alarm>()

  constructor(start = 0) {
    this.#now = start
  }

  now(): number {
    return this.#now
  }

  after(ms: number, run: () => void, background?: 'background'): Timer {
    const at = this.#now + Math.max(0, ms)
    // In the asynchronous context of the code that sets it, as a timer of Node.js, not of the code that lets time pass.
    const context = new AsyncResource('VirtualTimer')
    const alarm: Alarm = { at, run: () => context.runInAsyncScope(run), background: background !== undefined }
    this.#alarms.add(alarm)
    return { cancel: () => void this.#alarms.delete(alarm) }
  }

  /** The number of timers that are set. */
  get pending(): number {
    return this.#alarms.size
  }

  /** The number of timers that would keep a process alive. */
  get holding(): number {
    return [...this.#alarms].filter(({ background }) => !background).length
  }

  /**
   * Lets `ms` milliseconds pass. Each timer runs at its own moment, with all its consequences before the next timer.
   */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms
    await this.#pass(end, () => false)
    this.#now = end
  }

  /**
   * Lets time pass until a promise has settled, and stops at that moment.
   * @param most the longest time, in milliseconds
   * @returns `'nothing left'` if no timer is left that could settle it, `'too long'` if `most` was not enough
   */
  async until(promise: PromiseLike<unknown>, most: number): Promise<'settled' | 'nothing left' | 'too long'> {
    let over = false
    const settle = (): void => void (over = true)
    promise.then(settle, settle)
    await this.#pass(this.#now + most, () => over)
    if (over) return 'settled'
    return this.#alarms.size === 0 ? 'nothing left' : 'too long'
  }

  /** Lets `ms` milliseconds pass in which the process is blocked: its timers run late, all at the end. */
  async block(ms: number): Promise<void> {
    this.#now += ms
    await this.advance(0)
  }

  async #pass(end: number, over: () => boolean): Promise<void> {
    let left = mostTimers
    await settled()
    while (!over()) {
      const alarm = this.#first(end)
      if (alarm === undefined) return
      if (left-- === 0) throw new Error(`It never comes to rest: ${mostTimers} timers have run`)
      this.#alarms.delete(alarm)
      this.#now = Math.max(this.#now, alarm.at)
      alarm.run()
      await settled()
    }
  }

  #first(end: number): Alarm | undefined {
    let first: Alarm | undefined
    for (const alarm of this.#alarms) {
      if (alarm.at <= end && (first === undefined || alarm.at < first.at)) first = alarm
    }
    return first
  }
}

/** Resolves when everything has happened that can happen before time passes. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

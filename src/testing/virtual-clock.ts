import { AsyncResource } from 'node:async_hooks'
import type { Clock, Timer } from '../core/time/clock.ts'

/** More timers than any test needs to let some time pass: what never comes to rest is found out. */
const mostTimers = 1_000_000

interface Alarm {
  readonly at: number
  readonly run: () => void
  readonly background: boolean
}

/** A clock that stands still until a test lets time pass. */
export class VirtualClock implements Clock {
  #now: number
  // In the order in which they were set, which is the order of those that are due at the same moment.
  readonly #alarms = new Set<Alarm>()

  constructor(start = 0) {
    this.#now = start
  }

  now(): number {
    return this.#now
  }

  after(ms: number, run: () => void, background?: 'background'): Timer {
    const at = this.#now + Math.max(0, ms)
    // In the asynchronous context of whoever sets it, as a timer of Node.js does, and not of whoever lets time pass.
    const context = new AsyncResource('VirtualTimer')
    const alarm: Alarm = { at, run: () => context.runInAsyncScope(run), background: background !== undefined }
    this.#alarms.add(alarm)
    return { cancel: () => void this.#alarms.delete(alarm) }
  }

  /** How many timers have been set and have neither run nor been cancelled. */
  get pending(): number {
    return this.#alarms.size
  }

  /** How many of them would keep a process from ending by itself. */
  get holding(): number {
    return [...this.#alarms].filter(({ background }) => !background).length
  }

  /** Lets `ms` milliseconds pass. Each timer runs at its own moment, and all that follows from it before the next. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms
    await this.#pass(end, () => false)
    this.#now = end
  }

  /**
   * Lets time pass until a promise has settled, and stops at that moment.
   * @returns `'nothing left'` if no timer is left that could settle it, `'too long'` if `most` milliseconds were not enough
   */
  async until(promise: PromiseLike<unknown>, most: number): Promise<'settled' | 'nothing left' | 'too long'> {
    let over = false
    const settle = (): void => void (over = true)
    promise.then(settle, settle)
    await this.#pass(this.#now + most, () => over)
    if (over) return 'settled'
    return this.#alarms.size === 0 ? 'nothing left' : 'too long'
  }

  /** Lets `ms` milliseconds pass in which this process runs nothing: its timers come late, all at the end. */
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

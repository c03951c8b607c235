import type { Clock, Timer } from '../../src/core/clock.ts'

interface Alarm {
  readonly at: number
  readonly run: () => void
  readonly background: boolean
}

/** A clock that stands still until a test lets time pass. */
export class FakeClock implements Clock {
  #now = 1_000
  #left: number
  // In the order in which they were set, which is the order of those that are due at the same moment.
  readonly #alarms = new Set<Alarm>()

  /** @param most how many timers it runs; then it throws, for what is tested may never come to rest */
  constructor({ most = Infinity }: { most?: number } = {}) {
    this.#left = most
  }

  now(): number {
    return this.#now
  }

  after(ms: number, run: () => void, background?: 'background'): Timer {
    const alarm: Alarm = { at: this.#now + Math.max(0, ms), run, background: background !== undefined }
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
    await settled()
    for (let alarm = this.#first(end); alarm !== undefined; alarm = this.#first(end)) {
      if (this.#left-- === 0) throw new Error('It never comes to rest')
      this.#alarms.delete(alarm)
      this.#now = Math.max(this.#now, alarm.at)
      alarm.run()
      await settled()
    }
    this.#now = end
  }

  /** Lets `ms` milliseconds pass in which this process runs nothing: its timers come late, all at the end. */
  async block(ms: number): Promise<void> {
    this.#now += ms
    await this.advance(0)
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

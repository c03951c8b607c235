import { AsyncResource } from 'node:async_hooks'
import type { Clock, Timer } from '../../core/time/clock.ts'

/** The kind of overdue events that a resumed process handles first: timers, or answers. */
export type Lane = 'timers' | 'answers'

/**
 * The view that a process's code has of the outside: a clock, and the moment at which answers arrive. The process can
 * be paused or killed.
 */
export class Process implements Clock {
  readonly number: number
  /** A random number in [0, 1), for the library's jitter. */
  readonly random: () => number
  state: 'running' | 'paused' | 'killed' = 'running'
  readonly #world: Clock
  readonly #alarms = new Set<Timer>()
  readonly #overdue: Record<Lane, (() => void)[]> = { timers: [], answers: [] }

  constructor(number: number, world: Clock, random: () => number = Math.random) {
    this.number = number
    this.#world = world
    this.random = random
  }

  /** Goes on while the process is paused, as a monotonic clock does. */
  now(): number {
    return this.#world.now()
  }

  after(ms: number, run: () => void, background?: 'background'): Timer {
    let cancelled = false
    const due = (): void => {
      this.#alarms.delete(alarm)
      this.#run('timers', () => {
        // It may have been cancelled while it was overdue.
        if (!cancelled) run()
      })
    }
    const alarm = this.#world.after(ms, due, background)
    if (this.state === 'killed') alarm.cancel()
    else this.#alarms.add(alarm)
    return {
      cancel: () => {
        cancelled = true
        this.#alarms.delete(alarm)
        alarm.cancel()
      },
    }
  }

  /** Delivers an event from outside: calls `run` when the process can handle it. */
  receive(run: () => void): void {
    this.#run('answers', run)
  }

  pause(): void {
    if (this.state === 'running') this.state = 'paused'
  }

  /** Resumes the process. Overdue events run one per turn. */
  resume(first: Lane): void {
    if (this.state !== 'paused') return
    this.state = 'running'
    for (const lane of first === 'timers' ? (['timers', 'answers'] as const) : (['answers', 'timers'] as const)) {
      for (const run of this.#overdue[lane].splice(0)) this.#world.after(0, () => this.#run(lane, run))
    }
  }

  kill(): void {
    this.state = 'killed'
    for (const alarm of this.#alarms) alarm.cancel()
    this.#alarms.clear()
    this.#overdue.timers = []
    this.#overdue.answers = []
  }

  #run(lane: Lane, run: () => void): void {
    if (this.state === 'running') run()
    // Bound to its own asynchronous context, not to that of the code that resumes the process.
    else if (this.state === 'paused') this.#overdue[lane].push(AsyncResource.bind(run))
  }
}

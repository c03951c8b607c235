import type { Clock, Timer } from '../../src/core/clock.ts'

type Lane = 'timers' | 'answers'

/**
 * What a process is to its code: a clock, and the moment at which it learns of what has arrived. It may stand still, or
 * end without a word.
 */
export class Process implements Clock {
  readonly number: number
  state: 'running' | 'stopped' | 'killed' = 'running'
  readonly #world: Clock
  readonly #alarms = new Set<Timer>()
  readonly #overdue: Record<Lane, (() => void)[]> = { timers: [], answers: [] }

  constructor(number: number, world: Clock) {
    this.number = number
    this.#world = world
  }

  /** Goes on while the process is stopped, as a monotonic clock does. */
  now(): number {
    return this.#world.now()
  }

  after(ms: number, run: () => void, background?: 'background'): Timer {
    let cancelled = false
    const alarm = this.#world.after(
      ms,
      () => {
        this.#alarms.delete(alarm)
        this.#run('timers', () => {
          // It may have been cancelled while it was overdue.
          if (!cancelled) run()
        })
      },
      background,
    )
    this.#alarms.add(alarm)
    return {
      cancel: () => {
        cancelled = true
        this.#alarms.delete(alarm)
        alarm.cancel()
      },
    }
  }

  readonly pause = (ms: number): Promise<void> => new Promise((resolve) => this.after(ms, resolve))

  /** Something has come from outside: `run` is called when the process can. */
  receive(run: () => void): void {
    this.#run('answers', run)
  }

  stop(): void {
    if (this.state === 'running') this.state = 'stopped'
  }

  /** Goes on, with what is overdue, each in its turn. */
  resume(first: Lane): void {
    if (this.state !== 'stopped') return
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
    else if (this.state === 'stopped') this.#overdue[lane].push(run)
  }
}

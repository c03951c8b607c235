import type { Clock, Timer } from '../time/clock.ts'

/** A promise that its owner settles and an AbortSignal may reject, with timers that end with it. */
export class PendingAnswer {
  readonly answer: Promise<unknown>
  readonly #clock: Clock
  readonly #since: number
  readonly #signal: AbortSignal | undefined
  readonly #onEnd: () => void
  readonly #timers: Timer[] = []
  #settled = false
  #resolve!: (value: unknown) => void
  #reject!: (error: unknown) => void

  /**
   * @param since when the caller asked, by the clock: `after` counts from there
   * @param onEnd called once, when there is an answer
   */
  constructor(options: { clock: Clock; since: number; signal: AbortSignal | undefined; onEnd: () => void }) {
    this.#clock = options.clock
    this.#since = options.since
    this.#signal = options.signal
    this.#onEnd = options.onEnd
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    this.#signal?.addEventListener('abort', this.#aborted)
  }

  get settled(): boolean {
    return this.#settled
  }

  /** Calls `run` once `ms` milliseconds have passed since the caller asked, unless there is an answer by then. */
  after(ms: number, run: () => void): void {
    this.#timers.push(this.#clock.after(Math.max(0, this.#since + ms - this.#clock.now()), run))
  }

  resolve(value: unknown): void {
    if (this.#end()) this.#resolve(value)
  }

  reject(error: unknown): void {
    if (this.#end()) this.#reject(error)
  }

  readonly #aborted = (): void => this.reject(this.#signal?.reason)

  #end(): boolean {
    if (this.#settled) return false
    this.#settled = true
    for (const timer of this.#timers) timer.cancel()
    this.#signal?.removeEventListener('abort', this.#aborted)
    this.#onEnd()
    return true
  }
}

import type { Clock, Timer } from './clock.ts'
import type { Loaded } from './load.ts'
import type { Moment } from './moment.ts'

interface Generation {
  /** When its loader started; `null` while it waits for its turn, and may be joined by anyone. */
  began: Moment | null
  readonly start: () => void
  readonly loaded: Promise<Loaded>
}

interface Line {
  running: Generation | null
  next: Generation | null
  impatience: Timer | null
}

/**
 * Loads without a lease, collapsed in this process: what is left of the one load when the store is away.
 *
 * A caller never joins a load that began before it asked, for an invalidation may lie between (this process could not
 * have heard of it). It joins the next one, which begins when the running one ends, at most `patience` later: so each
 * key has one load at a time, or two when loads take longer than that, and everybody is answered within
 * `patience` + one load. Over all keys, at most `most` run at once and the others queue.
 */
export class Unleased {
  readonly #most: number
  readonly #patience: number
  readonly #clock: Clock
  readonly #moment: () => Moment
  readonly #lines = new Map<string, Line>()
  readonly #queue: (() => void)[] = []
  #running = 0

  constructor(options: { most: number; patience: number; clock: Clock; moment: () => Moment }) {
    this.#most = options.most
    this.#patience = options.patience
    this.#clock = options.clock
    this.#moment = options.moment
  }

  /**
   * The outcome of a load that begins after `asked`.
   * @param run runs the loader; called if this caller's turn makes the load
   * @param nested whether the caller is itself a loader: it takes no place in the queue, or loads that wait for each
   *   other could fill it
   */
  load(key: string, asked: Moment, nested: boolean, run: () => Promise<Loaded>): Promise<Loaded> {
    let line = this.#lines.get(key)
    if (line === undefined) this.#lines.set(key, (line = { running: null, next: null, impatience: null }))
    const { running, next } = line
    if (running !== null && running.began !== null && asked < running.began) return running.loaded
    if (next !== null) return next.loaded
    const generation = (line.next = this.#generation(key, line, nested, run))
    if (running === null) generation.start()
    else line.impatience = this.#clock.after(this.#patience, generation.start)
    return generation.loaded
  }

  /** Lets no later caller have the outcome of what is under way. */
  detach(key: string): void {
    this.#lines.delete(key)
  }

  #generation(key: string, line: Line, nested: boolean, run: () => Promise<Loaded>): Generation {
    let start!: () => void
    const turn = new Promise<void>((resolve) => (start = resolve))
    const begin = async (): Promise<Loaded> => {
      await turn
      if (!nested) await this.#enter()
      line.impatience?.cancel()
      line.impatience = null
      line.running = generation
      if (line.next === generation) line.next = null
      generation.began = this.#moment()
      try {
        return await run()
      } finally {
        if (!nested) this.#leave()
        if (line.running === generation) line.running = null
        if (line.next !== null) line.next.start()
        else if (line.running === null && this.#lines.get(key) === line) this.#lines.delete(key)
      }
    }
    const generation: Generation = { began: null, start, loaded: begin() }
    return generation
  }

  #enter(): Promise<void> | void {
    if (this.#running < this.#most) {
      this.#running++
      return
    }
    return new Promise((resolve) => this.#queue.push(resolve))
  }

  #leave(): void {
    // The place goes to the first in the queue, without being free in between.
    const first = this.#queue.shift()
    if (first) first()
    else this.#running--
  }
}

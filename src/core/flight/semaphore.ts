/** Permits, of which so many are held at a time; further callers wait for theirs in the order in which they asked. */
export class Semaphore {
  #free: number
  /** Those that wait, from `#next` on. */
  #waiting: (() => void)[] = []
  #next = 0

  constructor(permits: number) {
    this.#free = permits
  }

  /** Asks for a permit; resolves when it is granted, or is `null` if it is granted at once. */
  acquire(): Promise<void> | null {
    if (this.#free > 0) {
      this.#free--
      return null
    }
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** Gives a permit back, and so to the next that waits. */
  release(): void {
    const next = this.#waiting[this.#next]
    if (next === undefined) {
      this.#free++
      return
    }
    this.#next++
    if (this.#next === this.#waiting.length) {
      this.#waiting = []
      this.#next = 0
    }
    next()
  }
}

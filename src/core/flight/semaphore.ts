/** Lets so many pass at a time; the others wait for their turn. */
export class Window {
  readonly #most: number
  #inside = 0
  /** Those that wait, in their order, from `#next` on. */
  #waiting: (() => void)[] = []
  #next = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Asks for a place; resolves when it is there, or is `null` if it is there already. */
  enter(): Promise<void> | null {
    if (this.#inside < this.#most) {
      this.#inside++
      return null
    }
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** Gives a place to the next. */
  leave(): void {
    const next = this.#waiting[this.#next]
    if (next === undefined) {
      this.#inside--
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

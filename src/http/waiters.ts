/** How many requests of this process wait for the answer at each key. */
export class Waiters {
  readonly #counts = new Map<string, number>()

  /** @returns whether there was room for one more, who has to `leave` then */
  enter(key: string, most: number): boolean {
    const count = this.#counts.get(key) ?? 0
    if (count >= most) return false
    this.#counts.set(key, count + 1)
    return true
  }

  leave(key: string): void {
    const count = (this.#counts.get(key) ?? 0) - 1
    if (count > 0) this.#counts.set(key, count)
    else this.#counts.delete(key)
  }
}

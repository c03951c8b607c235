/** What is drawn by chance, and is always the same for the same seed. */
export class Random {
  #state

  /** @param {number} seed */
  constructor(seed) {
    this.#state = seed | 0
  }

  /** A number in [0, 1) (Tommy Ettinger's mulberry32). */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  /**
   * A whole number from one to another, both included.
   * @param {number} least
   * @param {number} most
   */
  between(least, most) {
    return least + Math.floor(this.next() * (most - least + 1))
  }

  /**
   * @template T
   * @param {readonly T[]} all
   */
  pick(all) {
    return /** @type {T} */ (all[this.between(0, all.length - 1)])
  }
}

/** Reproducible random numbers (Tommy Ettinger's mulberry32). */
export class Random {
  #state: number

  /** @param names separate the sources of one seed, so that fewer draws from one do not change another */
  constructor(seed: number, ...names: readonly (string | number)[]) {
    this.#state = seed | 0
    for (const code of Buffer.from(names.join('/'))) this.#state = (Math.imul(this.#state, 31) + code) | 0
  }

  /** A number in [0, 1). */
  readonly next = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  /** A whole number from `least` to `most`. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1))
  }

  /** True with a probability of `many` percent. */
  percent(many: number): boolean {
    return this.next() * 100 < many
  }

  /** One of the given values, all equally likely; a repeated value is likelier. */
  pick<T>(...some: readonly T[]): T {
    return some[Math.floor(this.next() * some.length)] as T
  }
}

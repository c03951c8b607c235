/** Numbers that are always the same for the same seed (Tommy Ettinger's mulberry32). */
export class Random {
  #state: number

  /** @param names tell apart what is drawn for different things, so that drawing less for one changes no other */
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

  /** True so many times of a hundred. */
  percent(many: number): boolean {
    return this.next() * 100 < many
  }

  /** One of some, each as likely; name one twice to make it likelier. */
  pick<T>(...some: readonly T[]): T {
    return some[Math.floor(this.next() * some.length)] as T
  }
}

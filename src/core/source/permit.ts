/** The part of a source that its permits call. */
interface Granting {
  /** A load has ended; see `Source.ended`. */
  ended(took: number, error?: unknown): void
  /** All loads of a permit have ended. */
  over(permit: Permit): void
}

/** The right of a load to run now; the loads of a batch share one. */
export class Permit {
  readonly source: Granting
  /** When it was granted, by the clock. */
  readonly at: number
  /** For how long its source had been judged then, in milliseconds. */
  readonly judged: number
  #loads: number

  constructor(source: Granting, loads: number, { at, judged }: { readonly at: number; readonly judged: number }) {
    this.source = source
    this.at = at
    this.judged = judged
    this.#loads = loads
  }

  /** One of its loads has ended, or will not begin. */
  giveBack(): void {
    if (--this.#loads === 0) this.source.over(this)
  }
}

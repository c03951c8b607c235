/** A value as it comes from the source: which key it is for, and which load or set made it. */
export interface Made {
  readonly key: string
  readonly by: number
}

interface Making {
  readonly key: string
  readonly kind: 'load' | 'set'
  readonly leased: boolean
  /** Before this, its lease had not been asked for. */
  readonly asked: number
  readonly began: number
  ended: number
}

interface Write {
  readonly key: string
  readonly began: number
  resolved: number
}

/** A call under way. */
export interface Asking {
  readonly began: number
  /** Says what the call got. */
  readonly got: (value: unknown) => void
}

/**
 * What happened, in order: which loads and sets made which values, which writes have resolved, and which calls got what.
 * It finds the calls that break rule 4: a call that began after an invalidation (or a set) resolved got a value whose
 * load began before it.
 */
export class History {
  /** What is wrong with it, in words. */
  readonly faults: string[] = []
  readonly #oneLoad: boolean
  readonly #makings: Making[] = []
  readonly #writes: Write[] = []
  readonly #floors = new Map<string, number>()
  #last = 0

  /** @param oneLoad whether two loads of a key at once are a fault, too, unless a write lies between them */
  constructor({ oneLoad }: { oneLoad: boolean }) {
    this.#oneLoad = oneLoad
  }

  /** A load begins, for whom the call `by` has asked. Returns its value, and what ends it. */
  load(key: string, leased: boolean, by: Asking): { made: Made; end: () => void } {
    const began = this.#next()
    for (const other of this.#oneLoad ? this.#makings : []) {
      const both = other.kind === 'load' && other.key === key && other.leased && leased && other.ended === Infinity
      // A write takes effect at some moment until it resolves, and either lease may be the one that it voids.
      if (
        both &&
        !this.#writes.some((write) => write.key === key && write.resolved > Math.min(other.asked, by.began))
      ) {
        this.faults.push(
          `two loads of ${key} at once, begun at ${other.began} and ${began}, and nothing voided one of them`,
        )
      }
    }
    return this.#make({ key, kind: 'load', leased, asked: by.began, began, ended: Infinity })
  }

  /** A value is about to be set. */
  set(key: string): { made: Made; end: () => void; resolved: () => void } {
    const { began, resolved } = this.write(key)
    return { ...this.#make({ key, kind: 'set', leased: false, asked: began, began, ended: Infinity }), resolved }
  }

  /** An invalidation or a set is about to be sent. Returns what is called when it resolved. */
  write(key: string): { began: number; resolved: () => void } {
    const write: Write = { key, began: this.#next(), resolved: Infinity }
    this.#writes.push(write)
    const resolved = (): void => {
      write.resolved = this.#next()
      this.#floors.set(key, Math.max(this.#floors.get(key) ?? 0, write.began))
    }
    return { began: write.began, resolved }
  }

  /** A call begins. */
  call(key: string): Asking {
    const began = this.#next()
    const floor = this.#floors.get(key) ?? 0
    const got = (value: unknown): void => {
      const made = value as Made
      const making = this.#makings[made.by]
      if (making === undefined || making.key !== key || made.key !== key) {
        this.faults.push(`the call of ${key} at ${began} got a value of something else: ${JSON.stringify(value)}`)
        return
      }
      // A load reads its source when it begins; a set takes effect at some moment before it resolves.
      const asOf = making.kind === 'load' ? making.began : making.ended
      if (asOf > floor) return
      this.faults.push(
        `the call of ${key} at ${began} got the value of the ${making.kind} that began at ${making.began}, ` +
          `before the write at ${floor}, which had resolved`,
      )
    }
    return { began, got }
  }

  #make(making: Making): { made: Made; end: () => void } {
    const by = this.#makings.push(making) - 1
    return { made: { key: making.key, by }, end: () => void (making.ended = this.#next()) }
  }

  #next(): number {
    return ++this.#last
  }
}

import type { AcquireOptions } from '../../src/core/contract/lock.ts'

/** What a process is told before anything else. */
export interface Opening {
  readonly kind: 'redis' | 'redlock' | 'postgres' | 'zookeeper'
  readonly addresses: readonly object[]
  readonly options: object
}

/** Who is to want a lock, and for how long each time, in milliseconds. */
export interface Contention {
  readonly name: string
  readonly callers: number
  /** How often each of them; without it, until their process may rest. */
  readonly times?: number
  readonly hold: number
  readonly options: AcquireOptions
}

/** What a process says of one time that it had a lock. Moments are milliseconds by the clock of the machine. */
export interface Turn {
  readonly turn: string
  readonly name?: string
  readonly entered?: number
  readonly fence?: string
  readonly left?: number
  readonly lost?: number
  readonly valid?: boolean
  readonly released?: string
}

/** Sees who had which lock when, and whether there were two at a time. */
export class Referee {
  readonly #turns = new Map<string, Turn>()
  readonly #killed = new Map<number, number>()

  heard(said: Turn): void {
    this.#turns.set(said.turn, { ...this.#turns.get(said.turn), ...said })
  }

  /** A process runs nothing from here on. */
  killed(process: number, at: number): void {
    this.#killed.set(process, at)
  }

  /** All times that a lock was had, in order. */
  get turns(): readonly Turn[] {
    return [...this.#turns.values()].toSorted((one, other) => (one.entered ?? 0) - (other.entered ?? 0))
  }

  /** What was wrong, in words: two at a time, or a fence that did not grow. */
  wrong(): string[] {
    const wrong: string[] = []
    const last = new Map<string, { turn: Turn; end: number }>()
    for (const turn of this.turns) {
      const { name = '', entered = 0 } = turn
      const before = last.get(name)
      if (before !== undefined && before.end > entered) {
        wrong.push(
          `${turn.turn} had ${name} ${(before.end - entered).toFixed(1)} ms before the end of ${before.turn.turn}`,
        )
      }
      if (
        before?.turn.fence !== undefined &&
        turn.fence !== 'null' &&
        BigInt(turn.fence ?? 0) <= BigInt(before.turn.fence)
      ) {
        wrong.push(
          `the fence of ${turn.turn}, ${turn.fence}, is not above that of ${before.turn.turn}, ${before.turn.fence}`,
        )
      }
      last.set(name, { turn, end: this.#endOf(turn) })
    }
    return wrong
  }

  #endOf({ turn, left = Infinity, lost = Infinity }: Turn): number {
    return Math.min(left, lost, this.#killed.get(Number(turn.split('.')[0])) ?? Infinity)
  }
}

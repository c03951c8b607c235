import type { Clock, Timer } from './clock.ts'
import { CacheError, unavailableError } from '../errors.ts'

/** When a timer runs so much later than it should, in milliseconds, this process itself was busy. */
const busy = 20

/**
 * Calls `expire` when so many milliseconds have passed; where this process was busy then, a turn later: answers that
 * came meanwhile are read after timers have run, so they get their turn.
 */
export function startDeadline(clock: Clock, ms: number, expire: () => void, kind?: 'background'): Timer {
  const after = (delay: number): Timer => {
    const due = clock.now() + delay
    const ring = (): void => {
      if (clock.now() - due > busy) timer = after(1)
      else expire()
    }
    return clock.after(delay, ring, kind)
  }
  let timer = after(ms)
  return { cancel: () => timer.cancel() }
}

/**
 * What a command comes to, if it is answered in time; else, and when it fails, rejects with STORE_UNAVAILABLE.
 * @param options.most how long it may take, in milliseconds
 * @param options.late is given an answer that comes after that
 */
export function withDeadline<T>(
  run: () => Promise<T>,
  { most, clock, late }: { most: number; clock: Clock; late?: ((value: T) => void) | undefined },
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    let over = false
    const timer = startDeadline(clock, most, () => {
      over = true
      reject(new CacheError('STORE_UNAVAILABLE', `There was no answer within ${most} ms`))
    })
    run().then(
      (value) => {
        timer.cancel()
        if (over) late?.(value)
        else resolve(value)
      },
      (error: unknown) => {
        timer.cancel()
        reject(unavailableError(error))
      },
    )
  })
}

/** Resolves when `over` does, or when so many milliseconds have passed. */
export async function waitAtMost(ms: number, over: Promise<void>, clock: Clock): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = clock.after(ms, resolve)
    void over.then(() => {
      timer.cancel()
      resolve()
    })
  })
}

/** A command that has been sent and not been answered. */
export interface Command {
  /** By the clock. */
  readonly since: number
  /** How many had been answered when it was sent. */
  readonly before: number
  /** Null when it is over: the tables that a set of V8 has outgrown keep what was in it, and thereby what that refers to. */
  reject: ((error: CacheError) => void) | null
}

/** Commands under way, oldest first: all have the same deadline, so one timer serves them all. */
export class InFlightCommands {
  readonly #commands = new Set<Command>()
  readonly #timeout: number
  readonly #clock: Clock
  readonly #late: (reject: (error: CacheError) => void, before: number) => void
  #sweep: Timer | null = null

  /**
   * @param timeout how long a command may take, in milliseconds
   * @param late rejects one that took longer, or that was under way when all was closed
   */
  constructor(timeout: number, clock: Clock, late: (reject: (error: CacheError) => void, before: number) => void) {
    this.#timeout = timeout
    this.#clock = clock
    this.#late = late
  }

  /**
   * What a command comes to, if it is answered in time; else, and when it fails, rejects with STORE_UNAVAILABLE.
   * @param late is given an answer that comes after that
   */
  run<T>(send: () => Promise<T>, late?: (value: T) => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const command: Command = { since: this.#clock.now(), before: 0, reject }
      this.begin(command)
      send().then(
        (value) => {
          if (this.end(command)) resolve(value)
          else late?.(value)
        },
        (error: unknown) => {
          if (this.end(command)) reject(unavailableError(error))
        },
      )
    })
  }

  begin(command: Command): void {
    this.#commands.add(command)
    if (this.#sweep === null) this.#sweepIn(this.#timeout)
  }

  /** Whether it was under way still. */
  end(command: Command): boolean {
    command.reject = null
    return this.#commands.delete(command)
  }

  close(): void {
    this.#sweep?.cancel()
    for (const command of this.#commands) this.#expire(command)
  }

  #expire(command: Command): void {
    const { reject, before } = command
    this.end(command)
    if (reject !== null) this.#late(reject, before)
  }

  #sweepIn(ms: number): void {
    this.#sweep = startDeadline(this.#clock, ms, this.#expireDue, 'background')
  }

  readonly #expireDue = (): void => {
    this.#sweep = null
    const now = this.#clock.now()
    for (const command of this.#commands) {
      const left = command.since + this.#timeout - now
      if (left > 0) return this.#sweepIn(left)
      this.#expire(command)
    }
  }
}

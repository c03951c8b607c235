import type { Clock, Timer } from './clock.ts'
import { type CacheError, unansweredError, unavailableError } from '../errors.ts'

/** A timer that runs this much too late shows that the process itself was busy, in milliseconds. */
const busy = 20

/**
 * Calls `expire` after `ms` milliseconds, or a turn later if this process was busy: the event loop runs timers before
 * it reads the replies that arrived meanwhile, so those replies get their turn first.
 */
export function startDeadline(clock: Clock, ms: number, expire: () => void, kind?: 'background'): Timer {
  const due = clock.now() + ms
  const ring = (): void => {
    if (clock.now() - due > busy) timer = clock.after(1, expire, kind)
    else expire()
  }
  let timer = clock.after(ms, ring, kind)
  return { cancel: () => timer.cancel() }
}

/**
 * Runs a command with a deadline; resolves with its reply.
 * @param options.most the deadline, in milliseconds
 * @param options.late receives a reply that arrives after the deadline
 * @throws `CacheError` STORE_UNAVAILABLE if the command fails or is not answered in time
 */
export function withDeadline<T>(
  run: () => Promise<T>,
  { most, clock, late }: { most: number; clock: Clock; late?: ((value: T) => void) | undefined },
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    let over = false
    const timer = startDeadline(clock, most, () => {
      over = true
      reject(unansweredError(most))
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

/** Resolves when `over` does, or after `ms` milliseconds. */
export async function waitAtMost(ms: number, over: Promise<void>, clock: Clock): Promise<void> {
  await atMost(ms, clock, [over], undefined)
}

/** The first of some replies, or `late` after `ms` milliseconds. */
export async function atMost<T, Late>(
  ms: number,
  clock: Clock,
  replies: readonly Promise<T>[],
  late: Late,
): Promise<T | Late> {
  let timer: Timer | undefined
  const timeout = new Promise<Late>((resolve) => {
    timer = clock.after(ms, () => resolve(late))
  })
  try {
    return await Promise.race([...replies, timeout])
  } finally {
    timer?.cancel()
  }
}

/** A command that was sent and has no reply yet. */
export interface InFlightCommand {
  /** When it was sent, by the clock. */
  readonly since: number
  /** How many replies had arrived when it was sent. */
  readonly before: number
  /** Null once it is over: V8 keeps the elements of a set's outgrown tables alive, and so everything they refer to. */
  reject: ((error: CacheError) => void) | null
}

/** How many times its deadline a command may take while the first connection is under way. */
const whileConnecting = 4

/** The part of a deadline, and the most milliseconds, in which a process may show that it is too busy to read replies. */
const lastPart = 0.2
const longestLast = 100

/** Commands under way, oldest first: all have the same deadline, so one timer serves them all. */
export class InFlightCommands {
  readonly #commands = new Set<InFlightCommand>()
  readonly #timeout: number
  readonly #clock: Clock
  readonly #late: (reject: (error: CacheError) => void, waited: number, before: number) => void
  #sweep: Timer | null = null
  /** How long a process that never waits for events is watched for replies before a command is late, in milliseconds. */
  readonly #last: number
  #replies = 0
  /** That time, or the rest of it, in milliseconds; and the counts at its beginning. */
  #watched = { ms: 0, replies: 0, idle: 0 }
  #connecting = false
  /** No deadline begins earlier. */
  #connectedAt = Number.NEGATIVE_INFINITY

  /**
   * @param timeout the deadline of a command, in milliseconds
   * @param late rejects a command that missed its deadline, or that was under way when all was closed; `waited` is in
   *   milliseconds
   */
  constructor(
    timeout: number,
    clock: Clock,
    late: (reject: (error: CacheError) => void, waited: number, before: number) => void,
  ) {
    this.#timeout = timeout
    this.#last = Math.min(longestLast, timeout * lastPart)
    this.#clock = clock
    this.#late = late
  }

  /**
   * Gives commands more time while the first connection is under way, and their whole deadline from its end on: a new
   * process is busy, and a connection takes several round trips.
   * @param connected resolves when the first connection is open or has failed
   */
  async allowFor(connected: Promise<void>): Promise<void> {
    this.#connecting = true
    await connected
    this.#connecting = false
    this.#connectedAt = this.#clock.now()
    if (this.#sweep === null) return
    this.#sweep.cancel()
    this.#sweepIn(this.#timeout)
  }

  /**
   * Runs a command with the deadline; resolves with its reply.
   * @param late receives a reply that arrives after the deadline
   * @throws `CacheError` STORE_UNAVAILABLE if the command fails or is not answered in time
   */
  run<T>(send: () => Promise<T>, late?: (value: T) => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const command: InFlightCommand = { since: this.#clock.now(), before: 0, reject }
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

  /** How long a command that begins now may take, in milliseconds. */
  get longest(): number {
    return this.#connecting ? (whileConnecting + 1) * this.#timeout : this.#timeout
  }

  /** Whether the first connection is under way. */
  get isConnecting(): boolean {
    return this.#connecting
  }

  /** How long one that began at this time may still take, in whole milliseconds, once the store can be reached. */
  leftFor(since: number): number {
    // The end of the first connection, from which it has its whole deadline, is reported at any moment.
    return this.#connecting ? this.#timeout : Math.ceil(this.#deadline(since) - this.#clock.now())
  }

  begin(command: InFlightCommand): void {
    this.#commands.add(command)
    if (this.#sweep === null) this.#sweepIn(this.#timeout)
  }

  /** Ends a command. Returns whether it was still under way. */
  end(command: InFlightCommand): boolean {
    this.#replies++
    return this.#remove(command)
  }

  close(): void {
    this.#sweep?.cancel()
    this.#sweep = null
    for (const command of this.#commands) this.#expire(command)
  }

  #remove(command: InFlightCommand): boolean {
    command.reject = null
    return this.#commands.delete(command)
  }

  #expire(command: InFlightCommand): void {
    const { reject, since, before } = command
    this.#remove(command)
    if (reject !== null) this.#late(reject, Math.round(this.#clock.now() - since), before)
  }

  #deadline(since: number): number {
    if (this.#connecting) return since + whileConnecting * this.#timeout
    return Math.max(since, this.#connectedAt) + this.#timeout
  }

  #sweepIn(ms: number): void {
    const last = Math.min(ms, this.#last)
    this.#sweep = startDeadline(this.#clock, ms - last, () => this.#watchFor(last), 'background')
  }

  #watchFor(ms: number): void {
    this.#watched = { ms, replies: this.#replies, idle: this.#clock.idle?.() ?? 0 }
    this.#sweep = startDeadline(this.#clock, ms, this.#expireDue, 'background')
  }

  /**
   * Whether this process is slower than the store, so that replies may have arrived that it has not read: it gets
   * replies, and never waits for events. A time that is too short for a reply shows neither.
   */
  get #mayHaveUnread(): boolean {
    const { ms, replies, idle } = this.#watched
    const waited = (this.#clock.idle?.() ?? Number.POSITIVE_INFINITY) - idle
    return waited < 1 && (this.#replies > replies || ms < this.#last)
  }

  readonly #expireDue = (): void => {
    this.#sweep = null
    if (this.#mayHaveUnread) return this.#watchFor(this.#last)
    const now = this.#clock.now()
    for (const command of this.#commands) {
      const left = this.#deadline(command.since) - now
      if (left > 0) return this.#sweepIn(left)
      this.#expire(command)
    }
  }
}

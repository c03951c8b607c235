import type { Store } from '../contract/store.ts'
import { type CacheError, closedError, unansweredError, unavailableError } from '../errors.ts'
import type { Events } from '../observe/events.ts'
import type { Clock } from '../time/clock.ts'
import { InFlightCommands, type InFlightCommand } from '../time/deadline.ts'
import { CircuitBreaker } from './circuit-breaker.ts'

/** Settles the promise of a caller. */
export interface Settle<T> {
  readonly resolve: (value: T) => void
  readonly reject: (error: CacheError) => void
}

/** The particulars of a command. */
interface CommandAbout<T> {
  /** Why it must not be sent now; absent if it may be. */
  readonly refusal?: CacheError | undefined
  /** Receives an answer that arrives after the deadline. */
  readonly late?: ((value: T) => void) | undefined
  /** When it is sent, by the clock. */
  readonly since?: number
}

/**
 * The commands of a cache to its store, each of which is answered in time or rejects with STORE_UNAVAILABLE: every one
 * has a deadline, and a circuit breaker lets a silent store cost that deadline once instead of on every call.
 *
 * With keys on several servers there is no breaker: the silence of one server must not cost the leases of the others.
 */
export class StoreCommands {
  readonly #store: Store
  readonly #clock: Clock
  readonly #events: Events
  readonly #breaker: CircuitBreaker
  readonly #inFlight: InFlightCommands
  #closed = false

  /**
   * @param options.timeout the deadline of a command, in milliseconds
   * @param options.onRecovery called when the store answers again
   */
  constructor(store: Store, options: { timeout: number; clock: Clock; events: Events; onRecovery: () => void }) {
    const { timeout, clock, events, onRecovery: onClose } = options
    this.#store = store
    this.#clock = clock
    this.#events = events
    this.#inFlight = new InFlightCommands(timeout, clock, (...late) => this.#expire(...late))
    this.#breaker = new CircuitBreaker({ ping: () => attempt(() => store.ping()), onClose, clock, events })
  }

  /** The error that opened the breaker; `null` while it is closed. */
  get outage(): CacheError | null {
    return this.#breaker.open
  }

  /** How long one that is sent now may take, in milliseconds. */
  get longest(): number {
    return this.#inFlight.longest
  }

  /** Whether the first connection is under way. */
  get isConnecting(): boolean {
    return this.#inFlight.isConnecting
  }

  /** How long one that was sent at this time, by the clock, may still take, in milliseconds. */
  leftFor(since: number): number {
    return this.#inFlight.leftFor(since)
  }

  /** Sends a command; resolves with its answer. */
  call<T>(run: () => Promise<T>, refusal?: CacheError): Promise<T> {
    return new Promise<T>((resolve, reject) => this.send(run, { resolve, reject }, { refusal }))
  }

  /** As `call`, where each promise counts: it settles the caller's promise directly. */
  send<T>(
    run: () => Promise<T>,
    { resolve, reject }: Settle<T>,
    { refusal, late, since = this.#clock.now() }: CommandAbout<T> = {},
  ): void {
    if (this.#closed) return reject(closedError())
    const reason = this.#breaker.open ?? refusal
    if (reason !== undefined) return reject(reason)
    const command: InFlightCommand = { since, before: this.#breaker.answers, reject }
    this.#inFlight.begin(command)
    attempt(run).then(
      (value) => {
        this.#breaker.answered()
        if (this.#inFlight.end(command)) resolve(value)
        else late?.(value)
      },
      (cause: unknown) => {
        if (!this.#inFlight.end(command)) return
        const error = unavailableError(cause, this.#store.diagnose?.(cause))
        this.#events.emit('storeFailure', { error })
        reject(error)
      },
    )
  }

  /** Commands may take longer while the first connection is under way. */
  open(): void {
    if (this.#store.connected !== undefined) void this.#inFlight.allowFor(this.#store.connected)
  }

  /** Rejects the commands under way, and those to come, with CLOSED. */
  close(): void {
    this.#closed = true
    this.#breaker.stop()
    this.#inFlight.close()
  }

  #expire(reject: (error: CacheError) => void, waited: number, before: number): void {
    if (this.#closed) return reject(closedError())
    const error = unansweredError(waited, this.#store.diagnose?.())
    this.#events.emit('storeFailure', { error })
    reject(error)
    if (this.#breaker.answers === before && !this.#store.sharded) this.#breaker.trip(error)
  }
}

/** A user's store may throw where it should reject. */
function attempt<T>(run: () => Promise<T>): Promise<T> {
  try {
    return run()
  } catch (error) {
    return Promise.reject(error)
  }
}

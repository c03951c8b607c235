import type { Clock, Timer } from '../time/clock.ts'
import type { CacheError } from '../errors.ts'
import type { Events } from '../observe/events.ts'

/** The interval of pings to a silent store, in milliseconds. */
const probeEvery = 250

/**
 * The time after which an unanswered ping is repeated, in milliseconds: a client keeps every unanswered command in
 * memory.
 */
const pingLost = 5_000

/**
 * A circuit breaker that opens on silence, not on errors. A store that answers with an error costs nothing and may
 * serve the next command; a store that does not answer costs every caller the whole deadline. While open, it pings four
 * times a second; any answer closes it, that of an old command included.
 */
export class CircuitBreaker {
  readonly #ping: () => Promise<void>
  readonly #onClose: () => void
  readonly #clock: Clock
  readonly #events: Events
  #open: { readonly since: number; readonly error: CacheError } | null = null
  #probe: Timer | null = null
  #pinging = false
  #pingedAt = Number.NEGATIVE_INFINITY

  /** The number of answers so far. A command met silence if this has not changed since it was sent. */
  answers = 0

  /** @param options.onClose called when the store answers again */
  constructor(options: { ping: () => Promise<void>; onClose: () => void; clock: Clock; events: Events }) {
    this.#ping = options.ping
    this.#onClose = options.onClose
    this.#clock = options.clock
    this.#events = options.events
  }

  /** The reason why no command is sent now; `null` while the breaker is closed. */
  get open(): CacheError | null {
    return this.#open === null ? null : this.#open.error
  }

  trip(error: CacheError): void {
    if (this.#open !== null) return
    this.#open = { since: this.#clock.now(), error }
    this.#events.emit('degraded', { error })
    this.#probeLater()
  }

  answered(): void {
    this.answers++
    if (this.#open === null) return
    const after = this.#clock.now() - this.#open.since
    this.#open = null
    this.#probe?.cancel()
    this.#onClose()
    this.#events.emit('recovered', { after })
  }

  stop(): void {
    this.#open = null
    this.#probe?.cancel()
  }

  #probeLater(): void {
    this.#probe = this.#clock.after(
      probeEvery,
      () => {
        const now = this.#clock.now()
        if (now - this.#pingedAt >= (this.#pinging ? pingLost : 0)) this.#askNow(now)
        this.#probeLater()
      },
      'background',
    )
  }

  #askNow(now: number): void {
    this.#pingedAt = now
    this.#pinging = true
    this.#ping().then(
      () => {
        this.#pinging = false
        this.answered()
      },
      () => {
        this.#pinging = false
      },
    )
  }
}

import type { Clock, Timer } from './clock.ts'
import type { CacheError } from './errors.ts'
import type { Events } from './events.ts'

/** The most keys whose invalidation is kept; one more is rejected, so that an outage cannot fill the memory. */
const mostKept = 10_000

/** How long after one that failed it is tried again, in milliseconds. */
const retryAfter = 250

/** How many are sent at once. */
const batch = 100

/**
 * The invalidations that a silent or failing store has yet to carry out, oldest first. Each is tried until it has
 * succeeded: when the store is back, and four times a second.
 */
export class KeptInvalidations {
  readonly #invalidate: (key: string) => Promise<void>
  readonly #clock: Clock
  readonly #events: Events
  /** Why the last attempt of each failed. An invalidation of a key that is kept already takes the place of the older one. */
  readonly #kept = new Map<string, CacheError>()
  #since = 0
  #carriedOut = 0
  #replay: Promise<void> | null = null
  #retry: Timer | null = null

  constructor(options: { invalidate: (key: string) => Promise<void>; clock: Clock; events: Events }) {
    this.#invalidate = options.invalidate
    this.#clock = options.clock
    this.#events = options.events
  }

  /** How many there are. */
  get count(): number {
    return this.#kept.size
  }

  /** Why a key must not be read from the store: it has been invalidated, and the store may not know; `undefined` if it may. */
  why(key: string): CacheError | undefined {
    return this.#kept.size === 0 ? undefined : this.#kept.get(key)
  }

  /** Keeps one, unless there are too many; returns whether it is kept. */
  keep(key: string, error: CacheError): boolean {
    if (this.#kept.size >= mostKept && !this.#kept.has(key)) return false
    if (this.#kept.size === 0) this.#since = this.#clock.now()
    this.#kept.delete(key)
    this.#kept.set(key, error)
    this.#events.emit('kept', { invalidations: this.#kept.size, error })
    this.#retry ??= this.#clock.after(retryAfter, () => void this.replay(), 'background')
    return true
  }

  /**
   * The store has been told of a key by another write.
   * @param why what `why` said when that write was sent: an invalidation that is kept since then may be the later one
   */
  forget(key: string, why: CacheError | undefined): void {
    if (why !== undefined && this.#kept.get(key) === why) this.#kept.delete(key)
  }

  /** Tries them all, in their order, until one fails; resolves when it is over. */
  replay(): Promise<void> {
    return (this.#replay ??= this.#replayed().finally(() => (this.#replay = null)))
  }

  stop(): void {
    this.#retry?.cancel()
  }

  async #replayed(): Promise<void> {
    this.#retry?.cancel()
    this.#retry = null
    let failed = false
    while (this.#kept.size > 0 && !failed) {
      const some = [...this.#kept].slice(0, batch)
      const done = await Promise.all(some.map(([key, error]) => this.#carryOut(key, error)))
      failed = done.includes(false)
    }
    if (failed) {
      this.#retry = this.#clock.after(retryAfter, () => void this.replay(), 'background')
    } else if (this.#carriedOut > 0) {
      this.#events.emit('replayed', { invalidations: this.#carriedOut, after: this.#clock.now() - this.#since })
      this.#carriedOut = 0
    }
  }

  async #carryOut(key: string, error: CacheError): Promise<boolean> {
    try {
      await this.#invalidate(key)
    } catch {
      return false
    }
    // It may have been invalidated once more meanwhile, after this one had been carried out.
    if (this.#kept.get(key) === error) this.#carriedOut++
    this.forget(key, error)
    return true
  }
}

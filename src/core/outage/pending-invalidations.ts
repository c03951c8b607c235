import { Backlog } from './backlog.ts'
import type { Clock } from '../time/clock.ts'
import type { CacheError } from '../errors.ts'
import type { Events } from '../observe/events.ts'

/** The most keys whose invalidation is kept; one more is rejected, so that an outage cannot fill the memory. */
const mostKept = 10_000

/**
 * The invalidations that a silent or failing store has yet to carry out, oldest first. Each is tried until it has
 * succeeded: when the store is back, and four times a second.
 */
export class PendingInvalidations {
  readonly #invalidate: (key: string) => Promise<void>
  readonly #clock: Clock
  readonly #events: Events
  /** By key, with the reason why the last attempt failed. */
  readonly #backlog: Backlog<CacheError>
  #since = 0
  #carriedOut = 0

  constructor(options: { invalidate: (key: string) => Promise<void>; clock: Clock; events: Events }) {
    this.#invalidate = options.invalidate
    this.#clock = options.clock
    this.#events = options.events
    this.#backlog = new Backlog({
      most: mostKept,
      send: (key, error) => this.#carryOut(key, error),
      onSuccess: () => this.#sayReplayed(),
      clock: options.clock,
    })
  }

  /** How many there are. */
  get count(): number {
    return this.#backlog.size
  }

  /** Why a key must not be read from the store: it has been invalidated, and the store may not know; `undefined` if it may. */
  why(key: string): CacheError | undefined {
    return this.#backlog.size === 0 ? undefined : this.#backlog.get(key)
  }

  /** Keeps one, unless there are too many; returns whether it is kept. */
  keep(key: string, error: CacheError): boolean {
    if (this.#backlog.size === 0) this.#since = this.#clock.now()
    if (!this.#backlog.add(key, error)) return false
    this.#events.emit('kept', { invalidations: this.#backlog.size, error })
    return true
  }

  /**
   * The store has been told of a key by another write.
   * @param why what `why` said when that write was sent: an invalidation that is kept since then may be the later one
   */
  forget(key: string, why: CacheError | undefined): void {
    if (why !== undefined) this.#backlog.delete(key, why)
  }

  /** Tries them all, in their order, until one fails; resolves when it is over. */
  replay(): Promise<void> {
    return this.#backlog.retry()
  }

  stop(): void {
    this.#backlog.stop()
  }

  async #carryOut(key: string, error: CacheError): Promise<boolean> {
    try {
      await this.#invalidate(key)
    } catch {
      return false
    }
    // The key may have been invalidated once more meanwhile, after this invalidation had been carried out.
    if (this.#backlog.get(key) === error) this.#carriedOut++
    return true
  }

  #sayReplayed(): void {
    if (this.#carriedOut === 0) return
    this.#events.emit('replayed', { invalidations: this.#carriedOut, after: this.#clock.now() - this.#since })
    this.#carriedOut = 0
  }
}

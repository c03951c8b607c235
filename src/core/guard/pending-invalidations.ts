import { Backlog } from './backlog.ts'
import type { Clock } from '../time/clock.ts'
import type { Invalidation } from '../contract/store.ts'
import type { CacheError } from '../errors.ts'
import type { Events } from '../observe/events.ts'

/** The most keys whose invalidations are kept. Further ones are rejected, so that an outage cannot fill the memory. */
const mostKept = 10_000

/** An invalidation, with the error of its last attempt. */
interface Kept {
  readonly how: Invalidation
  readonly error: CacheError
}

/**
 * The failed invalidations that a store has yet to carry out, oldest first. Each is repeated until it succeeds: four
 * times a second, and at once when the store answers again.
 */
export class PendingInvalidations {
  readonly #invalidate: (key: string, how: Invalidation) => Promise<void>
  readonly #clock: Clock
  readonly #events: Events
  /** By key. */
  readonly #backlog: Backlog<Kept>
  #since = 0
  #carriedOut = 0

  constructor(options: {
    invalidate: (key: string, how: Invalidation) => Promise<void>
    clock: Clock
    events: Events
  }) {
    this.#invalidate = options.invalidate
    this.#clock = options.clock
    this.#events = options.events
    this.#backlog = new Backlog({
      most: mostKept,
      send: (key, kept) => this.#carryOut(key, kept),
      onSuccess: () => this.#sayReplayed(),
      clock: options.clock,
    })
  }

  /** The number of kept invalidations. */
  get count(): number {
    return this.#backlog.size
  }

  /**
   * The reason why a key must not be read: its invalidation may not have reached the store; `undefined` if there is
   * none.
   */
  reasonFor(key: string): CacheError | undefined {
    return this.#backlog.size === 0 ? undefined : this.#backlog.get(key)?.error
  }

  /** How a key is to be invalidated now: a hard invalidation that is kept wins over a soft one. */
  howFor(key: string, how: Invalidation): Invalidation {
    return this.#backlog.get(key)?.how === 'hard' ? 'hard' : how
  }

  /** Keeps an invalidation; returns `false` if there are too many. */
  keep(key: string, how: Invalidation, error: CacheError): boolean {
    if (this.#backlog.size === 0) this.#since = this.#clock.now()
    if (!this.#backlog.add(key, { how: this.howFor(key, how), error })) return false
    this.#events.emit('kept', { invalidations: this.#backlog.size, error })
    return true
  }

  /**
   * Drops an invalidation because another write has reached the store.
   * @param why the result of `why` when that write was sent: an invalidation that was kept since then may be the later
   *   one
   */
  forget(key: string, why: CacheError | undefined): void {
    const kept = this.#backlog.get(key)
    if (kept !== undefined && kept.error === why) this.#backlog.delete(key, kept)
  }

  /** Repeats all of them, in order, until one fails; resolves when the round is over. */
  replay(): Promise<void> {
    return this.#backlog.retry()
  }

  stop(): void {
    this.#backlog.stop()
  }

  async #carryOut(key: string, kept: Kept): Promise<boolean> {
    try {
      await this.#invalidate(key, kept.how)
    } catch {
      return false
    }
    // The key may have been invalidated again meanwhile, after this invalidation was carried out.
    if (this.#backlog.get(key) === kept) this.#carriedOut++
    return true
  }

  #sayReplayed(): void {
    if (this.#carriedOut === 0) return
    this.#events.emit('replayed', { invalidations: this.#carriedOut, after: this.#clock.now() - this.#since })
    this.#carriedOut = 0
  }
}

import { Backlog } from './backlog.ts'
import type { Clock } from '../time/clock.ts'
import type { Entry, Invalidation } from '../contract/store.ts'
import { withinOf } from '../entry/tags.ts'
import { CacheError } from '../errors.ts'
import type { Events } from '../observe/events.ts'

/** The most keys and tags whose invalidations are kept. Further ones are rejected, so that an outage cannot fill the memory. */
const mostKept = 10_000

/** A key or a tag that is invalidated, by its name in the store. */
export interface InvalidationTarget {
  readonly of: 'key' | 'tag'
  readonly name: string
}

/** An invalidation, with the error of its last attempt. */
interface Kept extends InvalidationTarget {
  readonly how: Invalidation
  /** When it was asked for, by the clock. */
  readonly at: number
  readonly error: CacheError
}

/**
 * The failed invalidations that a store has yet to carry out, oldest first. Each is repeated until it succeeds: four
 * times a second, and at once when the store answers again.
 */
export class PendingInvalidations {
  readonly #invalidate: (target: InvalidationTarget, how: Invalidation) => Promise<void>
  readonly #clock: Clock
  readonly #events: Events
  /** By key or tag. */
  readonly #backlog: Backlog<Kept>
  #since = 0
  /** How many the store has received so far. */
  #received = 0
  #carriedOut = 0

  /** @param options.sharded whether the silence of one server says nothing about the others */
  constructor(options: {
    invalidate: (target: InvalidationTarget, how: Invalidation) => Promise<void>
    sharded: boolean
    clock: Clock
    events: Events
  }) {
    this.#invalidate = options.invalidate
    this.#clock = options.clock
    this.#events = options.events
    this.#backlog = new Backlog({
      most: mostKept,
      send: (id, kept) => this.#carryOut(id, kept),
      independent: options.sharded,
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
    return this.#backlog.size === 0 ? undefined : this.#get({ of: 'key', name: key })?.error
  }

  /** The reason why a value with these tags must be neither given to a caller nor stored; `undefined` if there is none. */
  reasonForTags(tags: readonly string[] = []): CacheError | undefined {
    if (this.#backlog.size === 0) return undefined
    for (const name of tags) {
      const kept = this.#get({ of: 'tag', name })
      if (kept !== undefined) return kept.error
    }
    return undefined
  }

  /** A moment for `reasonSince`; `null` if nothing is kept at it. */
  get moment(): number | null {
    return this.#backlog.size === 0 ? null : this.#received
  }

  /**
   * As `reasonForTags`, for a value that was read since a moment. If the store has received invalidations meanwhile, the
   * value may be from before.
   */
  reasonSince(moment: number, { tags }: Pick<Entry, 'tags'>): CacheError | undefined {
    if (tags.length === 0) return undefined
    return moment === this.#received ? this.reasonForTags(tags) : overtaken()
  }

  /** How something is to be invalidated now: by the stricter of an invalidation that is kept and one that is asked for. */
  howFor(target: InvalidationTarget, how: Invalidation): Invalidation {
    const kept = this.#get(target)
    return kept === undefined ? how : stricter(this.#now(kept), how)
  }

  /** Keeps an invalidation; returns `false` if there are too many. */
  keep(target: InvalidationTarget, how: Invalidation, error: CacheError): boolean {
    if (this.#backlog.size === 0) this.#since = this.#clock.now()
    if (!this.#backlog.add(idOf(target), { ...target, how: this.howFor(target, how), at: this.#clock.now(), error }))
      return false
    this.#events.emit('kept', { invalidations: this.#backlog.size, error })
    return true
  }

  /** The invalidation of a target that is kept now; `undefined` if there is none. */
  of(target: InvalidationTarget): Kept | undefined {
    return this.#backlog.size === 0 ? undefined : this.#get(target)
  }

  /**
   * Drops an invalidation because another write has reached the store.
   * @param before the result of `of` when that write was sent: an invalidation that was kept since then may be the later
   *   one
   */
  forget(before: Kept | undefined): void {
    if (before !== undefined) this.#backlog.delete(idOf(before), before)
  }

  /** Repeats all of them, in order, on one server until one fails; resolves when the round is over. */
  replay(): Promise<void> {
    return this.#backlog.retry()
  }

  stop(): void {
    this.#backlog.stop()
  }

  #get(target: InvalidationTarget): Kept | undefined {
    return this.#backlog.get(idOf(target))
  }

  /** How it is to be carried out now: its time has gone on. */
  #now({ how, at }: Kept): Invalidation {
    if (typeof how !== 'number') return how
    const left = how - (this.#clock.now() - at)
    return left > 0 ? left : 'hard'
  }

  async #carryOut(id: string, kept: Kept): Promise<boolean> {
    try {
      await this.#invalidate(kept, this.#now(kept))
    } catch {
      return false
    }
    this.#received++
    // It may have been invalidated again meanwhile, after this invalidation was carried out.
    if (this.#backlog.get(id) === kept) this.#carriedOut++
    return true
  }

  #sayReplayed(): void {
    if (this.#carriedOut === 0) return
    this.#events.emit('replayed', { invalidations: this.#carriedOut, after: this.#clock.now() - this.#since })
    this.#carriedOut = 0
  }
}

/** The stricter of two: that after which values are served for less long. */
export function stricter(one: Invalidation, other: Invalidation): Invalidation {
  return withinOf(one) < withinOf(other) ? one : other
}

function idOf({ of, name }: InvalidationTarget): string {
  return `${of} ${name}`
}

function overtaken(): CacheError {
  return new CacheError('STORE_UNAVAILABLE', 'An invalidation was carried out while a value was read')
}

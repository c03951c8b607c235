import { systemClock, type Clock, type Timer } from '../../core/time/clock.ts'
import type { Copies, TrackedCopies, Watch } from '../../core/contract/store.ts'
import type { Gone } from './gone.ts'

/** The reports of changes by others than the library. */
export interface ForeignChanges {
  /** Whether every change is reported. */
  readonly isWhole: boolean
  close(): void
}

/** The receivers of such reports. */
export interface ToldOfForeign {
  readonly copies: () => Iterable<TrackedCopies>
  /** Called when changes are reported again, or no longer. */
  readonly changed: () => void
}

/**
 * The promise that the copies of one namespace in this process are told of changes, renewed while there are copies.
 *
 * Messages can be lost without a trace. So each drop names the one before it, and a sign names the last one: if the
 * names do not match, a message was missed, and all copies are dropped.
 */
export class Watcher {
  readonly #window: number
  readonly #ask: () => string | null
  readonly #track: (told: ToldOfForeign) => ForeignChanges
  readonly #onEnd: () => void
  readonly #clock: Clock
  readonly #watches = new Set<CopiesWatch>()
  /** The copies that hear of changes by others, by their watch. */
  readonly #tracked = new Map<CopiesWatch, TrackedCopies>()
  #tracking: ForeignChanges | null = null
  /** Whether such changes are reported. */
  #hearsForeign = false
  /** When the signs under way were requested, by token. */
  readonly #asked = new Map<string, number>()
  /** The token of the last drop. */
  #last = ''
  #until = 0
  #keptUntil = 0
  #timer: Timer | undefined

  /**
   * @param options.window how long a sign is valid, in milliseconds
   * @param options.ask puts this process on the list and requests a sign; returns its token, or `null` if none will
   *   come
   * @param options.track begins to report changes by others than the library
   * @param options.onEnd called when the last watch has closed
   * @param clock real time by default, because the other processes and the server go by it
   */
  constructor(
    options: {
      readonly window: number
      readonly ask: () => string | null
      readonly track: (told: ToldOfForeign) => ForeignChanges
      readonly onEnd: () => void
    },
    clock: Clock = systemClock,
  ) {
    this.#window = options.window
    this.#ask = options.ask
    this.#track = options.track
    this.#onEnd = options.onEnd
    this.#clock = clock
  }

  /** Adds the copies of one more cache. */
  watch(copies: Copies): Watch {
    const watch = new CopiesWatch(this, copies, this.#until)
    this.#watches.add(watch)
    return watch
  }

  /** As `watch`; and they hear of changes by others than the library, else they are not served. */
  watchForeign(copies: TrackedCopies): Watch {
    const watch = new CopiesWatch(this, copies, 0)
    this.#watches.add(watch)
    this.#tracked.set(watch, copies)
    this.#tracking ??= this.#track({ copies: () => this.#tracked.values(), changed: () => this.#reported() })
    if (this.#hearsForeign) watch.until = this.#until
    return watch
  }

  /** As {@link Watch.keep}. */
  keep(watch: CopiesWatch, ms: number): void {
    // A read of a closed cache may still have been under way.
    if (!this.#watches.has(watch)) return
    this.#keptUntil = Math.max(this.#keptUntil, this.#clock.now() + ms)
    if (this.#timer === undefined) this.#renew()
  }

  leave(watch: CopiesWatch): void {
    this.#tracked.delete(watch)
    if (this.#tracked.size === 0) {
      this.#tracking?.close()
      this.#tracking = null
      this.#hearsForeign = false
    }
    if (!this.#watches.delete(watch) || this.#watches.size > 0) return
    this.#stop()
    this.#onEnd()
  }

  /** Handles a drop. */
  told(token: string, { previous, keys, tags }: Gone): void {
    this.#follow(previous)
    this.#last = token
    for (const { copies } of this.#watches) {
      if (keys.length > 0) copies.drop(keys)
      if (tags.length > 0) copies.dropTags(tags)
    }
  }

  /**
   * Handles a sign, which arrives behind all earlier drops.
   * @param last the token of the last drop that was sent
   */
  sign(token: string, last: string): void {
    const askedAt = this.#asked.get(token)
    if (askedAt === undefined) return
    this.#asked.delete(token)
    this.#follow(last)
    this.#until = Math.max(this.#until, askedAt + this.#window)
    for (const watch of this.#watches) if (this.#hearsForeign || !this.#tracked.has(watch)) watch.until = this.#until
  }

  #follow(last: string): void {
    if (last === this.#last) return
    this.#last = last
    for (const { copies } of this.#watches) copies.dropAll()
  }

  /** Changes by others are reported again, or no longer. */
  #reported(): void {
    const hears = this.#tracking?.isWhole ?? false
    if (hears === this.#hearsForeign) return
    this.#hearsForeign = hears
    for (const [watch, copies] of this.#tracked) {
      // A change may have gone unreported. Until now the copies were served only while the store was away.
      if (hears) copies.dropAll()
      watch.until = hears ? this.#until : 0
    }
  }

  readonly #renew = (): void => {
    const now = this.#clock.now()
    if (now > this.#keptUntil) return this.#stop()
    this.#timer = this.#clock.after(this.#window / 3, this.#renew, 'background')
    // A sign later than this would be valid for no time.
    for (const [token, askedAt] of this.#asked) if (askedAt + this.#window <= now) this.#asked.delete(token)
    const token = this.#ask()
    if (token !== null) this.#asked.set(token, now)
  }

  #stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }
}

/** The share of one cache in a {@link Watcher}. */
class CopiesWatch implements Watch {
  /** A plain property, because every near hit reads it. */
  until: number
  readonly copies: Copies
  readonly #watcher: Watcher

  constructor(watcher: Watcher, copies: Copies, until: number) {
    this.#watcher = watcher
    this.copies = copies
    this.until = until
  }

  keep(ms: number): void {
    this.#watcher.keep(this, ms)
  }

  close(): void {
    this.#watcher.leave(this)
  }
}

import { LRUCache } from 'lru-cache'
import type { StoredValue } from '../key-value/record.ts'
import { type Ends, endsOf, invalidated, type TagEpochs } from '../core/entry/tags.ts'
import type { Invalidation } from '../core/contract/store.ts'
import type { Clock } from '../core/time/clock.ts'

/** The least number of tags to remember, even for a store of few values. */
const leastTags = 10_000

const none: readonly TagEpochs[] = []

/** The epochs of the tags of one store in memory. */
export class MemoryTags {
  readonly #epochs: LRUCache<string, TagEpochs>
  readonly #clock: Clock
  /** The current epoch: that of the last invalidation, in microseconds of the clock. */
  now = 0
  /** The latest epoch of a tag that had to be forgotten. */
  #forgotten = 0

  /** @param values the most values of the store */
  constructor(values: number, clock: Clock) {
    this.#epochs = new LRUCache<string, TagEpochs>({
      max: Math.max(values, leastTags),
      dispose: (epochs, _, reason) => {
        if (reason === 'evict') this.#forgotten = Math.max(this.#forgotten, latest(epochs))
      },
    })
    this.#clock = clock
  }

  /** The epochs of tags; `null` for a missing one. */
  epochs(tags: readonly string[]): (TagEpochs | null)[] {
    return tags.map((tag) => this.#epochs.get(tag) ?? null)
  }

  /** As `endsOf`, for a value or a remembered error. */
  endsOf({ tags, since }: Pick<StoredValue, 'tags' | 'since'>): Ends {
    return endsOf(since, tags.length === 0 ? none : this.epochs(tags))
  }

  /**
   * Makes sure that the epochs of tags exist. `false`: a tag was invalidated after `since`, or may have been: it was
   * forgotten.
   */
  mark(tags: readonly string[], since: number): boolean {
    if (this.epochs(tags).some((epochs) => (epochs === null ? this.#forgotten : latest(epochs)) > since)) return false
    for (const tag of tags) if (!this.#epochs.has(tag)) this.#epochs.set(tag, { hard: since, soft: 0 })
    return true
  }

  invalidate(tags: readonly string[], how: Invalidation): void {
    this.now = Math.max(Math.floor(this.#clock.now() * 1_000), this.now + 1)
    for (const tag of tags) this.#epochs.set(tag, invalidated(this.#epochs.get(tag) ?? null, this.now, how))
  }
}

function latest({ hard, soft }: TagEpochs): number {
  return Math.max(hard, soft)
}

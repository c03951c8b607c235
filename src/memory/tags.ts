import { LRUCache } from 'lru-cache'
import type { StoredValue } from '../core/key-value/record.ts'
import { isInvalidatedSince } from '../core/entry/tags.ts'

/**
 * The least number of tags to remember, even for a store of few values: none may be forgotten while a load is under
 * way.
 */
const leastTags = 10_000

/** The epochs of the tags of one store in memory. */
export class MemoryTags {
  /** The epoch of each tag's last invalidation. */
  readonly #epochs: LRUCache<string, number>
  /** The current epoch. */
  now = 0

  /** @param values the most values of the store */
  constructor(values: number) {
    this.#epochs = new LRUCache<string, number>({ max: Math.max(values, leastTags) })
  }

  /** The tags that void a value or a remembered error. */
  voiding({ tags, since }: Pick<StoredValue, 'tags' | 'since'>): string[] {
    return tags.filter((tag) => isInvalidatedSince(since, [this.#epochs.get(tag) ?? null]))
  }

  /** Makes sure that the epochs of tags exist. `false`: a tag was invalidated after `since`. */
  mark(tags: readonly string[], since: number): boolean {
    if (tags.some((tag) => (this.#epochs.get(tag) ?? 0) > since)) return false
    for (const tag of tags) if (!this.#epochs.has(tag)) this.#epochs.set(tag, since)
    return true
  }

  invalidate(tags: readonly string[]): void {
    this.now++
    for (const tag of tags) this.#epochs.set(tag, this.now)
  }
}

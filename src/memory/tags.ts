import { LRUCache } from 'lru-cache'
import type { StoredValue } from '../core/key-value/record.ts'
import { isVoid } from '../core/entry/tags.ts'

/** So many tags are remembered even by a store of few values: none must be forgotten while a load is under way. */
const leastTags = 10_000

/** The epochs of the tags of one store in memory. */
export class MemoryTags {
  /** That of the last invalidation of each. */
  readonly #epochs: LRUCache<string, number>
  /** That of now. */
  now = 0

  /** @param values how many values there may be */
  constructor(values: number) {
    this.#epochs = new LRUCache<string, number>({ max: Math.max(values, leastTags) })
  }

  /** Those tags of a value that void it. */
  voiding({ tags, since }: StoredValue): string[] {
    return tags.filter((tag) => isVoid(since, [this.#epochs.get(tag) ?? null]))
  }

  /** Sees to it that the tags of a value are there; `false` if one was invalidated since. */
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

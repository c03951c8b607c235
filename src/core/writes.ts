import { drawn } from './clock.ts'
import { about, CacheError } from './errors.ts'
import { jittered, ttlOf } from './freshness.ts'
import type { CallShared } from './get-or-load.ts'
import type { SetOptions } from './options.ts'
import { encoded } from './payload.ts'
import { refinedForSet, type CachePlan } from './plan.ts'

/** What is set and invalidated through one cache: in the store, and before that here. */
export class Writes {
  readonly #plan: CachePlan
  readonly #shared: CallShared
  /** Those under way, which the end of the cache waits for. */
  readonly open: Set<Promise<void>> = new Set()

  constructor(plan: CachePlan, shared: CallShared) {
    this.#plan = plan
    this.#shared = shared
  }

  async set(key: string, value: unknown, options?: SetOptions): Promise<void> {
    const plan = options === undefined ? this.#plan : refinedForSet(this.#plan, options)
    const { grace, maxValueSize, inlineLimit } = plan
    const said = options?.ttl === undefined ? ttlOf(value, plan) : plan.ttl
    const ttl = jittered(said, plan.jitter, drawn(this.#plan.clock))
    const { store, named, token, tagNames } = this.#shared
    const tags = tagNames.of(key, plan.tags)
    const payload = encoded(value, key, maxValueSize, this.#plan.codec)
    if (payload instanceof CacheError) throw payload
    const written = { payload, ttl, grace, loadTime: 0, inlineLimit, tags }
    await this.#overwrite(key, () => store.set(named(key), token(), written))
  }

  async invalidate(key: string): Promise<void> {
    const { store, named } = this.#shared
    await this.#overwrite(key, () => store.invalidate(named(key)))
  }

  /** @param tags as the store knows them */
  async invalidateTags(tags: readonly string[]): Promise<void> {
    const { store, copies } = this.#shared
    for (const near of copies) near.dropTags(tags)
    await this.#written(store.invalidateTags(tags))
  }

  async #overwrite(key: string, write: () => Promise<void>): Promise<void> {
    const { flights, events, near } = this.#shared
    // Calls from here on do not join what began before.
    flights.detach(key)
    near?.forget(key)
    await this.#written(write()).catch((error: CacheError) => {
      throw about(key, error)
    })
    events.emit('invalidate', { key })
  }

  async #written(write: Promise<void>): Promise<void> {
    this.open.add(write)
    try {
      await write
    } finally {
      this.open.delete(write)
    }
  }
}

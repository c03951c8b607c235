import { drawRandom } from '../time/clock.ts'
import { withKey, CacheError } from '../errors.ts'
import { applyJitter, ttlOf } from '../entry/freshness.ts'
import { checkedValue } from '../codec/schema.ts'
import { errorForCallers } from '../codec/load-failures.ts'
import type { InvalidateOptions, SetOptions, VersionOptions } from '../options/options.ts'
import type { Invalidation } from '../contract/store.ts'
import { encodeValue } from '../codec/payload.ts'
import { checkedTags } from '../entry/tags.ts'
import { invalidationOf, refineKind, refineSetPlan, type CachePlan } from '../options/plan.ts'
import type { CacheParts } from './assembly.ts'
import { eachOf, namesIn } from './clearing.ts'

/** The part of an event that a soft invalidation adds. */
function softness(how: Invalidation): { soft?: true } {
  return how === 'hard' ? {} : { soft: true }
}

/** The writes of one cache. Each first takes effect on flights and copies in this process, then in the store. */
export class Writes {
  readonly #plan: CachePlan
  readonly #parts: CacheParts
  /** The writes under way, which `close` waits for. */
  readonly open: Set<Promise<void>> = new Set()

  constructor(plan: CachePlan, parts: CacheParts) {
    this.#plan = plan
    this.#parts = parts
  }

  async set(key: string, value: unknown, options?: SetOptions): Promise<void> {
    const plan = options === undefined ? this.#plan : refineSetPlan(this.#plan, options)
    const { grace, maxValueSize, inlineLimit, schema, version } = plan
    this.#parts.events.ttlGiven(options?.ttl)
    const checked = checkedValue(value, key, schema)
    if (checked instanceof CacheError) throw errorForCallers(checked)
    const { output } = checked
    const said = options?.ttl === undefined ? ttlOf(output, plan) : plan.ttl
    const ttl = applyJitter(said, plan.jitter, drawRandom(this.#plan.clock))
    const { store, keyspace, codec } = this.#parts
    const tags = keyspace.tagsOf(key, plan.tags, version)
    const payload = encodeValue(output, key, maxValueSize, codec)
    if (payload instanceof CacheError) throw payload
    const written = { payload, ttl, grace, loadTime: 0, inlineLimit, tags }
    await this.#overwrite(key, 'hard', async () => {
      // Before the write, which is not to be voided.
      if (version !== null) await this.#invalidateVersions(key, 'hard')
      await store.set(keyspace.keyOf(key, version), store.newToken(), written)
    })
  }

  /** Invalidates all of the keys, also if one fails; then throws the first error. */
  async invalidate(keys: readonly string[], how: Invalidation, options?: VersionOptions): Promise<void> {
    const { version } = refineKind(this.#plan, options, how === 'hard' ? 'invalidate' : 'expire')
    await eachOf(keys, (key) => this.#invalidateOne(key, how, version))
  }

  async #invalidateOne(key: string, how: Invalidation, version: string | null): Promise<void> {
    const { store, keyspace } = this.#parts
    await this.#overwrite(key, how, async () => {
      const others = version === null ? null : this.#invalidateVersions(key, how)
      await Promise.all([others, store.invalidate(keyspace.keyOf(key, version), how)])
    })
  }

  /**
   * Invalidates all that there is in the namespace, as the store lists it if it has no prefixes.
   * @throws TypeError if the store cannot list its keys; the first error of a key, when the others are invalidated
   */
  async clear(options?: InvalidateOptions): Promise<void> {
    const { store, keyspace, copies, events } = this.#parts
    if (keyspace.hasPrefixes) return await this.invalidatePrefix('', options)
    const how = invalidationOf('clear', options)
    const steps = await namesIn(keyspace.prefix, (run) => store.ask(run))
    if (steps === null) {
      throw new TypeError('Expected a cache with the option `prefixes`, or a store that can list its keys')
    }
    // Of values that the store has evicted, too.
    for (const near of copies) near.dropAll()
    let keys = 0
    for await (const names of steps) {
      await eachOf(names, (name) => this.#invalidateName(name, how))
      events.emit('clearing', { keys: (keys += names.length) })
    }
    events.emit('invalidatePrefix', { prefix: '', ...softness(how) })
  }

  async #invalidateName(name: string, how: Invalidation): Promise<void> {
    const { flights, copies, keyspace, store } = this.#parts
    const key = keyspace.keyIn(name)
    if (key === null) return
    const detached = flights.detach(key)
    await this.#written(
      () => store.invalidate(name, how),
      () => copies.forEach((near) => near.forget(key)),
    )
    detached?.overwritten()
  }

  async invalidateTags(tags: readonly string[], options?: InvalidateOptions): Promise<void> {
    const checked = checkedTags('tags', tags)
    const how = invalidationOf('invalidateTags', options)
    if (checked.length === 0) return
    const { keyspace, events } = this.#parts
    await this.#invalidateTags(keyspace.tagKeys(checked), how)
    events.emit('invalidateTags', { tags: checked, ...softness(how) })
  }

  async invalidatePrefix(prefix: string, options?: InvalidateOptions): Promise<void> {
    const { keyspace, events } = this.#parts
    const tag = keyspace.prefixTag(prefix)
    const how = invalidationOf('invalidatePrefix', options)
    await this.#invalidateTags([tag], how)
    events.emit('invalidatePrefix', { prefix, ...softness(how) })
  }

  /** @param tags as the store names them */
  async #invalidateTags(tags: readonly string[], how: Invalidation): Promise<void> {
    const { store, copies } = this.#parts
    await this.#written(
      () => store.invalidateTags(tags, how),
      () => copies.forEach((near) => near.dropTags(tags)),
    )
  }

  /**
   * Invalidates the values of all versions of a key by their common tag: a process knows no version of a deployment to come.
   */
  async #invalidateVersions(key: string, how: Invalidation): Promise<void> {
    const { store, keyspace } = this.#parts
    await store.invalidateTags([keyspace.versionsTag(key)], how)
  }

  async #overwrite(key: string, how: Invalidation, write: () => Promise<void>): Promise<void> {
    const { flights, events, spare } = this.#parts
    // Callers from here on must not join a flight from before the write.
    const detached = flights.detach(key)
    await this.#written(write, () => spare?.forget(key)).catch((error: CacheError) => {
      throw withKey(key, error)
    })
    detached?.overwritten()
    events.emit('invalidate', { key, ...softness(how) })
  }

  /**
   * Drops copies, writes, and drops copies again: a store that keeps the write for later has told nobody of it, and a
   * value that was read meanwhile is older than the write.
   */
  async #written(write: () => Promise<void>, drop: () => void): Promise<void> {
    drop()
    const written = write()
    this.open.add(written)
    try {
      await written
    } finally {
      this.open.delete(written)
    }
    drop()
  }
}

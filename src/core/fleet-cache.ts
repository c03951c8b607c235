import type { Cache, Peeked, Wrappable, Wrapped, WrapOptions } from './cache.ts'
import { loadingNow } from './circle.ts'
import type { Clock } from './clock.ts'
import { atMost, endAll } from './closing.ts'
import { jsonCodec } from './codec.ts'
import { about, CacheError, closed } from './errors.ts'
import type { CacheEvents } from './events.ts'
import { explained, type Explanation } from './explain.ts'
import { encoded } from './payload.ts'
import { freshness, jittered, ttlOf } from './freshness.ts'
import { Call, type CallShared } from './get-or-load.ts'
import { checkKey } from './key.ts'
import { breakLease, leasesHeld, type HeldLease } from './leases.ts'
import { checkLoader, type Loader } from './load.ts'
import { together, type BatchLoader } from './many.ts'
import { ObservingCache } from './observing-cache.ts'
import type { CacheOptions, CallOptions, CloseOptions, SetOptions } from './options.ts'
import { peeked } from './peek.ts'
import { closeTimeout, planOf, refinedForSet, type CachePlan } from './plan.ts'
import type { Question } from './question.ts'
import type { Found } from './reads.ts'
import type { Store } from './store.ts'
import { checkedTags } from './tags.ts'
import type { CacheStats } from './tally.ts'
import type { Tracer } from './tracing.ts'
import { wired } from './wiring.ts'
import { Wraps } from './wrap.ts'

/**
 * A cache as the options say.
 * @param options each with a default
 * @param defaultStore makes the store if the options name none, with the clock of the cache
 * @throws TypeError for an unknown option or a value it cannot have
 */
export function openCache(options: CacheOptions, defaultStore: (clock: Clock) => Store): Cache {
  const plan = planOf(options)
  if (plan.mode === 'cache') return new FleetCache(plan, plan.store ?? defaultStore(plan.clock))
  const shadow = new FleetCache({ ...plan, codec: jsonCodec() }, defaultStore(plan.clock))
  return new ObservingCache(plan, shadow)
}

class FleetCache implements Cache {
  readonly #plan: CachePlan
  readonly #shared: CallShared
  readonly #wraps: Wraps
  readonly #writes = new Set<Promise<void>>()
  #state: 'open' | 'closing' | 'closed' = 'open'
  #closing: Promise<void> | null = null
  /** How many calls are at their first read, which most of them end with. */
  #reading = 0
  #readsOver: () => void = () => undefined

  constructor(plan: CachePlan, backing: Store) {
    this.#plan = plan
    this.#wraps = new Wraps(this, plan)
    this.#shared = wired(plan, backing)
    this.#shared.store.open()
  }

  async getOrLoad<T>(key: string, loader: Loader<T>, options?: CallOptions): Promise<T> {
    const question = this.#question('getOrLoad', key, loader, options)
    const { plan, signal } = question
    const { flights, reads, events } = this.#shared
    // A hit takes the short way, unless the caller might not have the patience for a read. Where this process is loading
    // the key already and there is nothing stale to serve, there is nothing to read.
    const short = signal === undefined && plan.waitTimeout > this.#plan.commandTimeout
    if (!short || flights.joinable(key)?.hasStale === false)
      return (await new Call(this.#shared, question).answer(null)) as T
    let read: Found | CacheError
    this.#reading++
    try {
      read = await reads.read(key, plan.tags)
      if (read.state === 'entry' && freshness(read.entry, 0) === 'fresh') {
        events.hit(key)
        if (plan.refreshAhead !== null) flights.refreshAhead(question, read)
        return read.value as T
      }
    } catch (error) {
      read = error as CacheError
    } finally {
      if (--this.#reading === 0) this.#readsOver()
    }
    if (this.#state === 'closed') throw closed(key)
    return (await new Call(this.#shared, question).answer(read)) as T
  }

  async getOrLoadMany<T>(
    keys: readonly string[],
    loadMany: BatchLoader<T>,
    options?: CallOptions,
  ): Promise<(T | CacheError)[]> {
    return await together(keys, loadMany, (key, loader) => this.getOrLoad(key, loader, options))
  }

  async refresh<T>(key: string, loader: Loader<T>, options?: CallOptions): Promise<T> {
    const question = this.#question('refresh', key, loader, options)
    return (await new Call(this.#shared, question).answer(null)) as T
  }

  wrap<F extends Wrappable>(fn: F, options: WrapOptions<Parameters<F>>): Wrapped<F> {
    return this.#wraps.wrap(fn, options)
  }

  async peek<T = unknown>(key: string): Promise<Peeked<T>> {
    checkKey(key)
    this.#checkOpen(key)
    const found = await this.#shared.reads.read(key, this.#plan.tags).catch((error: CacheError) => {
      throw about(key, error)
    })
    return peeked(found, this.#plan.grace)
  }

  async set(key: string, value: unknown, options?: SetOptions): Promise<void> {
    checkKey(key)
    const plan = options === undefined ? this.#plan : refinedForSet(this.#plan, options)
    const { grace, maxValueSize, inlineLimit } = plan
    const said = options?.ttl === undefined ? ttlOf(value, plan) : plan.ttl
    const ttl = jittered(said, plan.jitter, Math.random())
    const tags = this.#shared.tagNames.of(key, plan.tags)
    this.#checkOpen(key)
    const payload = encoded(value, key, maxValueSize, this.#plan.codec)
    if (payload instanceof CacheError) throw payload
    const { store, named, token } = this.#shared
    await this.#overwrite(key, () =>
      store.set(named(key), token(), { payload, ttl, grace, loadTime: 0, inlineLimit, tags }),
    )
  }

  async invalidate(key: string): Promise<void> {
    checkKey(key)
    this.#checkOpen(key)
    const { store, named } = this.#shared
    await this.#overwrite(key, () => store.invalidate(named(key)))
  }

  async invalidateTags(tags: readonly string[]): Promise<void> {
    const checked = checkedTags('tags', tags)
    this.#checkOpen()
    if (checked.length === 0) return
    const { store, tagNames, events } = this.#shared
    await this.#written(store.invalidateTags(tagNames.said(checked)))
    events.emit('invalidateTags', { tags: checked })
  }

  async invalidatePrefix(prefix: string): Promise<void> {
    const { store, tagNames, events } = this.#shared
    const tag = tagNames.prefix(prefix)
    this.#checkOpen()
    await this.#written(store.invalidateTags([tag]))
    events.emit('invalidatePrefix', { prefix })
  }

  async clear(): Promise<void> {
    await this.invalidatePrefix('')
  }

  async explain(key: string): Promise<Explanation> {
    checkKey(key)
    this.#checkOpen(key)
    return await explained(key, this.#plan.grace, this.#shared)
  }

  leases(): AsyncIterable<HeldLease> {
    this.#checkOpen()
    return leasesHeld(this.#shared)
  }

  async breakLease(key: string, token: string): Promise<boolean> {
    checkKey(key)
    this.#checkOpen(key)
    return await breakLease(key, token, this.#shared)
  }

  on<Name extends keyof CacheEvents>(name: Name, listener: (event: CacheEvents[Name]) => void): () => void {
    return this.#shared.events.on(name, listener)
  }

  trace(tracer: Tracer): () => void {
    return this.#shared.tracing.follow(tracer)
  }

  stats(): CacheStats {
    return this.#shared.events.stats()
  }

  async close(options: CloseOptions = {}): Promise<void> {
    const timeout = closeTimeout(options)
    return (this.#closing ??= this.#close(timeout))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** What is asked, checked. */
  #question<T>(who: 'getOrLoad' | 'refresh', key: string, loader: Loader<T>, options?: CallOptions): Question {
    checkKey(key)
    checkLoader(key, loader)
    const plan = this.#wraps.planOf(options, who)
    const { signal } = plan
    this.#checkOpen(key)
    signal?.throwIfAborted()
    const { moment, clock } = this.#shared
    return { key, loader, plan, refresh: who === 'refresh', signal, asked: moment(), askedAt: clock.now() }
  }

  async #overwrite(key: string, write: () => Promise<void>): Promise<void> {
    const { flights, events } = this.#shared
    // Calls from here on do not join what began before.
    flights.detach(key)
    await this.#written(write()).catch((error: CacheError) => {
      throw about(key, error)
    })
    events.emit('invalidate', { key })
  }

  /** A write that `close` waits for. */
  async #written(write: Promise<void>): Promise<void> {
    this.#writes.add(write)
    try {
      await write
    } finally {
      this.#writes.delete(write)
    }
  }

  async #close(timeout: number): Promise<void> {
    this.#state = 'closing'
    await atMost(timeout, this.#idle(), this.#shared.clock)
    this.#state = 'closed'
    await endAll(this.#shared)
  }

  /** Resolves when nothing is under way any more, nor what has come of it meanwhile. */
  async #idle(): Promise<void> {
    const { flights, open } = this.#shared
    do {
      if (this.#reading > 0) await new Promise<void>((resolve) => (this.#readsOver = resolve))
      await Promise.allSettled([flights.landed(), ...this.#writes, ...[...open].map((call) => call.answered)])
    } while (this.#reading > 0 || open.size > 0 || this.#writes.size > 0)
  }

  /** A loader that may end may also ask for what it needs. */
  #checkOpen(key?: string): void {
    if (this.#state === 'open' || (this.#state === 'closing' && loadingNow() !== null)) return
    throw closed(key)
  }
}

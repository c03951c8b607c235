import type { Cache, Peeked, Wrappable, Wrapped, WrapOptions } from './cache.ts'
import { loadingNow } from './circle.ts'
import { endAll } from './closing.ts'
import { atMost } from './deadline.ts'
import { about, closed, type CacheError } from './errors.ts'
import type { CacheEvents, Events } from './events.ts'
import { explained, type Explanation } from './explain.ts'
import { freshness } from './freshness.ts'
import { Call, type CallShared } from './get-or-load.ts'
import { checkedKey, checkKey } from './key.ts'
import { breakLease, leasesHeld, type HeldLease } from './leases.ts'
import { checkLoader, type Loader } from './load.ts'
import { together, type BatchLoader } from './many.ts'
import type { Near } from './near.ts'
import type { CallOptions, CloseOptions, SetOptions } from './options.ts'
import { peeked } from './peek.ts'
import { closeTimeout, siblingPlan, type CachePlan } from './plan.ts'
import type { Question } from './question.ts'
import type { Found } from './reads.ts'
import { Sibling, type SiblingChanges } from './sibling.ts'
import type { Store } from './store.ts'
import { checkedTags } from './tags.ts'
import type { CacheStats } from './tally.ts'
import type { Tracer } from './tracing.ts'
import { wired } from './wiring.ts'
import { Writes } from './writes.ts'
import { Wraps } from './wrap.ts'

/** A cache whose misses are loaded once in the whole fleet. */
export class FleetCache implements Cache {
  readonly #plan: CachePlan
  readonly #backing: Store
  readonly #shared: CallShared
  /** The copies that may be served without a further thought. */
  #near: Near | null
  readonly #wraps: Wraps
  readonly #writes: Writes
  readonly #siblings: FleetCache[] = []
  #state: 'open' | 'closing' | 'closed' = 'open'
  #closing: Promise<void> | null = null
  /** How many calls are at their first read, which most of them end with. */
  #reading = 0
  #readsOver: () => void = () => undefined

  /** @param elder that of which this one is a sibling: it opens and closes the store */
  constructor(plan: CachePlan, backing: Store, elder: FleetCache | null = null) {
    this.#plan = plan
    this.#backing = backing
    this.#wraps = new Wraps(this, plan)
    this.#shared = wired(plan, backing, elder === null ? null : elder.#shared)
    this.#near = plan.refreshAhead === null ? this.#shared.near : null
    this.#writes = new Writes(plan, this.#shared)
    if (elder === null) this.#shared.store.open()
  }

  getOrLoad<T>(key: string, loader: Loader<T>, options?: CallOptions): Promise<T> {
    // A hit of the near tier of which there is no more to say costs no more than it must.
    if (this.#near !== null && options === undefined && typeof loader === 'function') {
      const copy = this.#near.get(key)
      if (copy !== undefined) {
        this.#shared.events.nearHit(key)
        return Promise.resolve(copy.value as T)
      }
    }
    return this.#getOrLoad(key, loader, options)
  }

  async #getOrLoad<T>(key: string, loader: Loader<T>, options?: CallOptions): Promise<T> {
    const question = this.#question('getOrLoad', key, loader, options)
    const { plan } = question
    const { flights, reads, events, near } = this.#shared
    const copy = near?.get(key)
    if (copy !== undefined && near !== null) {
      events.nearHit(key)
      if (plan.refreshAhead !== null) flights.refreshAhead(question, near.aged(copy), copy.value)
      return copy.value as T
    }
    // A hit takes the short way, unless the caller might not have the patience for a read. Where this process is loading
    // the key already and there is nothing stale to serve, there is nothing to read.
    const short = plan.signal === undefined && plan.waitTimeout > this.#plan.commandTimeout
    if (!short || flights.joinable(key)?.hasStale === false)
      return (await new Call(this.#shared, question).answer(null)) as T
    let read: Found | CacheError
    this.#reading++
    try {
      read = await reads.read(key, plan.tags)
      if (read.state === 'entry' && freshness(read.entry, 0) === 'fresh') {
        events.hit(key)
        if (plan.refreshAhead !== null) flights.refreshAhead(question, read.entry, read.value)
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

  /** As `getOrLoad`, for what has just been looked for in vain. */
  async load<T>(key: string, loader: Loader<T>, options?: CallOptions): Promise<T> {
    const call = new Call(this.#shared, this.#question('getOrLoad', key, loader, options))
    return (await call.answer({ state: 'nothing' })) as T
  }

  wrap<F extends Wrappable>(fn: F, options: WrapOptions<Parameters<F>>): Wrapped<F> {
    return this.#wraps.wrap(fn, options)
  }

  async peek<T = unknown>(key: string): Promise<Peeked<T>> {
    this.#checkOpen(checkedKey(key))
    const found = await this.#shared.reads.read(key, this.#plan.tags).catch((error: CacheError) => {
      throw about(key, error)
    })
    return peeked(found, this.#plan.grace)
  }

  async set(key: string, value: unknown, options?: SetOptions): Promise<void> {
    this.#checkOpen(checkedKey(key))
    await this.#writes.set(key, value, options)
  }

  async invalidate(key: string): Promise<void> {
    this.#checkOpen(checkedKey(key))
    await this.#writes.invalidate(key)
  }

  async invalidateTags(tags: readonly string[]): Promise<void> {
    const checked = checkedTags('tags', tags)
    this.#checkOpen()
    if (checked.length === 0) return
    const { tagNames, events } = this.#shared
    await this.#writes.invalidateTags(tagNames.said(checked))
    events.emit('invalidateTags', { tags: checked })
  }

  async invalidatePrefix(prefix: string): Promise<void> {
    const { tagNames, events } = this.#shared
    const tag = tagNames.prefix(prefix)
    this.#checkOpen()
    await this.#writes.invalidateTags([tag])
    events.emit('invalidatePrefix', { prefix })
  }

  async clear(): Promise<void> {
    await this.invalidatePrefix('')
  }

  async explain(key: string): Promise<Explanation> {
    this.#checkOpen(checkedKey(key))
    return await explained(key, this.#plan.grace, this.#shared)
  }

  leases(): AsyncIterable<HeldLease> {
    this.#checkOpen()
    return leasesHeld(this.#shared)
  }

  async breakLease(key: string, token: string): Promise<boolean> {
    this.#checkOpen(checkedKey(key))
    return await breakLease(key, token, this.#shared)
  }

  on<Name extends keyof CacheEvents>(name: Name, listener: (event: CacheEvents[Name]) => void): () => void {
    return this.#shared.events.on(name, listener)
  }

  get events(): Events {
    return this.#shared.events
  }

  trace(tracer: Tracer): () => void {
    return this.#shared.tracing.follow(tracer)
  }

  stats(): CacheStats {
    return this.#shared.events.stats()
  }

  /** A cache for values of another kind; see `siblingOf`. */
  sibling(changes: SiblingChanges): Sibling {
    this.#checkOpen()
    const cache = new FleetCache(siblingPlan(this.#plan, changes), this.#backing, this)
    this.#siblings.push(cache)
    return new Sibling(cache, cache.#shared, this.#plan)
  }

  async close(options: CloseOptions = {}): Promise<void> {
    const timeout = closeTimeout(options)
    return (this.#closing ??= this.#closeAll(timeout))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** What is asked, checked. */
  #question<T>(who: 'getOrLoad' | 'refresh', key: string, loader: Loader<T>, options?: CallOptions): Question {
    checkKey(key)
    checkLoader(key, loader)
    const plan = this.#wraps.planOf(options, who)
    this.#checkOpen(key)
    plan.signal?.throwIfAborted()
    const { moment, clock } = this.#shared
    return { key, loader, plan, refresh: who === 'refresh', asked: moment(), askedAt: clock.now() }
  }

  async #closeAll(timeout: number): Promise<void> {
    await Promise.all([this, ...this.#siblings].map((cache) => cache.#end(timeout)))
    const { store } = this.#shared
    await store.settle()
    await store.close()
  }

  async #end(timeout: number): Promise<void> {
    this.#state = 'closing'
    this.#near = null
    await atMost(timeout, this.#idle(), this.#shared.clock)
    this.#state = 'closed'
    await endAll(this.#shared)
  }

  /** Resolves when nothing is under way any more, nor what has come of it meanwhile. */
  async #idle(): Promise<void> {
    const { flights, open } = this.#shared
    do {
      if (this.#reading > 0) await new Promise<void>((resolve) => (this.#readsOver = resolve))
      await Promise.allSettled([flights.landed(), ...this.#writes.open, ...[...open].map((call) => call.answered)])
    } while (this.#reading > 0 || open.size > 0 || this.#writes.open.size > 0)
  }

  /** A loader that may end may also ask for what it needs. */
  #checkOpen(key?: string): void {
    if (this.#state === 'open' || (this.#state === 'closing' && loadingNow() !== null)) return
    throw closed(key)
  }
}
